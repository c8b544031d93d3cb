//! Valid scenario files, and the messages for invalid ones.

use super::*;
use std::path::{Path, PathBuf};
use windlass_base::Ecn;
use windlass_keys::Choice;
use windlass_sim::Scenario;

mod apps;
mod bad_input;
mod endpoints;
mod fabrics;
mod outline;
mod over_time;
mod paths;
mod traffic;
mod versions;

/// A valid scenario; the cases change a line of it. Line numbers count from its `schema`.
const GOOD: &str = r#"schema = 1
name = "good"
duration = "10s"
flows = [{ name = "one", from = "s1", start = "1s" }]
[defaults]
profile = "rfc5681"
[queues.marking]
kind = "red"
min = "5 packets"
[dumbbell]
bottleneck = { rate = "10Mbit/s", delay = "5ms", queue = "marking" }
access = [{ rate = "100Mbit/s", delay = "1ms" }]
"#;

fn scenario(text: &str, overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|s| (*s).to_owned()).collect();
    match from_toml("good.toml", text, &overrides) {
        Ok(document) => document.scenario,
        Err(problems) => panic!("{problems}"),
    }
}

fn experiments() -> Vec<(String, String)> {
    fn files(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                files(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "toml") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments"), &mut found);
    found.sort();
    let text = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("readable");
        (path.to_str().expect("UTF-8").to_owned(), text)
    };
    found.into_iter().map(text).collect()
}

#[test]
fn every_experiment_is_valid_and_bears_its_files_name() {
    let experiments = experiments();
    assert!(experiments.len() >= 22, "found {}", experiments.len());
    for (path, text) in experiments {
        let name = from_toml(&path, &text, &[]).expect("valid").scenario.name;
        let stem = Path::new(&path).file_stem().and_then(|stem| stem.to_str()).expect("UTF-8");
        assert!(name.ends_with(stem), "{name} stands in {path}");
    }
}

#[test]
fn json_says_the_same_as_toml() {
    for (path, text) in experiments() {
        let json: serde_json::Value = toml::from_str(&text).expect("TOML");
        let from_json = Registry::default().read_json(&path, &json, &[]).expect("valid as TOML");
        let from_toml = from_toml(&path, &text, &[]).expect("valid as TOML");
        assert_eq!(format!("{from_json:?}"), format!("{from_toml:?}"), "{path}");
    }
}

/// Two-way propagation delay of each flow's path, for the dumbbell without receivers' links.
fn rtts_ms(scenario: &Scenario) -> Vec<f64> {
    let delay = |link: &windlass_sim::model::Link| {
        (link.forward.delay + link.backward.delay).as_millis_f64()
    };
    let bottleneck = delay(&scenario.links[scenario.bottleneck.link]);
    let access = |flow: &windlass_sim::model::Flow| {
        scenario.links.iter().find(|link| link.a == flow.from).map_or(0.0, delay)
    };
    scenario.flows.iter().map(|flow| access(flow) + bottleneck).collect()
}

#[test]
fn setup_1_of_the_new_ecn_paper() {
    let (_, text) = experiments()
        .into_iter()
        .find(|(path, _)| path.ends_with("/s1_10M_p0.1_newecn.toml"))
        .expect("the experiment is there");
    let scenario = scenario(&text, &[]);
    assert_eq!(rtts_ms(&scenario), [4.0, 30.0, 70.0, 190.0]);
    let starts: Vec<f64> = scenario.flows.iter().map(|flow| flow.start.as_secs_f64()).collect();
    assert_eq!(starts, [1.5, 1.0, 0.5, 0.0]);
    for flow in &scenario.flows {
        assert_eq!(flow.sender.congestion.name(), "new-ecn");
        assert_eq!(flow.sender.window.limit, Some(128 * 472));
        assert_eq!(flow.sender.window.initial_ssthresh, Some(128 * 472));
        assert_eq!(flow.receiver.ecn.echo, windlass_tcp::config::EcnEcho::OncePerCe);
        assert!(flow.sender.ecn.enabled && flow.receiver.ecn.enabled && !flow.handshake);
    }
    let bottleneck = &scenario.links[scenario.bottleneck.link];
    let windlass_aqm::Config::Red(red) = bottleneck.forward.queue else { panic!("not RED") };
    assert_eq!((red.min, red.max, red.max_p, red.gentle), (10.0, Some(20.0), 0.1, false));
    let windlass_aqm::Config::Red(back) = bottleneck.backward.queue else { panic!("not RED") };
    assert_eq!((back.min, back.max), (5.0, Some(15.0)));
}

