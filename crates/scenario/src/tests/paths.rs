//! Losses in bursts, jitter of Wi-Fi, handovers and orbits.

use super::*;
use windlass_base::{BitRate, Span};
use windlass_link_model::{Outage, RateOverTime, Steps, WifiJitter};
use windlass_sim::model::{Channel, GilbertElliott, Link, Loss};

const LINK: &str = r#"schema = 1
name = "link"
duration = "1s"
nodes = ["a", "b"]
flows = [{ from = "a", to = "b" }]
links = [{ a = "a", b = "b", delay = "1ms", rate = "8Mbit/s" }]
"#;

/// The two directions of [`LINK`] with more keys.
fn ways(keys: &str) -> [Channel; 2] {
    let text = LINK.replace("rate = \"8Mbit/s\"", &format!("rate = \"8Mbit/s\", {keys}"));
    let Link { forward, backward, .. } = scenario(&text, &[]).links.remove(0);
    [forward, backward]
}

fn message(keys: &str) -> String {
    let text = LINK.replace("rate = \"8Mbit/s\"", &format!("rate = \"8Mbit/s\", {keys}"));
    from_toml("x.toml", &text, &[]).expect_err("a fault").to_string()
}

fn assert_messages(cases: &[(&str, &str)]) {
    for (keys, expected) in cases {
        let message = message(keys);
        assert!(message.contains(expected), "{keys}\n{message}\n{expected}");
    }
}

#[test]
fn losses_in_bursts_hold_in_one_direction_and_have_the_defaults_of_gilbert() {
    let [forward, backward] = ways(
        "loss = { good_to_bad = 0.01, bad_to_good = 0.25 }, \
         back.loss = { good_to_bad = 0.1, bad_to_good = 1, loss_good = 0.001, loss_bad = 0.5 }",
    );
    let simple =
        GilbertElliott { good_to_bad: 0.01, bad_to_good: 0.25, loss_good: 0.0, loss_bad: 1.0 };
    assert_eq!(forward.loss, Loss::GilbertElliott(simple));
    let own =
        GilbertElliott { good_to_bad: 0.1, bad_to_good: 1.0, loss_good: 0.001, loss_bad: 0.5 };
    assert_eq!(backward.loss, Loss::GilbertElliott(own));
}

#[test]
fn faults_of_losses_are_named() {
    assert_messages(&[
        (
            "loss = { good_to_bad = 0.01 }",
            "links.0.loss.bad_to_good: missing: expected a probability from 0 to 1",
        ),
        (
            "loss = { good_to_bad = 2, bad_to_good = 0.2 }",
            "links.0.loss.good_to_bad: expected a probability from 0 to 1, found the bare number 2",
        ),
        (
            "loss = { good_to_bad = 0.1, bad_to_godo = 0.2 }",
            "links.0.loss.bad_to_godo: unknown key; did you mean \"bad_to_good\"?",
        ),
        (
            "loss = \"1%\"",
            "links.0.loss: expected a probability from 0 to 1, { packets = [...] } or \
             { good_to_bad = P, bad_to_good = P }",
        ),
    ]);
}

#[test]
fn jitter_of_wifi_may_change_and_holds_in_one_direction() {
    let steps = |steps: &[(u64, u64)]| {
        let steps = steps.iter().map(|(s, ms)| (Span::from_secs(*s), Span::from_millis(*ms)));
        Some(WifiJitter::new(Steps::new(steps.collect(), None).expect("in order")))
    };
    let [forward, backward] = ways("wifi_jitter = \"7ms\"");
    assert_eq!(forward.variation.wifi_jitter, steps(&[(0, 7)]));
    assert!(backward.variation.is_none());
    let [forward, backward] = ways(
        "back.wifi_jitter = { steps = [{ at = \"0s\", wifi_jitter = \"1ms\" }, \
         { at = \"1s\", wifi_jitter = \"12ms\" }, { at = \"3s\", wifi_jitter = \"1ms\" }] }",
    );
    assert!(forward.variation.is_none());
    assert_eq!(backward.variation.wifi_jitter, steps(&[(0, 1), (1, 12), (3, 1)]));
    assert_messages(&[
        ("wifi_jitter = 7", "links.0.wifi_jitter: expected a time such as \"94ms\""),
        (
            "wifi_jitter = { steps = [{ at = \"1s\", wifi_jitter = \"1ms\" }] }",
            "links.0.wifi_jitter: expected steps that begin at 0",
        ),
        (
            "wifi_jitter = { steps = [{ at = \"0s\", wifi_jiter = \"1ms\" }] }",
            "links.0.wifi_jitter.steps.0.wifi_jiter: unknown key; did you mean \"wifi_jitter\"?",
        ),
    ]);
}

/// The rates in Mbit/s and the delays in ms from each time in seconds on.
fn schedule(way: &Channel) -> [Vec<(u64, u64)>; 2] {
    let rates = match &way.variation.rate {
        Some(RateOverTime::Steps(steps)) => steps.clone(),
        _ => Steps::constant(way.rate),
    };
    let delays = way.variation.delay.clone().unwrap_or(Steps::constant(way.delay));
    let at = |s: u64| windlass_base::Time::ZERO + Span::from_secs(s);
    let mbit = |rate: Option<BitRate>| rate.map_or(0, |rate| rate.bits_per_sec() / 1_000_000);
    let mut found = [Vec::new(), Vec::new()];
    for s in 0..30 {
        let values = [mbit(rates.at(at(s)).0), delays.at(at(s)).0.as_nanos() / 1_000_000];
        for (found, value) in found.iter_mut().zip(values) {
            if found.last().is_none_or(|(_, last)| *last != value) {
                found.push((s, value));
            }
        }
    }
    found
}

