//! The counters and the state in the text format 0.0.4 of Prometheus.

use super::protocol::{State, Stats, Status};
use crate::config::policy_name;
use crate::datapath::{Counters, Side};
use std::collections::BTreeMap;
use std::fmt::{Display, Write};

/// Prefix of every metric name.
const PREFIX: &str = "windlass_ecn_proxy_";

/// Numbers of served hosts.
pub(super) struct ServedHosts {
    /// By the end that gives their connections ECN.
    pub(super) by_ecn: BTreeMap<String, u64>,
    /// Those with a connection whose sender did not slow down.
    pub(super) unresponsive: u64,
}

/// The whole page of metrics.
pub(super) fn page(status: &Status, stats: &Stats, served_hosts: &ServedHosts) -> String {
    let mut page = Page::default();
    let sentences = Counters::default().named();
    for (name, count) in &stats.counters {
        let help = sentences.iter().find(|(known, ..)| known == name);
        let help = help.map_or("", |(.., sentence)| sentence.as_str());
        page.head(&format!("{name}_total"), "counter", help);
        page.value(&format!("{name}_total"), &[], count);
    }
    for (what, reasons) in &stats.reasons {
        let name = format!("{what}_by_reason_total");
        page.head(&name, "counter", &format!("{what}, by reason"));
        for (reason, count) in reasons {
            page.value(&name, &[("reason", reason)], count);
        }
    }
    page.head("flows", "gauge", "connections in the table");
    page.value("flows", &[], stats.flows);
    page.by_label("hosts", "ecn", "far hosts remembered, by their ECN", &stats.hosts);
    let help = "served hosts of the last day, by who gives their connections ECN";
    page.by_label("served_hosts", "ecn", help, &served_hosts.by_ecn);
    let help = "served hosts of the last day with a connection whose sender did not slow down";
    page.head("unresponsive_hosts", "gauge", help);
    page.value("unresponsive_hosts", &[], served_hosts.unresponsive);
    let states = [("on", State::On), ("off", State::Off), ("draining", State::Draining)];
    page.head("state", "gauge", "1 for what the proxy does at present");
    for (name, state) in states {
        page.value("state", &[("state", name)], u8::from(status.state == state));
    }
    page.head("interface_attached", "gauge", "1 where the programs stand, 0 where they are to");
    for interface in &status.interfaces {
        let side = match interface.side {
            Side::ClientSide => "client",
            Side::NetworkSide => "network",
        };
        let labels = [("interface", interface.name.as_str()), ("side", side)];
        page.value("interface_attached", &labels, u8::from(interface.attached.is_some()));
    }
    page.head("warnings", "gauge", "what windlass ecn-proxy status warns of");
    page.value("warnings", &[], status.warnings.len());
    page.head("start_time_seconds", "gauge", "when the daemon was started, seconds since 1970");
    page.value("start_time_seconds", &[], status.started_s);
    page.head("info", "gauge", "version, kernel and policy");
    let labels = [
        ("version", status.windlass),
        ("kernel", &status.features.kernel),
        ("policy", policy_name(status.policy)),
    ];
    page.value("info", &labels, 1);
    page.0
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // To a String nothing fails.
        let _ = write!(self.0, "# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} {kind}\n");
    }

    fn value(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(self.0, "{PREFIX}{name}{labels} {value}");
    }

    fn by_label(&mut self, name: &str, label: &str, help: &str, values: &BTreeMap<String, u64>) {
        self.head(name, "gauge", help);
        for (key, value) in values {
            self.value(name, &[(label, key)], value);
        }
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_a_metric_has_its_head_once() {
        let mut page = Page::default();
        let values = BTreeMap::from([("a\"b\\c\nd".to_owned(), 7), ("e".to_owned(), 8)]);
        page.by_label("flows", "state", "number of flows", &values);
        assert_eq!(
            page.0,
            "# HELP windlass_ecn_proxy_flows number of flows\n# TYPE windlass_ecn_proxy_flows gauge\n\
             windlass_ecn_proxy_flows{state=\"a\\\"b\\\\c\\nd\"} 7\n\
             windlass_ecn_proxy_flows{state=\"e\"} 8\n"
        );
    }
}
