//! How a link loses packets.

use super::path::kind_and_settings;
use super::quantity::parse_probability;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_link::Loss;
use windlass_link::config::{GilbertElliott, ListedLossConfig};

/// The forms of `loss` in a file; `--loss` takes the same keys.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a probability, { first = [...], retransmissions = [...] } or \
                 { good_to_bad = P, bad_to_good = P, loss_good = P, loss_bad = P }"
)]
pub(crate) enum LossKeys {
    Random(f64),
    GilbertElliott(BurstKeys),
    Listed(ListedKeys),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BurstKeys {
    good_to_bad: f64,
    bad_to_good: f64,
    #[serde(default)]
    loss_good: f64,
    #[serde(default = "certain")]
    loss_bad: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListedKeys {
    #[serde(default)]
    first: Vec<u64>,
    #[serde(default)]
    retransmissions: Vec<u64>,
}

fn certain() -> f64 {
    1.0
}

impl From<LossKeys> for Loss {
    fn from(keys: LossKeys) -> Loss {
        match keys {
            LossKeys::Random(probability) => Loss::Random(probability),
            LossKeys::GilbertElliott(BurstKeys {
                good_to_bad,
                bad_to_good,
                loss_good,
                loss_bad,
            }) => {
                let config = GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad };
                Loss::GilbertElliott(config)
            }
            LossKeys::Listed(ListedKeys { first, retransmissions }) => {
                Loss::Listed(ListedLossConfig { first, retransmissions })
            }
        }
    }
}

/// A probability, `gilbert-elliott:key=value,...` or `listed:first=3/7,retransmissions=1`.
pub(crate) fn parse_loss(text: &str) -> Result<Loss, String> {
    if let Ok(probability) = parse_probability(text) {
        return Ok(Loss::Random(probability));
    }
    let (kind, mut settings) = kind_and_settings(text)?;
    match kind {
        "gilbert-elliott" => {}
        "listed" => settings.values_mut().try_for_each(ordinals)?,
        _ => {
            return Err("expected a probability such as 0.01 or 1%, \
                 gilbert-elliott:good_to_bad=P,bad_to_good=P or \
                 listed:first=N/N,retransmissions=N/N"
                .to_owned());
        }
    }
    let keys: LossKeys = serde_json::from_value(Value::Object(settings))
        .map_err(|error| format!("{kind}: {error}"))?;
    Ok(keys.into())
}

/// `3/7` as a list.
fn ordinals(value: &mut Value) -> Result<(), String> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let numbers: Result<Vec<u64>, _> = text.split('/').map(str::parse).collect();
    *value = json!(numbers.map_err(|_| format!("expected ordinals such as 3/7, found {text:?}"))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses() {
        assert_eq!(parse_loss("1%"), Ok(Loss::Random(0.01)));
        let listed = ListedLossConfig { first: vec![3, 7], retransmissions: vec![1] };
        assert_eq!(parse_loss("listed:first=3/7,retransmissions=1"), Ok(Loss::Listed(listed)));
        let bursts =
            GilbertElliott { good_to_bad: 0.01, bad_to_good: 0.25, loss_good: 0.0, loss_bad: 1.0 };
        let text = "gilbert-elliott:good_to_bad=0.01,bad_to_good=0.25";
        assert_eq!(parse_loss(text), Ok(Loss::GilbertElliott(bursts)));
        for text in ["2", "x", "listed:first=a", "listed:last=1", "gilbert-elliott:good_to_bad=1"] {
            assert!(parse_loss(text).is_err(), "{text}");
        }
    }
}