#[test]
fn a_handover_changes_rate_and_delay_both_ways_and_interrupts_the_link() {
    let keys = "handovers = [{ at = \"10s\", rate = \"2Mbit/s\", delay = \"30ms\" }, \
                { at = \"20s\", rate = \"8Mbit/s\", interruption = \"50ms\", lose = true }]";
    let [forward, backward] = ways(keys);
    for way in [&forward, &backward] {
        let expected = [vec![(0, 8), (10, 2), (20, 8)], vec![(0, 1), (10, 30)]];
        assert_eq!(schedule(way), expected);
        assert_eq!(way.delay, Span::from_millis(1), "the least");
        let at = Span::from_secs(20);
        let outage = Outage { at, lasts: Span::from_millis(50), every: None, lose: true };
        assert_eq!(way.variation.outages, [outage]);
    }
}

#[test]
fn a_way_back_of_its_own_changes_where_the_handover_says_so() {
    let [forward, backward] = ways(
        "back.rate = \"1Mbit/s\", \
         handovers = [{ at = \"5s\", rate = \"4Mbit/s\", delay = \"9ms\" }, \
         { at = \"7s\", rate = \"6Mbit/s\", back = { rate = \"3Mbit/s\", delay = \"2ms\" } }]",
    );
    assert_eq!(schedule(&forward), [vec![(0, 8), (5, 4), (7, 6)], vec![(0, 1), (5, 9)]]);
    assert_eq!(schedule(&backward), [vec![(0, 1), (7, 3)], vec![(0, 1), (5, 9), (7, 2)]]);
}

#[test]
fn faults_of_handovers_are_named() {
    assert_messages(&[
        (
            "handovers = [{ at = \"0s\", delay = \"1ms\" }]",
            "handovers.0: expected a time above zero",
        ),
        ("handovers = [{ at = \"1s\" }]", "handovers.0: expected a `rate`, a `delay` or an"),
        (
            "handovers = [{ at = \"2s\", delay = \"1ms\" }, { at = \"2s\", delay = \"2ms\" }]",
            "links.0.handovers.1: expected a time above zero, and later than the handover before",
        ),
        (
            "handovers = [{ at = \"1s\", interruption = \"0s\" }]",
            "links.0.handovers.0: expected an interruption that lasts longer than zero",
        ),
        (
            "back.rate = { trace = [1] }, handovers = [{ at = \"1s\", rate = \"1Mbit/s\" }]",
            "links.0.handovers.0: a handover's `rate` goes with a fixed `rate` of the link",
        ),
        (
            "back.delay = { orbit = { altitude_km = 550 } }, handovers = [{ at = \"1s\", delay = \"1ms\" }]",
            "links.0.handovers.0: a handover's `delay` goes with a fixed `delay` of the link",
        ),
        ("handovers = [{ rate = \"1Mbit/s\" }]", "links.0.handovers.0.at: missing"),
    ]);
    let unlimited =
        LINK.replace("rate = \"8Mbit/s\"", "handovers = [{ at = \"1s\", rate = \"1Mbit/s\" }]");
    let message = from_toml("x.toml", &unlimited, &[]).expect_err("a fault").to_string();
    assert!(message.contains("goes with a fixed `rate`"), "{message}");
}

#[test]
fn an_orbit_gives_the_delay_both_ways() {
    let text = LINK.replace("delay = \"1ms\"", "delay = { orbit = { ORBIT } }");
    let read = |orbit: &str| {
        let text = text.replace("ORBIT", orbit);
        from_toml("x.toml", &text, &[]).map(|document| document.scenario.links[0].clone())
    };
    let link = read("altitude_km = 550, handover = \"15s\", extra = \"4ms\"").expect("an orbit");
    assert_eq!(link.forward.variation, link.backward.variation);
    // Up and down again: 2 * 550 km are 3.67 ms, 2 * 1123.3 km 7.49 ms.
    let delays = link.forward.variation.delay.expect("a schedule");
    let ms: Vec<f64> = delays.values().map(Span::as_millis_f64).collect();
    assert!(ms.iter().all(|ms| (7.66..11.5).contains(ms)));
    assert!(ms.iter().any(|ms| *ms < 7.8) && ms.iter().any(|ms| *ms > 11.4));
    let one = read("altitude_km = 550, legs = 1, min_elevation_deg = 89").expect("an orbit");
    assert!((one.forward.delay.as_millis_f64() - 1.8346).abs() < 0.001);
    let cases = [
        (
            "altitude_km = 550, handover = \"5min\"",
            "links.0.delay: handover: expected a time above zero",
        ),
        ("altitude_km = 35786", "altitude_km: expected a whole number of kilometres from 160 to"),
        ("altitude_km = 550, min_elevation_deg = 90", "expected a whole number of degrees from 0"),
        ("altitude_km = 550, legs = 3", "links.0.delay.orbit.legs: expected 1 or 2"),
        ("altitud_km = 550", "altitud_km: unknown key; did you mean \"altitude_km\"?"),
    ];
    for (orbit, expected) in cases {
        let message = read(orbit).expect_err("a fault").to_string();
        assert!(message.contains(expected), "{message}\n{expected}");
    }
    let both = text.replace("{ ORBIT } }", "{ altitude_km = 550 }, repeat = \"9s\" }");
    let message = from_toml("x.toml", &both, &[]).expect_err("a fault").to_string();
    assert!(message.contains("expected either `steps`, perhaps with `repeat`, or `orbit`"));
}
