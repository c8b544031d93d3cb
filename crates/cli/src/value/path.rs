//! Settings of a direction of a link, and its queue.

use super::kind::kind_and_settings;
use crate::registry::registry;
use serde_json::Value;
use windlass_aqm::Config as Queue;

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
pub(crate) fn last<T: Clone>(settings: &[Sided<T>], side: Side) -> Option<T> {
    all(settings, side).last()
}

/// All settings that hold for a direction.
pub(crate) fn all<T: Clone>(settings: &[Sided<T>], side: Side) -> impl Iterator<Item = T> {
    let holds = move |setting: &&Sided<T>| setting.side == Side::Both || setting.side == side;
    settings.iter().filter(holds).map(|setting| setting.value.clone())
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
    registry()
        .read_queue("queue", &Value::Object(settings))
        .map_err(|problems| problems.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::quantity::parse_rate;
    use super::*;
    use windlass_aqm::{AboveMax, DropTailConfig, Limit, RedConfig};

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
        let error = parse_queue("red:mni=10").expect_err("an unknown key");
        assert_eq!(error, "queue: mni: unknown key; did you mean \"min\"?");
        assert!(parse_queue("rde").expect_err("an unknown kind").contains("did you mean \"red\"?"));
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
}
