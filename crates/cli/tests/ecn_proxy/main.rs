//! `windlass ecn-proxy` as a user meets it. Tests that need root skip without it, with a line that
//! says so.
#![cfg(all(feature = "ecn-proxy", target_os = "linux"))]

mod bed;
mod check;
mod devices;
mod hosts;
mod life;
mod live;
mod monitoring;
mod senders;

use bed::{Bed, LAN, WAN, WINDLASS, eventually, get, metrics_address, skipped, text};
use serde_json::Value;
use std::fs;
use std::process::{Command, Output};

fn windlass(arguments: &[&str]) -> Output {
    Command::new(WINDLASS).arg("ecn-proxy").args(arguments).output().expect("starts")
}

#[test]
fn bad_options_are_refused_in_one_line_that_names_them() {
    for (arguments, printed) in [
        (&["run"][..], "no interface: expected --client-side"),
        (&["run", "--client-side", "a/b"], "--client-side: expected the name of an interface"),
        (&["run", "--client-side", "a", "--policy", "x"], "--policy: expected virtual-loss, drop"),
        (&["run", "--client-side", "a", "--allow", "10/8"], "--allow: expected a prefix such as"),
        (&["run", "--client-side", "a", "--ports", "80,0"], "--ports: expected a port such as"),
        (&["run", "--client-side", "a", "--mark-bit", "32"], "--mark-bit: expected a bit"),
        (&["run", "--client-side", "a", "--network-side", "a"], "interface a is named twice"),
        (&["run", "--client-side", "a", "--log", "wran"], "--log: expected off, error, warn"),
        (&["run", "--config", "/nonexistent/file"], "/nonexistent/file: No such file"),
    ] {
        let output = windlass(arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(
            stderr.starts_with(&format!("error: {printed}")) && stderr.lines().count() == 1,
            "{stderr}"
        );
    }
}

#[test]
fn without_a_proxy_each_command_says_that_none_answers() {
    for command in ["status", "stats", "flows", "hosts", "off", "on", "stop"] {
        let output = windlass(&[command, "--socket", "/nonexistent/proxy.sock"]);
        assert_eq!(output.status.code(), Some(1), "{command}");
        let printed = "error: no ECN proxy answers at /nonexistent/proxy.sock";
        assert!(text(&output.stderr).starts_with(printed), "{}", text(&output.stderr));
    }
    let output = windlass(&["stop", "--drain", "soon"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: --drain: expected a time"));
}

#[test]
fn the_pages_file_is_one_that_can_be_read() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/ecn-proxy.md");
    let page = fs::read_to_string(page).expect("the page");
    let blocks: Vec<&str> = page.split("```toml\n").skip(1).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let (file, _) = block.split_once("\n```").expect("the end of the block");
        let config = windlass_ecn_proxy::config::Config::from_toml("page", file);
        config.unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn status_stats_and_flows_tell_what_is_in_force() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let _proxy = bed.run_plain();
    let status = bed.json("status");
    assert_eq!((&status["state"], &status["policy"]), (&"on".into(), &"virtual-loss".into()));
    let interface = &status["interfaces"][0];
    assert_eq!((&interface["name"], &interface["trouble"]), (&LAN.into(), &Value::Null));
    assert_eq!(interface["attached"]["ethernet"], true, "{interface}");
    let before = bed.json("stats");

    let mut connection = bed.open();
    assert!(bed.server_has_ecn(&connection), "the client did not ask, the proxy did");
    connection.carries();
    let flows = bed.flows();
    let own = flows.iter().find(|flow| flow["host"] == connection.host()).expect("listed");
    assert_eq!(own["far"], connection.server.local_addr().expect("connected").to_string());
    assert!(own["idle"].as_f64().expect("seconds") < 60.0, "{own}");
    let line = text(&bed.ask(&["flows"]).stdout);
    assert!(line.starts_with("tcp ") && line.contains(&connection.host()), "{line}");

    let after = bed.json("stats");
    let packets = |stats: &Value| stats["counters"]["packets"].as_u64().expect("a counter");
    assert!(packets(&after) > packets(&before) + 10, "{after}");
    let table = text(&bed.ask(&["stats"]).stdout);
    assert!(table.contains("packets") && table.contains("far hosts"), "{table}");
    assert!(table.lines().any(|line| line.trim_start().starts_with("capable ")), "{table}");
    let explained = text(&bed.ask(&["stats", "--explain"]).stdout);
    let sentence = "Packets that the programs saw, without the proxy's own clones.\n";
    assert!(explained.contains(sentence), "{explained}");
    let printed = text(&bed.ask(&["status"]).stdout);
    for part in [
        "ecn     1 of 1 devices (100 %), ",
        "avoided 0 losses",
        "state   on, since 2",
        LAN,
        "client",
        "virtual-loss",
    ] {
        assert!(printed.contains(part), "{part} in\n{printed}");
    }
}

#[test]
fn off_lets_everything_pass_at_once_and_keeps_the_table() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let _proxy = bed.run_plain();
    let mut old = bed.open();
    assert!(bed.server_has_ecn(&old));
    assert!(bed.ask(&["off"]).status.success());
    assert_eq!(bed.json("status")["state"], "off");
    assert!(!bed.serves(), "a new connection passes as it is");
    old.carries();
    assert!(bed.flows().iter().any(|flow| flow["host"] == old.host()), "the table stays");
    assert!(bed.ask(&["on"]).status.success());
    assert!(bed.serves());
    old.carries();
}

#[test]
fn metrics_are_served_as_prometheus_reads_them() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let proxy = bed.run(&["--client-side", LAN, "--metrics", "127.0.0.1:0"]);
    let address = metrics_address(&proxy);
    proxy.wait_for("running");
    let page = get(&bed, address, "/metrics");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    let (_, body) = page.split_once("\r\n\r\n").expect("a body");
    let mut samples = 0;
    for line in body.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').expect("name and value");
        assert!(name.starts_with("windlass_ecn_proxy_") && value.parse::<f64>().is_ok(), "{line}");
        let bare = name.split('{').next().expect("a name");
        assert!(body.contains(&format!("# TYPE {bare} ")), "{line}");
        let help = format!("# HELP {bare} ");
        let help = body.lines().find_map(|line| line.strip_prefix(&help));
        assert!(help.is_some_and(|help| help.contains(' ')), "a sentence for {line}");
        samples += 1;
    }
    assert!(samples > 10, "{body}");
    assert!(
        body.contains("windlass_ecn_proxy_interface_attached{interface=\"lan\",side=\"client\"} 1")
    );
}

#[test]
fn a_log_in_json_is_an_object_a_line() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let proxy = bed.run(&["--network-side", WAN, "--log-format", "json"]);
    let line = proxy.wait_for("interface served");
    let event: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!((&event["level"], &event["interface"]), (&"INFO".into(), &WAN.into()));
    assert_eq!((&event["schema"], &event["kind"]), (&1.into(), &"ecn-proxy.log".into()));
    assert!(eventually(|| bed.ask(&["status"]).status.success()));
    assert_eq!(bed.json("status")["interfaces"][0]["side"], "network-side");
}
