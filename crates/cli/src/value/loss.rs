//! How a link loses packets.

use super::kind::kind_and_settings;
use super::quantity::parse_probability;
use serde_json::{Value, json};
use windlass_keys::{Context, Decode, Definitions, Keys, Node, Probability, Reader, keys};
use windlass_link::Loss;
use windlass_link::config::{GilbertElliott, ListedLossConfig};

/// The forms of `loss` in a file; `--loss` takes the same keys.
#[derive(Clone, Debug)]
pub(crate) struct LossKeys(pub(crate) Loss);

keys! {
    /// Losses in bursts: two states, of which one may follow the other after each packet.
    struct BurstKeys {
        /// Probability that the good state ends.
        good_to_bad: Probability,
        /// Probability that the bad state ends.
        bad_to_good: Probability,
        /// Loss in the good state. Default: 0.
        loss_good: Option<Probability>,
        /// Loss in the bad state. Default: 1.
        loss_bad: Option<Probability>,
    }
}

keys! {
    /// Losses by ordinals in each flow, from 1.
    struct ListedKeys {
        /// Of the segments with new data.
        first: Vec<u64>,
        /// Of those with only data that this path has seen before.
        retransmissions: Vec<u64>,
    }
}

impl<R> Decode<R> for LossKeys {
    const EXPECTED: &'static str = "a probability, { first = [...], retransmissions = [...] } or \
         { good_to_bad = P, bad_to_good = P, loss_good = P, loss_bad = P }";

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        let has_one_of = |names: Vec<&str>| names.into_iter().any(|name| node.get(name).is_some());
        let loss = if has_one_of(<BurstKeys as Keys<R>>::names()) {
            let BurstKeys { good_to_bad, bad_to_good, loss_good, loss_bad } =
                context.table(node, None)?;
            Loss::GilbertElliott(GilbertElliott {
                good_to_bad: good_to_bad.0,
                bad_to_good: bad_to_good.0,
                loss_good: loss_good.map_or(0.0, |loss| loss.0),
                loss_bad: loss_bad.map_or(1.0, |loss| loss.0),
            })
        } else if has_one_of(<ListedKeys as Keys<R>>::names()) {
            let ListedKeys { first, retransmissions } = context.table(node, None)?;
            Loss::Listed(ListedLossConfig { first, retransmissions })
        } else if node.table().is_some() {
            return context.unexpected::<Self, _>(node);
        } else {
            Loss::Random(Probability::decode(node, context)?.0)
        };
        Some(LossKeys(loss))
    }

    fn schema(definitions: &mut Definitions<R>) -> Value {
        let random = <Probability as Decode<R>>::schema(definitions);
        let bursts = <BurstKeys as Decode<R>>::schema(definitions);
        let listed = <ListedKeys as Decode<R>>::schema(definitions);
        json!({ "oneOf": [random, bursts, listed] })
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
    let read = Reader::new(kind, ())
        .json(&Value::Object(settings), |root, context| LossKeys::decode(root, context));
    read.map(|keys| keys.0).map_err(|problems| problems.to_string())
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
