//! Losses in bursts, jitter of Wi-Fi, handovers and orbits.

use super::*;
use windlass_base::Span;
use windlass_link_model::{Steps, WifiJitter};
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
