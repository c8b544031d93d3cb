use super::*;
use windlass_base::{BitRate, Span};
use windlass_link_model::{Aggregation, RateOverTime};
use windlass_sim::model::{self, Variation};

const LINK: &str = r#"schema = 1
name = "link"
duration = "1s"
nodes = ["a", "b"]
flows = [{ from = "a", to = "b" }]
links = [{ a = "a", b = "b", delay = "1ms", rate = "8Mbit/s" }]
"#;

/// The two directions of [`LINK`] with `keys` instead of its rate and delay.
fn ways(keys: &str) -> [model::Channel; 2] {
    let text = LINK.replace("delay = \"1ms\", rate = \"8Mbit/s\"", keys);
    let scenario = scenario(&text, &[]);
    let model::Link { forward, backward, .. } = scenario.links[0].clone();
    [forward, backward]
}

fn message(keys: &str) -> String {
    let text = LINK.replace("delay = \"1ms\", rate = \"8Mbit/s\"", keys);
    from_toml("x.toml", &text, &[]).expect_err("a fault").to_string()
}

#[test]
fn rate_and_delay_may_have_steps_and_hold_both_ways() {
    let [forward, backward] = ways(
        "rate = { steps = [{ at = \"0s\", rate = \"8Mbit/s\" }, { at = \"3s\", rate = \"0bit/s\" }], \
         repeat = \"4s\" }, \
         delay = { steps = [{ at = \"0s\", delay = \"20ms\" }, { at = \"1s\", delay = \"5ms\" }] }",
    );
    assert_eq!(forward.rate, BitRate::from_bits_per_sec(6_000_000), "the mean");
    assert_eq!(forward.delay, Span::from_millis(5), "the least");
    assert!(matches!(forward.variation.rate, Some(RateOverTime::Steps(_))));
    assert_eq!(forward.variation, backward.variation);
}

#[test]
fn a_trace_stands_in_the_scenario_or_in_a_file_beside_it() {
    let keys = |trace: &str| format!("delay = \"1ms\", rate = {{ trace = {trace} }}");
    let [forward, _] = ways(&keys("[1, 2, 2, 3]"));
    assert_eq!(forward.rate, BitRate::from_bits_per_sec(16_000_000));
    let text = LINK.replace("delay = \"1ms\", rate = \"8Mbit/s\"", &keys("\"wifi.trace\""));
    let origin = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/traces/x.toml");
    let document = from_toml(origin, &text, &[]).expect("a file beside the scenario");
    let Some(RateOverTime::Trace(trace)) = &document.scenario.links[0].forward.variation.rate
    else {
        panic!("a trace");
    };
    assert_eq!(trace.period(), Span::from_secs(15));
}

#[test]
fn what_limits_or_interrupts_a_link_holds_in_one_direction() {
    let [forward, backward] = ways(
        "delay = \"1ms\", shaper = { rate = \"4Mbit/s\", burst = \"30kB\" }, \
         policer = { rate = \"5Mbit/s\", burst = \"64KiB\" }, aggregation = \"wifi\", \
         outages = [{ at = \"1s\", lasts = \"50ms\", every = \"2s\", lose = true }], \
         back = { aggregation = { interval = \"5ms\", packets = 3 } }",
    );
    let variation = forward.variation;
    assert_eq!(variation.shaper.map(|shaper| shaper.burst_bytes), Some(30_000));
    assert_eq!(variation.policer.map(|policer| policer.burst_bytes), Some(65_536));
    assert_eq!(variation.aggregation, Some(Aggregation::WIFI));
    assert_eq!(variation.outages.len(), 1);
    let interval = Span::from_millis(5);
    let aggregation =
        Aggregation { interval, max_interval: interval, packets: Some(3), bytes: None };
    let expected = Variation { aggregation: Some(aggregation), ..Variation::default() };
    assert_eq!(backward.variation, expected);
}

#[test]
fn faults_of_links_over_time_are_named() {
    let steps = |steps: &str| format!("delay = \"1ms\", rate = {{ {steps} }}");
    let cases = [
        (
            steps("steps = [{ at = \"1s\", rate = \"1Mbit/s\" }]"),
            "links.0.rate: expected steps that begin at 0, each later than the one before",
        ),
        (
            steps("steps = [{ at = \"0s\", rate = \"0bit/s\" }]"),
            "links.0.rate: expected a step with a rate above zero",
        ),
        (
            steps("trace = [1], repeat = \"1s\""),
            "links.0.rate: expected either `steps`, perhaps with `repeat`, or `trace`",
        ),
        (steps("trace = [2, 1]"), "links.0.rate.trace: line 2: expected a time no earlier"),
        (steps("trace = \"none.trace\""), "links.0.rate.trace: none.trace: No such file"),
        (steps("stpes = []"), "links.0.rate.stpes: unknown key; did you mean \"steps\"?"),
        (
            "delay = \"1ms\", policer = { rate = \"1Mbit/s\", burst = \"0B\" }".to_owned(),
            "links.0.policer: burst: expected at least a byte",
        ),
        (
            "delay = \"1ms\", aggregation = \"wfii\"".to_owned(),
            "links.0.aggregation: expected \"wifi\", \"lte\" or { interval = TIME }",
        ),
        (
            "delay = \"1ms\", aggregation = { interval = \"0s\" }".to_owned(),
            "links.0.aggregation: expected an interval above zero",
        ),
        (
            "delay = \"1ms\", outages = [{ at = \"0s\", lasts = \"2s\", every = \"1s\" }]"
                .to_owned(),
            "links.0.outages.0: expected an outage that lasts longer than zero",
        ),
    ];
    for (keys, expected) in cases {
        let message = message(&keys);
        assert!(message.contains(expected), "{keys}\n{message}\n{expected}");
    }
}

#[test]
fn what_repeats_does_so_after_ten_microseconds_or_more() {
    let outages = |every: &str| {
        format!(
            "delay = \"1ms\", outages = [{{ at = \"0s\", lasts = \"1ns\", every = \"{every}\" }}]"
        )
    };
    let steps = |repeat: &str| {
        format!(
            "delay = \"1ms\", rate = {{ steps = [{{ at = \"0s\", rate = \"1bit/s\" }}], repeat = \"{repeat}\" }}"
        )
    };
    for text in [outages("9us"), steps("9us")] {
        let message = message(&text);
        assert!(message.contains("expected at least 10us from one repetition"), "{message}");
    }
    assert_eq!(ways(&outages("10us"))[0].variation.outages.len(), 1);
    assert!(ways(&steps("10us"))[0].variation.rate.is_some());
}
