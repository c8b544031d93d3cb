//! What the flags of `windlass link` say.

use super::file::LossKeys;
use crate::args::PathArgs;
use ipnet::IpNet;
use serde_json::{Map, Value, json};
use windlass_aqm::Config as Queue;
use windlass_base::{BitRate, Span};
use windlass_link::{Loss, PathConfig};
use windlass_sim::scenario;

/// The directions that a setting is for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Both,
    Up,
    Down,
}

/// A setting and its directions.
#[derive(Clone, Debug)]
pub(crate) struct Sided<T> {
    side: Side,
    value: T,
}

/// `--port`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PortArg {
    pub name: String,
    pub namespace: Option<String>,
    pub address: Option<IpNet>,
}

/// A setting with `up:`, `down:` or nothing before it.
pub(crate) fn sided<T>(
    text: &str,
    parse: fn(&str) -> Result<T, String>,
) -> Result<Sided<T>, String> {
    let (side, text) = match text.split_once(':') {
        Some(("up", rest)) => (Side::Up, rest),
        Some(("down", rest)) => (Side::Down, rest),
        _ => (Side::Both, text),
    };
    Ok(Sided { side, value: parse(text)? })
}

/// The last of the settings that hold for a direction.
fn last<T: Clone>(settings: &[Sided<T>], side: Side) -> Option<T> {
    let holds = |setting: &&Sided<T>| setting.side == Side::Both || setting.side == side;
    settings.iter().rev().find(holds).map(|setting| setting.value.clone())
}

impl PathArgs {
    /// The path up.
    pub(super) fn up(&self) -> PathConfig {
        self.path(Side::Up)
    }

    /// The path down.
    pub(super) fn down(&self) -> PathConfig {
        self.path(Side::Down)
    }

    fn path(&self, side: Side) -> PathConfig {
        let default = PathConfig::default();
        PathConfig {
            rate: last(&self.rate, side),
            queue: last(&self.aqm, side).unwrap_or(default.queue),
            device_queue: last(&self.device_queue, side).unwrap_or_default(),
            delay: last(&self.delay, side).unwrap_or_default(),
            jitter: last(&self.jitter, side).unwrap_or_default(),
            reorder: self.reorder,
            loss: last(&self.loss, side).unwrap_or_default(),
            duplicate: last(&self.duplicate, side).unwrap_or_default(),
            corrupt: last(&self.corrupt, side).unwrap_or_default(),
        }
    }
}

/// A rate: `10M`, tc's `10mbit`, or the `10Mbit/s` of scenario files.
pub(crate) fn parse_rate(text: &str) -> Result<BitRate, String> {
    let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match &text[number.len()..] {
        "" | "bit" => "bit/s",
        "k" | "K" | "kbit" | "Kbit" => "kbit/s",
        "M" | "mbit" | "Mbit" => "Mbit/s",
        "G" | "gbit" | "Gbit" => "Gbit/s",
        unit => unit,
    };
    scenario::parse_rate(&format!("{number}{unit}"))
        .map_err(|_| "expected a rate above zero such as 10M, 256k or 1.5Gbit/s".to_owned())
}

/// A time such as `40ms`.
pub(crate) fn parse_time(text: &str) -> Result<Span, String> {
    scenario::parse_time(text)
}

/// A probability: `0.01` or `1%`.
pub(crate) fn parse_probability(text: &str) -> Result<f64, String> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.parse().map(|percent: f64| percent / 100.0),
        None => text.parse(),
    };
    value
        .ok()
        .filter(|value| (0.0..=1.0).contains(value))
        .ok_or_else(|| "expected a probability such as 0.01 or 1%".to_owned())
}

