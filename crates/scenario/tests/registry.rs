//! Kinds of other crates in scenarios: found by name, with their settings, beside Windlass's.

use serde::Deserialize;
use windlass_aqm::{ConfigError, CustomQueue, DropTail, DropTailConfig, Limit, QueueFactory};
use windlass_base::{BitRate, Rng, Span, Time};
use windlass_scenario::{Document, Registry, settings};
use windlass_sim::packet::Packet;
use windlass_sim::{Middlebox, MiddleboxFactory, Summary, run};
use windlass_tcp::cc::{Controller, ControllerFactory, Params, Reno};

/// Reno from another initial window.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Bold {
    segments: u32,
}

impl ControllerFactory for Bold {
    fn name(&self) -> &'static str {
        "bold"
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        let mut params = *params;
        params.initial_window = u64::from(self.segments.max(1)) * u64::from(params.mss);
        Reno.build(&params)
    }
}

/// A short DropTail queue.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Short {
    packets: u32,
    #[serde(default, deserialize_with = "settings::time")]
    _patience: Span,
}

impl QueueFactory for Short {
    fn validate(&self) -> Result<(), ConfigError> {
        Limit::Packets(self.packets).validate()
    }

    fn build(&self, _: Option<BitRate>) -> Result<CustomQueue, ConfigError> {
        let limit = Limit::Packets(self.packets);
        Ok(CustomQueue::new(DropTail::new(DropTailConfig { limit })?))
    }
}

/// Drops a share of the packets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Thief {
    share: f64,
}

struct Stealing {
    share: f64,
    rng: Rng,
    stolen: u64,
}

impl MiddleboxFactory for Thief {
    fn name(&self) -> &'static str {
        "thief"
    }

    fn build(&self, rng: Rng) -> Box<dyn Middlebox> {
        Box::new(Stealing { share: self.share, rng, stolen: 0 })
    }
}

impl Middlebox for Stealing {
    fn handle_packet(&mut self, _: Time, packet: Packet, out: &mut Vec<Packet>) {
        if self.rng.chance(self.share) {
            self.stolen += 1;
        } else {
            out.push(packet);
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("stolen", self.stolen)]
    }
}

const SCENARIO: &str = r#"
schema = 1
name = "own"
duration = "20s"
flows = [{ from = "s1", controller = { kind = "bold", segments = 8 } }]
middleboxes = [{ kind = "thief", node = "r1", share = 0.01 }]
[dumbbell]
access = [{ delay = "1ms" }]
bottleneck = { rate = "10Mbit/s", delay = "10ms", queue = "mine" }
[queues.mine]
kind = "short"
packets = 20
"#;

fn registry() -> Registry {
    Registry::default()
        .controller::<Bold>("bold")
        .queue::<Short>("short")
        .middlebox::<Thief>("thief")
}

fn read(overrides: &[&str]) -> Result<Document, String> {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    registry().read_toml("own.toml", SCENARIO, &overrides).map_err(|problems| problems.to_string())
}

fn summary(overrides: &[&str]) -> Summary {
    let document = read(overrides).expect("a scenario");
    run(&document.scenario, document.seed, &mut ()).expect("a network")
}

#[test]
fn a_scenario_runs_with_kinds_of_its_own() {
    let summary = summary(&[]);
    assert_eq!(summary.flows[0].controller, "bold");
    let json = serde_json::to_value(&summary.middleboxes).expect("JSON");
    assert_eq!(json[0]["kind"], "thief");
    let stolen = json[0]["stolen"].as_u64().expect("a counter");
    // 1 % of some 8,000 packets, in both directions.
    assert!((20..400).contains(&stolen), "{stolen}");
}

#[test]
fn settings_reach_the_kinds() {
    let mean_queue = |packets| {
        let limit = format!("queues.mine.packets={packets}");
        summary(&[&limit, "middleboxes.0.share=0"]).mean_queue_packets.whole_run
    };
    assert!(mean_queue(5) < Some(5.0) && mean_queue(200) > Some(20.0));
    let stolen = |share| {
        let json = serde_json::to_value(&summary(&[share]).middleboxes).expect("JSON");
        json[0]["stolen"].as_u64()
    };
    assert_eq!(stolen("middleboxes.0.share=0"), Some(0));
    // A share above the last gives another draw of the same stream.
    // With a much larger share the flow sends so little that less is stolen.
    assert!(stolen("middleboxes.0.share=0.01") > stolen("middleboxes.0.share=0.001"));
}

#[test]
fn a_run_is_repeated_exactly() {
    let json = |summary: &Summary| serde_json::to_string(summary).expect("JSON");
    assert_eq!(json(&summary(&[])), json(&summary(&[])));
}

#[test]
fn faults_are_named_with_their_place() {
    for (change, expected) in [
        ("flows.0.controller.segment=8", "bold: unknown field `segment`"),
        ("flows.0.controller.kind=\"bald\"", "did you mean \"bold\"?"),
        ("queues.mine.packets=\"many\"", "short: invalid type"),
        ("queues.mine.packets=0", "short: "),
        ("middleboxes.0.node=\"r9\"", "the name of a node"),
        ("middleboxes.0.kind=\"chief\"", "did you mean \"thief\"?"),
    ] {
        let message = read(&[change]).expect_err(change);
        assert!(message.contains(expected), "{change}: {message}");
    }
    // Without the registry the name is unknown.
    let plain = windlass_scenario::from_toml("own.toml", SCENARIO, &[]);
    let message = plain.expect_err("unknown kinds").to_string();
    assert!(message.contains("expected a congestion controller"), "{message}");
}

#[test]
fn a_name_alone_stands_for_the_defaults() {
    let summary = summary(&["flows.0.controller=\"bold\""]);
    assert_eq!(summary.flows[0].controller, "bold");
    // `short` requires a setting, and so has no defaults.
    let message = read(&["dumbbell.bottleneck.queue=\"short\""]).expect_err("no defaults");
    assert!(message.contains("the name of a queue"), "{message}");
}

#[test]
fn flows_inherit_a_kind_from_the_defaults() {
    let set = ["defaults.controller=\"bold\"", "flows=[{ from = \"s1\" }]"].map(str::to_owned);
    let document = registry().read_toml("own.toml", SCENARIO, &set).expect("a scenario");
    assert_eq!(document.scenario.flows[0].sender.congestion.name(), "bold");
}

#[test]
fn names_of_windlass_keep_their_meaning() {
    let registry = registry().controller::<Bold>("reno");
    let document = registry
        .read_toml("own.toml", SCENARIO, &["flows.0.controller=\"reno\"".to_owned()])
        .expect("a scenario");
    assert_eq!(document.scenario.flows[0].sender.congestion.name(), "reno");
}

#[test]
fn the_schema_lists_the_kinds() {
    let schema = registry().schema().to_string();
    for name in ["bold", "short", "thief"] {
        assert!(schema.contains(&format!("{{\"const\":\"{name}\"}}")), "{name}");
    }
    let plain = Registry::default().schema().to_string();
    assert!(!plain.contains("{\"const\":\"bold\"}"));
}