#[test]
fn mixed_flows_keep_their_own_options() {
    let (_, text) = experiments()
        .into_iter()
        .find(|(path, _)| path.ends_with("/mix_3new_3reno.toml"))
        .expect("the experiment is there");
    let scenario = scenario(&text, &[]);
    let kinds: Vec<_> = scenario
        .flows
        .iter()
        .map(|flow| (flow.sender.congestion.name(), flow.sender.ecn.enabled))
        .collect();
    assert_eq!(kinds[..3], [("new-ecn", true); 3]);
    assert_eq!(kinds[3..], [("reno", false); 3]);
}

#[test]
fn tc_red_takes_the_parameters_of_tc() {
    let text = r#"
schema = 1
name = "tc"
duration = "9s"
until_done = true
flows = [{ from = "s1", ecn = true, receiver = { ecn = false } }]
[dumbbell]
access = [{ delay = "1ms" }]
bottleneck = { rate = "10Mbit/s", delay = "1ms", queue = { kind = "tc-red", limit = "40kB", min = "2kB", max = "8kB", burst = 4, probability = 0.3 } }
"#;
    let scenario = from_toml("tc.toml", text, &[]).expect("a scenario").scenario;
    let windlass_aqm::Config::TcRed(red) = &scenario.links[0].forward.queue else {
        panic!("not tc-red")
    };
    assert_eq!(
        (red.limit_bytes, red.min_bytes, red.max_bytes, red.burst),
        (40_000, 2_000, 8_000, 4)
    );
    assert_eq!((red.avpkt_bytes, red.ecn), (1_000, true));
    assert!(scenario.until_done);
    assert!(scenario.flows[0].sender.ecn.enabled && !scenario.flows[0].receiver.ecn.enabled);
    let wrong = text.replace("burst = 4", "burst = 1").replace("2kB", "4kB");
    let error = from_toml("tc.toml", &wrong, &[]).expect_err("a burst too small");
    assert!(error.to_string().contains("burst must be at least"), "{error}");
}

#[test]
fn a_flows_receiver_inherits_key_by_key() {
    let text = GOOD
        .replace("start = \"1s\"", "receiver = { echo = \"once-per-ce\", echo_acks = 3 }")
        .replace("profile = \"rfc5681\"", "receiver = { ack = \"immediate\", buffer = \"1MiB\" }");
    let flow = &scenario(&text, &[]).flows[0];
    assert_eq!(flow.receiver.ecn.echo, windlass_tcp::config::EcnEcho::OncePerCe);
    assert_eq!(flow.receiver.ecn.echo_acks, 3);
    assert_eq!(flow.receiver.acks.policy, windlass_tcp::config::AckPolicy::Immediate);
    assert_eq!(flow.receiver.buffers.receive, 1 << 20);
}

#[test]
fn accecn_is_an_option_of_both_ends_and_gives_way_to_the_echo_of_a_receiver() {
    use windlass_tcp::config::EcnEcho::{Accurate, OncePerCe, UntilCwr};
    let ends = |set: &[&str]| {
        let flow = scenario(GOOD, set).flows.remove(0);
        [flow.sender, flow.receiver].map(|end| (end.ecn.enabled, end.ecn.echo))
    };
    assert_eq!(ends(&["flows.0.accecn=true"]), [(true, Accurate); 2]);
    assert_eq!(ends(&["flows.0.accecn=true", "flows.0.ecn=false"]), [(false, Accurate); 2]);
    assert_eq!(ends(&["flows.0.accecn=false", "flows.0.ecn=true"]), [(true, UntilCwr); 2]);
    let classic = ["flows.0.accecn=true", "flows.0.receiver.echo=once-per-ce"];
    assert_eq!(ends(&classic), [(true, Accurate), (true, OncePerCe)]);
    // Nothing is negotiated without a handshake.
    let without = [classic[0], classic[1], "flows.0.handshake=false"];
    assert_eq!(ends(&without), [(true, OncePerCe); 2]);
}