/// `KIND` or `KIND:key=value,...`, under the names of scenario files.
pub(crate) fn parse_queue(text: &str) -> Result<Queue, String> {
    let (kind, mut settings) = kind_and_settings(text)?;
    for key in ["limit", "min", "max"] {
        if let Some(value) = settings.get_mut(key).filter(|value| value.is_number()) {
            *value = format!("{value} packets").into();
        }
    }
    settings.insert("kind".to_owned(), kind.into());
    scenario::queue_from_json("queue", &Value::Object(settings))
        .map_err(|problems| problems.to_string())
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

fn kind_and_settings(text: &str) -> Result<(&str, Map<String, Value>), String> {
    let (kind, settings) = text.split_once(':').unwrap_or((text, ""));
    let settings = settings.split(',').filter(|setting| !setting.is_empty()).map(|setting| {
        let (key, value) = setting
            .split_once('=')
            .ok_or_else(|| format!("expected key=value, found {setting:?}"))?;
        Ok((key.to_owned(), value_of(value)))
    });
    Ok((kind, settings.collect::<Result<_, String>>()?))
}

/// A number, true or false; or a text, as quantities are.
fn value_of(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => text.into(),
    }
}

/// `NAME[@NAMESPACE][=ADDRESS/PREFIX]`.
pub(crate) fn parse_port(text: &str) -> Result<PortArg, String> {
    let (place, address) = match text.split_once('=') {
        Some((place, address)) => {
            let expected =
                |_| format!("expected an address such as 10.0.0.1/24, found {address:?}");
            (place, Some(address.parse().map_err(expected)?))
        }
        None => (text, None),
    };
    let (name, namespace) = match place.split_once('@') {
        Some((name, namespace)) => (name, Some(namespace.to_owned())),
        None => (place, None),
    };
    if name.is_empty() {
        return Err("expected the name of a device first".to_owned());
    }
    Ok(PortArg { name: name.to_owned(), namespace, address })
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_aqm::{AboveMax, DropTailConfig, Limit, RedConfig};
    use windlass_link::config::{GilbertElliott, ListedLossConfig};

    #[test]
    fn rates_as_tc_mahimahi_and_scenarios_write_them() {
        for text in ["10M", "10mbit", "10Mbit", "10Mbit/s", "10000k", "10000kbit/s", "10000000"] {
            let rate = parse_rate(text).expect(text);
            assert_eq!(rate.bits_per_sec(), 10_000_000, "{text}");
        }
        for text in ["", "M", "10mb", "10MB", "-1M", "0M", "10 apples"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_queue_has_the_names_of_scenario_files_and_bare_numbers_are_packets() {
        let red = RedConfig {
            min: 10.0,
            max: Some(20.0),
            limit: Limit::Packets(50),
            gentle: false,
            above_max: AboveMax::MarkEct,
            ..RedConfig::default()
        };
        let text = "red:min=10,max=20,limit=50,gentle=false,above_max=mark-ect";
        assert_eq!(parse_queue(text), Ok(Queue::Red(red)));
        let limit = Limit::Bytes(65_536);
        let queue = Queue::DropTail(DropTailConfig { limit });
        assert_eq!(parse_queue("droptail:limit=64KiB"), Ok(queue));
        let told = parse_queue("red:mni=10").expect_err("an unknown key");
        assert_eq!(told, "queue: mni: unknown key; did you mean \"min\"?");
        assert!(parse_queue("rde").expect_err("an unknown kind").contains("did you mean \"red\"?"));
    }

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

    #[test]
    fn a_later_setting_goes_before_an_earlier_one_in_its_direction() {
        let rates: Vec<_> = ["8M", "up:1M", "down:2M", "down:3M"]
            .iter()
            .map(|text| sided(text, parse_rate).expect("a rate"))
            .collect();
        assert_eq!(last(&rates, Side::Up), parse_rate("1M").ok());
        assert_eq!(last(&rates, Side::Down), parse_rate("3M").ok());
    }

    #[test]
    fn ports() {
        let port = parse_port("a@left=10.0.0.1/24").expect("a port");
        let address = "10.0.0.1/24".parse().ok();
        assert_eq!(port, PortArg { name: "a".into(), namespace: Some("left".into()), address });
        assert!(parse_port("a=10.0.0.1").is_err(), "no prefix");
        assert!(parse_port("@left").is_err(), "no name");
    }
}
