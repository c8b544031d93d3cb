//! Outlines of scenarios.

use super::GOOD;
use crate::Registry;
use serde_json::{Value, json};

fn outline(overrides: &[&str]) -> Value {
    let overrides: Vec<String> = overrides.iter().map(|s| (*s).to_owned()).collect();
    Registry::default().outline_toml("good.toml", GOOD, &overrides).expect("a good scenario")
}

#[test]
fn the_outline_has_what_follows_from_profiles_and_shorthands() {
    let found = outline(&["duration=\"20s\""]);
    assert_eq!(found["duration_s"], 20.0);
    assert_eq!(found["nodes"], json!(["r1", "d", "s1"]));
    let flow = &found["flows"][0];
    assert_eq!((&flow["from"], &flow["to"]), (&json!("s1"), &json!("d")));
    assert_eq!((&flow["controller"], &flow["mss"]), (&json!("newreno"), &json!(1460)));
    let links: Vec<&Value> = found["links"].as_array().expect("a list").iter().collect();
    let keys: Vec<&Value> = links.iter().map(|link| &link["key"]).collect();
    assert_eq!(keys, ["dumbbell.bottleneck", "dumbbell.access.0"]);
    assert_eq!(links[0]["delay_ns"], json!([5_000_000, 5_000_000]));
    assert_eq!(found["bottleneck"], json!(["r1-d", "forward"]));
}

#[test]
fn every_key_has_its_place_those_of_defaults_too() {
    let found = outline(&["flows.0.mss=1000"]);
    let places = &found["places"];
    assert_eq!(places["flows.0.start"], "good.toml:4:39");
    assert_eq!(places["flows.0.profile"], "good.toml:6:1");
    assert_eq!(places["flows.0.mss"], "--set flows.0.mss=1000");
    assert_eq!(found["document"]["flows"][0]["profile"], "rfc5681");
}