#[test]
fn the_rule_of_the_rto_is_an_option_of_a_flow() {
    use windlass_tcp::config::RtoRule;
    let rule = |set: &[&str]| scenario(GOOD, set).flows[0].sender.timers.rto.rule;
    assert_eq!(rule(&[]), RtoRule::Rfc6298);
    assert_eq!(rule(&["flows.0.rto_rule=lee2009"]), RtoRule::Lee2009);
}

#[test]
fn limited_slow_start_is_off_and_has_the_threshold_of_the_rfc_unless_the_file_names_one() {
    let limit = |set: &[&str]| scenario(GOOD, set).flows[0].sender.growth.limited_slow_start;
    assert_eq!(limit(&[]), None);
    assert_eq!(limit(&["flows.0.limited_slow_start=true"]), Some(100));
    let own = ["flows.0.limited_slow_start=true", "flows.0.max_ssthresh=50 segments"];
    assert_eq!(limit(&own), Some(50));
    assert_eq!(limit(&own[1..]), None);
}

#[test]
fn overrides_replace_add_and_reach_into_lists() {
    let changed = scenario(
        GOOD,
        &[
            "duration=20s",
            "flows.0.start=1.5s",
            "flows.0.controller=new-ecn",
            "flows.0.controller.beta=8",
            "defaults.mss=500",
            "queues.marking.p_max=0.2",
            "access = []",
            "name=\"changed\"",
        ]
        .iter()
        .copied()
        .filter(|set| !set.starts_with("access"))
        .collect::<Vec<_>>(),
    );
    assert_eq!(changed.name, "changed");
    assert_eq!(changed.duration, windlass_base::Span::from_secs(20));
    assert_eq!(changed.flows[0].start, windlass_base::Span::from_millis(1500));
    assert_eq!(changed.flows[0].sender.mss, 500);
    assert!(format!("{:?}", changed.flows[0].sender.congestion).contains("beta: 8.0"));
    let windlass_aqm::Config::Red(red) = changed.links[0].forward.queue else { panic!("not RED") };
    assert_eq!(red.max_p, 0.2);
}

#[test]
fn each_and_count_multiply_flows() {
    let text = GOOD
        .replace("{ rate = \"100Mbit/s\"", "{ count = 3, delay_to = \"5ms\", rate = \"100Mbit/s\"")
        .replace("from = \"s1\"", "from = \"each\", count = 2, start_step = \"1s\"");
    let scenario = scenario(&text, &[]);
    let seen: Vec<_> = scenario
        .flows
        .iter()
        .map(|flow| {
            let from = scenario.nodes[flow.from].as_str();
            (flow.name.as_str(), from, flow.start.as_secs_f64())
        })
        .collect();
    let expected = [
        ("one.1", "s1", 1.0),
        ("one.2", "s1", 2.0),
        ("one.3", "s2", 3.0),
        ("one.4", "s2", 4.0),
        ("one.5", "s3", 5.0),
        ("one.6", "s3", 6.0),
    ];
    assert_eq!(seen, expected);
    assert_eq!(rtts_ms(&scenario), [12.0, 12.0, 16.0, 16.0, 20.0, 20.0]);
}

#[test]
fn a_parking_lots_long_flow_faces_the_far_end() {
    let text = GOOD
        .replace("[dumbbell]", "[parking_lot]\nhops = 2")
        .replace("access = [{ rate = \"100Mbit/s\", delay = \"1ms\" }]", "access.delay = \"1ms\"")
        .replace("{ name = \"one\", from = \"s1\", start = \"1s\" }", "{ from = \"s0\" }");
    let scenario = scenario(&text, &[]);
    assert_eq!(scenario.nodes[scenario.flows[0].to], "d0");
    let far = scenario.links.iter().find(|link| link.name == "r3-d0");
    assert!(far.is_some_and(|link| link.b == scenario.flows[0].to));
}

