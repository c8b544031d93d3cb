//! `windlass ecn-proxy hosts` for people.

use crate::stdout;
use serde_json::Value;
use std::time::Duration;
use windlass_ecn_proxy::datapath::EcnUse;

/// A row for each host.
pub(in crate::cmd::ecn_proxy) fn table(hosts: &[Value]) -> String {
    let header = [
        "host",
        "mac",
        "ecn",
        "connections",
        "own",
        "served",
        "payload",
        "own",
        "served",
        "reductions",
        "unresponsive",
        "marks",
        "seen",
    ];
    stdout::table(&header, hosts.iter().map(row))
}

/// The number of hosts by who gives them ECN, and the shares of all hosts and connections that have it.
pub(in crate::cmd::ecn_proxy) fn summary(by_ecn: &Value, ecn: &Value) -> String {
    let count = |name: &str| by_ecn[name].as_u64().unwrap_or_default();
    let total: u64 = EcnUse::ALL.iter().map(|(_, name)| count(name)).sum();
    let parts = EcnUse::ALL.map(|(_, name)| format!("{} {name}", count(name)));
    format!("{total} hosts: {}\nwith ECN: {}", parts.join(", "), with_ecn(ecn))
}

/// The shares of hosts and connections that have ECN, of all that the proxy knows.
pub(super) fn with_ecn(ecn: &Value) -> String {
    let of = |what: &str| {
        let (part, whole) = (number(&ecn[format!("{what}_with_ecn")]), number(&ecn[what]));
        format!("{} of {whole} {what}", share(part, whole))
    };
    format!("{}, {}", of("hosts"), of("connections"))
}

fn row(host: &Value) -> Vec<String> {
    let text = |key: &str| host[key].as_str().unwrap_or("-").to_owned();
    let (connections, bytes) = (&host["connections"], &host["bytes"]);
    let own = number(&connections["own"]) + number(&connections["own_refused"]);
    let idle = Duration::from_secs(host["idle"].as_f64().unwrap_or_default() as u64);
    vec![
        text("address"),
        text("mac"),
        text("ecn"),
        total(connections).to_string(),
        share(own, total(connections)),
        share(number(&connections["served"]), total(connections)),
        size(total(bytes)),
        share(number(&bytes["own"]), total(bytes)),
        share(number(&bytes["served"]), total(bytes)),
        number(&host["reductions"]).to_string(),
        number(&host["unresponsive"]).to_string(),
        number(&host["marks"]).to_string(),
        format!("{} ago", humantime::format_duration(idle)),
    ]
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// The sum of a group of figures.
pub(in crate::cmd::ecn_proxy) fn total(group: &Value) -> u64 {
    group.as_object().into_iter().flatten().map(|(_, figure)| number(figure)).sum()
}

fn share(part: u64, whole: u64) -> String {
    match whole {
        0 => "-".to_owned(),
        _ => format!("{:.0} %", 100.0 * part as f64 / whole as f64),
    }
}

/// Bytes with a prefix of SI and three digits.
fn size(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    // From 999.5 on, the number would have four digits.
    while value >= 999.5 {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if unit == 0 || value >= 99.95 { 0 } else { usize::from(value < 9.995) + 1 };
    format!("{value:.digits$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sizes_have_three_digits() {
        let sizes = [0, 999, 1000, 12_345, 999_499, 999_500, 1_234_567_890, u64::MAX];
        let expected =
            ["0 B", "999 B", "1.00 kB", "12.3 kB", "999 kB", "1.00 MB", "1.23 GB", "18.4 EB"];
        assert_eq!(sizes.map(size), expected);
    }

    #[test]
    fn a_host_is_a_row_with_shares() {
        let host = json!({
            "address": "fd00::7", "mac": null, "ecn": "mixed", "idle": 61.7, "reductions": 3, "unresponsive": 2,
            "marks": 4,
            "connections": { "own": 1, "own_refused": 1, "served": 5, "refused": 2, "other": 1 },
            "bytes": { "served": 750_000, "own": 250_000, "without": 0 },
        });
        let expected = [
            "fd00::7",
            "-",
            "mixed",
            "10",
            "20 %",
            "50 %",
            "1.00 MB",
            "25 %",
            "75 %",
            "3",
            "2",
            "4",
            "1m 1s ago",
        ];
        assert_eq!(row(&host), expected);
        let none = json!({ "own": 1, "served": 20, "mixed": 0, "without": 2 });
        let ecn = json!({
            "hosts": 23, "hosts_with_ecn": 21, "connections": 200, "connections_with_ecn": 110,
        });
        let expected = "23 hosts: 1 own, 20 served, 0 mixed, 2 without\n\
                        with ECN: 91 % of 23 hosts, 55 % of 200 connections";
        assert_eq!(summary(&none, &ecn), expected);
    }
}
