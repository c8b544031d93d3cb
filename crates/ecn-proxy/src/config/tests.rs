use super::source::read_text;
use super::value::parse_log;
use super::*;
use ipnet::IpNet;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::Duration;

const FILE: &str = r#"
schema = 1
client_side = ["eth1", "wlan0"]
network_side = ["ppp0"]
policy = "no-ect"
fallback = false
allow = ["192.168.1.7/16", "fd00::/8"]
deny = ["192.168.9.9"]
ports = [443, "8000-8999"]
deny_ports = ["25"]
flows_max = 1_000
handshakes_max = 2_000
hosts_max = 0x10
idle_timeout = "2h 4m"
closing_timeout = "90s"
mark_bit = 7
metrics = "127.0.0.1:9617"
pin = true
leases = "/var/lib/misc/dnsmasq.leases"
socket = "/run/x.sock"
log_format = "json"
log = "warn,windlass_ecn_proxy=debug"
"#;

fn file() -> ConfigKeys {
    read_text("f", FILE).expect("a file without faults")
}

/// The keys of options, which name each as the command line does.
fn options(keys: Value) -> ConfigKeys {
    Source::new(keys, None).expect("sound").options
}

#[test]
fn every_key_arrives() {
    let config = Config::read("f", FILE).expect("sound");
    let prefix = |text: &str| text.parse::<IpNet>().expect("a prefix");
    let expected = Config {
        client_side: vec!["eth1".into(), "wlan0".into()],
        network_side: vec!["ppp0".into()],
        policy: Policy::NoEct,
        fallback: false,
        lists: Lists {
            allow: ConnectionFilter {
                networks: vec![prefix("192.168.0.0/16"), prefix("fd00::/8")],
                ports: vec![443..=443, 8000..=8999],
            },
            deny: ConnectionFilter {
                networks: vec![prefix("192.168.9.9/32")],
                ports: vec![25..=25],
            },
        },
        flows_max: 1000,
        handshakes_max: 2000,
        hosts_max: 16,
        timeouts: Timeouts { idle: Duration::from_secs(7440), closing: Duration::from_secs(90) },
        mark_bit: 7,
        metrics: Some("127.0.0.1:9617".parse().expect("an address")),
        pin: Some("/sys/fs/bpf/windlass/ecn-proxy".into()),
        leases: Some("/var/lib/misc/dnsmasq.leases".into()),
        socket: "/run/x.sock".into(),
        log: "warn,windlass_ecn_proxy=debug".into(),
        log_format: LogFormat::Json,
    };
    assert_eq!(config, expected);
}

#[test]
fn options_win_over_the_file() {
    let options = options(json!({
        "policy": "drop", "client_side": ["lan"], "network_side": [], "pin": false, "log": null,
    }));
    let config = Config::new(options, file()).expect("sound");
    assert_eq!((config.policy, config.pin), (Policy::Drop, None));
    assert_eq!(config.client_side, ["lan"], "a list is replaced, not joined");
    assert_eq!(config.network_side, ["ppp0"], "an empty list is an option that was not given");
    assert_eq!(config.log, "warn,windlass_ecn_proxy=debug");
}

#[test]
fn options_are_checked_as_the_file_is() {
    let wrong = json!({ "policy": "dorp", "ports": ["443", "0"], "flows_max": "many" });
    let problems = Source::new(wrong, None).expect_err("three mistakes");
    let lines: Vec<String> = problems
        .list()
        .iter()
        .map(|problem| format!("{}: {}", problem.key, problem.message))
        .collect();
    let policy =
        "policy: expected virtual-loss, drop or no-ect, found \"dorp\"; did you mean \"drop\"?";
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines.iter().any(|line| line == policy), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("ports.1: expected a port")), "{lines:?}");
}

