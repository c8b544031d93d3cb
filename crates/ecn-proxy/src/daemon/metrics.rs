//! The counters and the state as a page of metrics.

use super::protocol::{State, Stats, Status};
use crate::config::policy_name;
use crate::datapath::{Counters, Side};
use std::collections::BTreeMap;
use windlass_metrics::{Kind, Page};

/// Prefix of every metric name.
const PREFIX: &str = "windlass_ecn_proxy_";

/// Numbers of devices of served hosts.
pub(super) struct Devices {
    /// By the end that gives their connections ECN.
    pub(super) by_ecn: BTreeMap<String, u64>,
    /// Those with a connection whose sender did not slow down.
    pub(super) unresponsive: u64,
}

/// The whole page of metrics.
pub(super) fn page(status: &Status, stats: &Stats, devices: &Devices) -> String {
    let mut page = Page::new(PREFIX);
    let sentences = Counters::default().named();
    let sentence = |name: &str| {
        let found = sentences.iter().find(|(known, ..)| *known == name);
        found.map_or("", |(.., sentence)| sentence.as_str())
    };
    for (name, count) in &stats.counters {
        page.counter(name, sentence(name), count);
    }
    for (what, reasons) in &stats.reasons {
        let name = format!("{what}_by_reason_total");
        let help = format!("By reason: {}", sentence(what));
        page.head(&name, Kind::Counter, &help);
        for (reason, count) in reasons {
            page.value(&name, &[("reason", reason)], count);
        }
    }
    page.gauge("flows", "connections in the table", stats.flows);
    page.gauge_by("hosts", "ecn", "far hosts remembered, by their ECN", &stats.hosts);
    let help = "served hosts of the last day by device, by who gives their connections ECN";
    page.gauge_by("served_hosts", "ecn", help, &devices.by_ecn);
    let help = "those of them with a connection whose sender did not slow down";
    page.gauge("unresponsive_hosts", help, devices.unresponsive);
    let states = [("on", State::On), ("off", State::Off), ("draining", State::Draining)];
    page.head("state", Kind::Gauge, "1 for what the proxy does at present");
    for (name, state) in states {
        page.value("state", &[("state", name)], u8::from(status.state == state));
    }
    let help = "1 where the programs stand, 0 where they are to";
    page.head("interface_attached", Kind::Gauge, help);
    for interface in &status.interfaces {
        let side = match interface.side {
            Side::ClientSide => "client",
            Side::NetworkSide => "network",
        };
        let labels = [("interface", interface.name.as_str()), ("side", side)];
        page.value("interface_attached", &labels, u8::from(interface.attached.is_some()));
    }
    page.gauge("warnings", "what windlass ecn-proxy status warns of", status.warnings.len());
    let help = "when the daemon was started, seconds since 1970";
    page.gauge("start_time_seconds", help, status.started_s);
    page.head("info", Kind::Gauge, "version, kernel and policy");
    let labels = [
        ("version", status.windlass),
        ("kernel", &status.features.kernel),
        ("policy", policy_name(status.policy)),
    ];
    page.value("info", &labels, 1);
    page.into_text()
}