#[test]
fn a_links_way_back_is_as_forth_but_for_what_it_says() {
    let text = r#"schema = 1
name = "link"
duration = "1s"
nodes = ["a", "b"]
links = [{ a = "a", b = "b", delay = "1ms", device_queue = "30ms" }]
flows = [{ from = "a", to = "b" }]
"#;
    let ways = |overrides: &[&str]| {
        let scenario = scenario(text, overrides);
        let windlass_sim::model::Link { forward, backward, .. } = &scenario.links[0];
        [forward, backward].map(|way| (way.delay.as_millis_f64(), way.device_queue.as_millis_f64()))
    };
    assert_eq!(ways(&[]), [(1.0, 30.0), (1.0, 30.0)]);
    let back = ["links.0.back.delay=2ms", "links.0.back.device_queue=3ms"];
    assert_eq!(ways(&back), [(1.0, 30.0), (2.0, 3.0)]);
}

#[test]
fn a_link_bleaches_in_the_direction_that_says_so() {
    let ways = |set: &[&str]| {
        let bottleneck = scenario(GOOD, set).links.swap_remove(0);
        [bottleneck.forward, bottleneck.backward].map(|way| way.bleaches_ecn)
    };
    assert_eq!(ways(&[]), [false, false]);
    assert_eq!(ways(&["dumbbell.bottleneck.bleach_ecn=true"]), [true, false]);
    assert_eq!(ways(&["dumbbell.bottleneck.back={ bleach_ecn = true }"]), [false, true]);
}

#[test]
fn a_udp_source_is_not_ecn_capable_unless_it_names_a_codepoint() {
    let codepoint = |set: &[&str]| {
        let source = "udp = [{ from = \"s1\", packet_bytes = 1000, rate = \"1Mbit/s\" }]\n";
        let text = GOOD.replace("[defaults]", &format!("{source}[defaults]"));
        scenario(&text, set).udp[0].ecn
    };
    assert_eq!(codepoint(&[]), Ecn::NotEct);
    assert_eq!(codepoint(&["udp.0.ecn=not-ect"]), Ecn::NotEct);
    assert_eq!(codepoint(&["udp.0.ecn=ect0"]), Ecn::Ect0);
    assert_eq!(codepoint(&["udp.0.ecn=ect1"]), Ecn::Ect1);
}

#[test]
fn the_bottleneck_is_the_slowest_link_or_the_one_named() {
    let text = r#"schema = 1
name = "chain"
duration = "1s"
nodes = ["a", "b", "c"]
links = [
  { a = "a", b = "b", rate = "2Mbit/s", delay = "1ms" },
  { a = "b", b = "c", rate = "1Mbit/s", delay = "1ms" },
]
flows = [{ from = "a", to = "c" }]
"#;
    let direction = |overrides: &[&str]| {
        let found = scenario(text, overrides).bottleneck;
        (found.link, found.reverse)
    };
    assert_eq!(direction(&[]), (1, false));
    assert_eq!(direction(&["bottleneck=a-b"]), (0, false));
    assert_eq!(direction(&["bottleneck=b-a"]), (0, true));
}

#[test]
fn the_schema_knows_every_key_and_controller() {
    let schema = Registry::default().schema();
    let properties = schema["$defs"]["Scenario"]["properties"].as_object().expect("a table");
    assert!(properties.contains_key("parking_lot") && properties.contains_key("published"));
    let flow = &schema["$defs"]["Flow"];
    assert_eq!(flow["additionalProperties"], false);
    assert_eq!(flow["required"], serde_json::json!(["from"]));
    assert!(flow["properties"].as_object().is_some_and(|keys| keys.contains_key("min_rto")));
    // One is for experiments in scenarios alone.
    let everywhere =
        controllers::ControllerKeys::KINDS.iter().filter(|kind| **kind != "constant-increase");
    assert!(everywhere.eq(&windlass_tcp::cc::NAMES));
}
