//! `make verify-monitoring`: Debian's Prometheus reads the proxy's metrics, and packaging/ fits them.

use crate::bed::{Bed, LAN, Proxy, eventually, skipped, text};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use windlass_testbed::{Need, skip_unless};

const METRICS: &str = "127.0.0.1:9617";
const PROMETHEUS: &str = "127.0.0.1:9090";

fn packaging(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(file)
}

#[test]
#[ignore = "needs Debian's Prometheus; make verify-monitoring installs it"]
fn promtool_accepts_the_alert_rules_and_their_tests() {
    if skip_unless(&[Need::Program("promtool")]) {
        return;
    }
    for arguments in
        [["check", "rules", "ecn-proxy.rules.yml"], ["test", "rules", "ecn-proxy.rules.test.yml"]]
    {
        let mut promtool = Command::new("promtool");
        let output = promtool.args(arguments).current_dir(packaging("prometheus")).output();
        let output = output.expect("starts");
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    }
}

/// The result of a query; empty while Prometheus does not answer.
fn query(bed: &Bed, expression: &str) -> Vec<Value> {
    let mut curl = bed.on_router("curl");
    curl.args(["--silent", "--get", "--data-urlencode", &format!("query={expression}")]);
    let output = curl.arg(format!("http://{PROMETHEUS}/api/v1/query")).output().expect("starts");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    assert_ne!(answer["status"], "error", "{expression}: {answer}");
    answer["data"]["result"].as_array().cloned().unwrap_or_default()
}

/// Prometheus on the router, which scrapes the proxy every three seconds.
fn prometheus(bed: &Bed) -> Proxy {
    let config = bed.path("prometheus.yml");
    let rules = packaging("prometheus/ecn-proxy.rules.yml");
    let text = format!(
        "global: {{scrape_interval: 3s}}\nrule_files: [{}]\nscrape_configs:\n- job_name: \
         windlass-ecn-proxy\n  static_configs: [{{targets: [\"{METRICS}\"]}}]\n",
        rules.display()
    );
    fs::write(&config, text).expect("writable");
    let mut command = bed.on_router("prometheus");
    command.arg(format!("--config.file={}", config.display()));
    command.arg(format!("--storage.tsdb.path={}", bed.path("tsdb").display()));
    command.arg(format!("--web.listen-address={PROMETHEUS}"));
    Proxy::start(command)
}

/// The queries of the dashboard, with its variables filled in.
fn queries() -> Vec<(String, String)> {
    let dashboard = fs::read_to_string(packaging("grafana/ecn-proxy.json")).expect("the dashboard");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("JSON");
    let mut queries = Vec::new();
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().expect("targets") {
            let expression = target["expr"].as_str().expect("a query");
            let expression =
                expression.replace("$__rate_interval", "1m").replace("$instance", ".*");
            queries.push((panel["title"].to_string(), expression));
        }
    }
    queries
}

#[test]
#[ignore = "needs Debian's Prometheus; make verify-monitoring installs it"]
fn every_query_of_the_dashboard_finds_data() {
    if skipped(&["prometheus", "curl"]) {
        return;
    }
    let bed = Bed::new();
    let proxy = bed.run(&["--client-side", LAN, "--metrics", METRICS]);
    proxy.wait_for("running");
    let _prometheus = prometheus(&bed);
    bed.open().carries();
    // A reason to leave a connection alone.
    bed.network().server.sysctl("ipv4/tcp_ecn", "0");
    bed.open().carries();
    let queries = queries();
    assert!(queries.len() > 20, "{queries:?}");
    for (panel, expression) in &queries {
        assert!(!expression.contains('$'), "a variable that the test does not know: {expression}");
        assert!(
            eventually(|| !query(&bed, expression).is_empty()),
            "{panel}: no data for {expression}"
        );
    }
    let hosts = query(&bed, "windlass_ecn_proxy_served_hosts{ecn=\"served\"}");
    assert_eq!(hosts[0]["value"][1], "1", "{hosts:?}");
    assert!(query(&bed, "ALERTS{alertstate=\"firing\"}").is_empty(), "the proxy works");
}