#[test]
fn each_mistake_is_reported_with_file_line_key_and_expected_value() {
    for (line, from, to, message) in [
        (5, "policy", "polcy", "polcy: unknown key; did you mean \"policy\"?"),
        (2, "schema = 1", "schema = 2", "schema: expected 1, the only version there is, found 2"),
        (
            3,
            "\"wlan0\"",
            "7.5",
            "client_side.1: expected the name of an interface, in quotes, found",
        ),
        (3, "wlan0", "a b", "client_side.1: expected the name of an interface, 1 to 15 characters"),
        (3, "[\"eth1\", \"wlan0\"]", "\"eth1\"", "client_side: expected a list, found \"eth1\""),
        (5, "no-ect", "none", "policy: expected virtual-loss, drop or no-ect, found \"none\""),
        (6, "false", "1", "fallback: expected true or false, found the bare number 1"),
        (7, "fd00::/8", "fd00::/129", "allow.1: expected a prefix such as 192.168.0.0/16 or fd00:"),
        (8, "192.168.9.9", "example.org", "deny.0: expected a prefix"),
        (8, "192.168.9.9", "010.0.0.0/8", "deny.0: expected a prefix"),
        (9, "8000-8999", "8999-8000", "ports.1: expected a port such as 443, or a range"),
        (9, "443", "70000", "ports.0: expected a port"),
        (9, "443", "0", "ports.0: expected a port"),
        (9, "443", "true", "ports.0: expected a port such as 443, or a range"),
        (11, "1_000", "0", "flows_max: expected a whole number from 1 to 67108864, found the bare"),
        (
            11,
            "1_000",
            "\"many\"",
            "flows_max: expected a whole number from 1 to 67108864, found \"many",
        ),
        (11, "1_000", "-5", "flows_max: expected a whole number from 1 to"),
        (14, "2h 4m", "2", "idle_timeout: expected a time such as 90s, 10m or 2h, from 1s"),
        (15, "90s", "10ms", "closing_timeout: expected a time such as 90s"),
        (
            16,
            "7",
            "32",
            "mark_bit: expected a bit of the packet mark, 0 to 31, found the bare number",
        ),
        (17, "127.0.0.1:9617", ":9617", "metrics: expected an address and a port such as"),
        (18, "true", "\"yes\"", "pin: expected true, false or the path of a folder, found \"yes\""),
        (
            21,
            "json",
            "xml",
            "log_format: expected a format of the log (\"text\", \"json\"), found \"xml\"",
        ),
        (19, "\"/var/lib/misc/dnsmasq.leases\"", "7", "leases: expected a path in quotes"),
        (22, "warn", "wran", "log: expected off, error, warn, info, debug or trace, or"),
    ] {
        let key_at = FILE.lines().take(line - 1).map(|line| line.len() + 1).sum::<usize>();
        let (before, after) = FILE.split_at(key_at);
        let text = format!("{before}{}", after.replacen(from, to, 1));
        let error = read_text("proxy.toml", &text).expect_err(to).to_string();
        let place = format!("proxy.toml:{line}:");
        let behind = error.strip_prefix(&place).and_then(|rest| rest.split_once(": "));
        assert!(behind.is_some_and(|(_, rest)| rest.starts_with(message)), "{error}\n{message}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn the_schema_knows_every_key() {
    let schema = schema();
    let file = &schema["$defs"]["Config"];
    assert_eq!(file["required"], serde_json::json!(["schema"]));
    let keys = file["properties"].as_object().expect("a table");
    let all = FILE.lines().filter_map(|line| line.split_once(" = ")).map(|(key, _)| key);
    assert_eq!(keys.len(), all.clone().count());
    assert!(all.clone().all(|key| keys.contains_key(key)), "{keys:?}");
}

#[test]
fn a_timeout_has_the_units_of_the_other_files_or_is_a_sum() {
    for (text, seconds) in
        [("90s", 90), ("1.5h", 5400), ("10min", 600), ("10m", 600), ("2h 4m", 7440)]
    {
        assert_eq!(parse_timeout(text), Ok(Duration::from_secs(seconds)), "{text}");
    }
}

#[test]
fn a_file_without_its_version_and_one_that_is_no_toml_are_refused() {
    let message = |text: &str| read_text("f", text).expect_err("a fault").to_string();
    assert_eq!(
        message("pin = true"),
        "f:1:1: schema: missing: expected `schema = 1`, the version of the format"
    );
    assert!(message("schema = 1\npin = ").starts_with("f:2:"), "{}", message("schema = 1\npin = "));
    assert!(message("schema = 1\nschema = 1").starts_with("f:2:"), "a key twice");
}

#[test]
fn all_mistakes_are_reported_at_once_in_the_order_of_the_file() {
    let error = read_text("f", "schema = 1\nzeal = 1\nmark_bit = 99\nalpha = 2\n");
    let error = error.expect_err("faults").to_string();
    let begins: Vec<&str> = error.lines().map(|line| &line[..4]).collect();
    assert_eq!(begins, ["f:2:", "f:3:", "f:4:"]);
}

#[test]
fn contradictory_keys_are_refused() {
    let message = |keys: Value| {
        let source = Source::new(keys, None).expect("sound keys");
        source.config().expect_err("a fault").to_string()
    };
    assert!(message(json!({})).starts_with("no interface: expected --client-side"));
    let both = json!({ "client_side": ["a"], "network_side": ["b", "a"] });
    assert_eq!(message(both), "interface a is named twice");
    let many = json!({ "client_side": ["a"], "ports": vec!["1-2"; LIST_MAX + 1] });
    assert_eq!(message(many), "expected at most 1024 entries in ports, found 1025");
}

#[test]
fn a_reload_changes_what_can_change_and_names_the_rest() {
    let old = Config::read("f", FILE).expect("sound");
    let text = FILE
        .replace("no-ect", "drop")
        .replace("wlan0", "lan0")
        .replace("= 7", "= 8")
        .replace("/var/lib", "/srv");
    let new = Config::read("f", &text).expect("sound");
    assert_eq!(old.needs_restart(&new), ["mark_bit"]);
    let changed = old.with_changes(new);
    assert_eq!((changed.policy, changed.mark_bit), (Policy::Drop, 7));
    assert_eq!(changed.client_side, ["eth1", "lan0"]);
    assert_eq!(changed.leases, Some("/srv/misc/dnsmasq.leases".into()));
}

proptest! {
    /// Whatever stands in a file, it is read, or each mistake has one line in the error.
    #[test]
    fn no_file_is_too_strange(
        text in "[ -~\\n]{0,80}",
        at in any::<prop::sample::Index>(),
    ) {
        let mut file = FILE.to_owned();
        file.insert_str(at.index(file.len()), &text);
        for text in [text, file] {
            if let Err(error) = read_text("f", &text) {
                let error = error.to_string();
                prop_assert!(!error.is_empty() && error.lines().all(|line| line.starts_with("f:")));
            }
        }
    }
}

#[test]
fn a_misspelt_level_of_the_log_is_refused_and_does_not_silence_it() {
    for good in ["info", "OFF", "warn,windlass_ecn_proxy=debug", "windlass_ecn_proxy::daemon=trace"]
    {
        assert_eq!(parse_log(good).as_deref(), Ok(good));
    }
    let error = parse_log("inof").expect_err("no level").to_string();
    assert!(error.ends_with("found \"inof\"; did you mean \"info\"?"), "{error}");
    for bad in ["", "windlass_ecn_proxy", "a=b=c", "=info", "info,", "a[=info"] {
        let error = parse_log(bad).expect_err(bad).to_string();
        assert!(error.starts_with("expected off, error, warn,"), "{bad}: {error}");
    }
}
