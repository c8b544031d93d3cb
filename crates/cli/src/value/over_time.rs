//! Options that vary a direction of a link over time.

use super::path::kind_and_settings;
use super::quantity::{parse_rate, parse_time};
use serde_json::{Map, Value, json};
use std::path::Path;
use windlass_base::BitRate;
use windlass_scenario::link_over_time_from_json;

pub(crate) use windlass_scenario::LinkOverTime as OverTime;

/// An argument's value under its key. Messages need not repeat the argument, which clap names.
fn read_argument(key: &str, value: Value) -> Result<OverTime, String> {
    link_over_time_from_json("", Path::new(""), &json!({ key: value })).map_err(|problems| {
        let messages = problems.list().iter().map(|problem| {
            match problem.key.trim_start_matches(key).trim_start_matches('.') {
                "" => problem.message.to_string(),
                rest => format!("{rest}: {}", problem.message),
            }
        });
        messages.collect::<Vec<_>>().join("; ")
    })
}

/// `10M`, `trace:FILE` or `steps:0s=10M/10s=2M,repeat=20s`.
pub(crate) fn parse_rate_over_time(text: &str) -> Result<OverTime, String> {
    if let Some(file) = text.strip_prefix("trace:") {
        return read_argument("rate", json!({ "trace": file }));
    }
    match text.strip_prefix("steps:") {
        Some(steps) => read_argument("rate", steps_of(steps, "rate", rate_or_zero)?),
        None => Ok(OverTime { rate: Some(parse_rate(text)?), ..OverTime::default() }),
    }
}

/// `40ms`, `steps:0s=20ms/5s=60ms,repeat=10s` or `orbit:altitude_km=550,handover=15s`.
pub(crate) fn parse_delay_over_time(text: &str) -> Result<OverTime, String> {
    if let Some(orbit) = text.strip_prefix("orbit:") {
        return read_argument("delay", json!({ "orbit": settings(orbit)? }));
    }
    match text.strip_prefix("steps:") {
        Some(steps) => read_argument("delay", steps_of(steps, "delay", |delay| Ok(delay.into()))?),
        None => Ok(OverTime { delay: parse_time(text)?, ..OverTime::default() }),
    }
}

/// `7ms` or `steps:0s=1ms/1s=12ms,repeat=3s`.
pub(crate) fn parse_wifi_jitter(text: &str) -> Result<OverTime, String> {
    let value = match text.strip_prefix("steps:") {
        Some(steps) => steps_of(steps, "wifi_jitter", |target| Ok(target.into()))?,
        None => text.into(),
    };
    read_argument("wifi_jitter", value)
}

/// `TIME=VALUE/TIME=VALUE,repeat=TIME` as a table.
fn steps_of(
    text: &str,
    key: &str,
    value_of: fn(&str) -> Result<Value, String>,
) -> Result<Value, String> {
    let (steps, repeat) = match text.split_once(",repeat=") {
        Some((steps, repeat)) => (steps, Some(repeat)),
        None => (text, None),
    };
    let step = |step: &str| {
        let (at, value) = step
            .split_once('=')
            .ok_or_else(|| format!("expected steps such as 0s=VALUE/10s=VALUE, found {step:?}"))?;
        Ok(json!({ "at": at, key: value_of(value)? }))
    };
    let steps = steps.split('/').map(step).collect::<Result<Vec<_>, String>>()?;
    let mut table = Map::from_iter([("steps".to_owned(), steps.into())]);
    table.extend(repeat.map(|repeat| ("repeat".to_owned(), repeat.into())));
    Ok(table.into())
}

/// A rate, or `0`, in the units of scenario files.
fn rate_or_zero(text: &str) -> Result<Value, String> {
    if text == "0" {
        return Ok("0bit/s".into());
    }
    parse_rate(text).map(in_bits)
}

fn in_bits(rate: BitRate) -> Value {
    format!("{}bit/s", rate.bits_per_sec()).into()
}

/// `rate=5M,burst=30kB` as a token bucket for what exceeds it to be delayed.
pub(crate) fn parse_shaper(text: &str) -> Result<OverTime, String> {
    read_argument("shaper", token_bucket(text)?)
}

/// `rate=5M,burst=30kB` as a token bucket for what exceeds it to be dropped.
pub(crate) fn parse_policer(text: &str) -> Result<OverTime, String> {
    read_argument("policer", token_bucket(text)?)
}

fn token_bucket(text: &str) -> Result<Value, String> {
    let mut settings = settings(text)?;
    if let Some(rate) = settings.get_mut("rate") {
        *rate = in_bits(parse_rate(&plain(rate))?);
    }
    Ok(settings.into())
}

/// `wifi`, `lte` or `interval=2ms,max_interval=5ms,packets=32`.
pub(crate) fn parse_aggregation(text: &str) -> Result<OverTime, String> {
    let value = if text.contains('=') { settings(text)?.into() } else { text.into() };
    read_argument("aggregation", value)
}

/// `at=10s,lasts=2s,every=30s,lose=true`.
pub(crate) fn parse_outage(text: &str) -> Result<OverTime, String> {
    read_argument("outages", json!([settings(text)?]))
        .map_err(|error| error.trim_start_matches("0: ").trim_start_matches("0.").to_owned())
}

fn settings(text: &str) -> Result<Map<String, Value>, String> {
    // The empty kind, so that the text begins with a setting.
    let (_, settings) =
        kind_and_settings(&format!(":{text}")).map(|(kind, settings)| (kind.len(), settings))?;
    Ok(settings)
}

/// The text of a setting that may look like a number.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::Span;
    use windlass_link_model::{Aggregation, RateOverTime};

    #[test]
    fn rates_may_be_fixed_stepped_or_traced() {
        assert_eq!(parse_rate_over_time("10M").expect("a rate").rate, parse_rate("10M").ok());
        let stepped = parse_rate_over_time("steps:0s=10M/10s=0,repeat=20s").expect("steps");
        assert_eq!(stepped.rate, parse_rate("5M").ok(), "the mean");
        assert!(matches!(stepped.variation.rate, Some(RateOverTime::Steps(_))));
        let file =
            concat!("trace:", env!("CARGO_MANIFEST_DIR"), "/../../experiments/traces/wifi.trace");
        let traced = parse_rate_over_time(file).expect("a trace");
        assert!(matches!(traced.variation.rate, Some(RateOverTime::Trace(_))));
        let stepped = parse_delay_over_time("steps:0s=20ms/5s=60ms").expect("steps");
        assert_eq!(stepped.delay, Span::from_millis(20));
        let orbit = parse_delay_over_time("orbit:altitude_km=550,handover=15s,legs=1");
        let least = orbit.expect("an orbit").delay.as_millis_f64();
        assert!((1.834..1.84).contains(&least), "{least} ms");
    }

    #[test]
    fn buckets_aggregation_and_outages() {
        let bucket = |text| parse_policer(text).expect("a policer").variation.policer;
        let policer = bucket("rate=5M,burst=30kB").expect("a policer");
        assert_eq!((policer.rate.bits_per_sec(), policer.burst_bytes), (5_000_000, 30_000));
        assert!(parse_shaper("rate=8000,burst=30kB").expect("a shaper").variation.shaper.is_some());
        let wifi = parse_aggregation("wifi").expect("a kind").variation.aggregation;
        assert_eq!(wifi, Some(Aggregation::WIFI));
        let own = parse_aggregation("interval=2ms,packets=3").expect("settings").variation;
        assert_eq!(own.aggregation.and_then(|aggregation| aggregation.packets), Some(3));
        let jitter = |text| parse_wifi_jitter(text).expect("a target").variation.wifi_jitter;
        assert_eq!(jitter("1ms"), jitter("steps:0s=1ms"));
        assert_ne!(jitter("1ms"), jitter("steps:0s=1ms/1s=12ms"));
        let outage = parse_outage("at=1s,lasts=2s,lose=true").expect("an outage").variation.outages;
        assert!(outage[0].lose && outage[0].every.is_none());
    }

    #[test]
    fn faults_say_what_was_expected() {
        let cases = [
            (parse_rate_over_time("trace:none"), "trace: none: No such file"),
            (parse_rate_over_time("steps:10M"), "expected steps such as 0s=VALUE/10s=VALUE"),
            (parse_rate_over_time("steps:1s=10M"), "expected steps that begin at 0"),
            (parse_rate_over_time("steps:0s=10X"), "expected a rate above zero such as 10M"),
            (parse_delay_over_time("steps:0s=5"), "steps.0.delay: expected a time such as"),
            (parse_delay_over_time("orbit:legs=1"), "orbit.altitude_km: missing: expected a whole"),
            (parse_policer("rate=5M"), "burst: missing: expected a size"),
            (parse_policer("rate=5M,brust=1kB"), "brust: unknown key; did you mean \"burst\"?"),
            (parse_aggregation("wfi"), "expected \"wifi\", \"lte\" or"),
            (parse_wifi_jitter("7"), "expected a time such as"),
            (parse_outage("at=1s"), "lasts: missing: expected a time"),
            (parse_outage("at=1s,lasts=0s"), "expected an outage that lasts"),
        ];
        for (found, expected) in cases {
            let message = found.expect_err("a fault");
            assert!(message.contains(expected), "{message:?}: expected {expected:?}");
            assert!(!message.starts_with("0"), "{message}");
        }
    }
}
