//! `windlass ecn-proxy stats --live`: rates of the daemon's counters, its interfaces and devices.

use super::args::{SocketArg, SortKey};
use super::{hosts, print};
use crate::failure::Failure;
use crate::live::{self, Chart, Panels, Row, Screen, Series, Table, Tone};
use crate::scaled::{self, bits};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Instant;
use windlass_ecn_proxy::daemon::client::{AskError, ask};
use windlass_ecn_proxy::daemon::protocol::Command;

/// Samples over which printed rates are means: marks and reductions are seldom.
const RECENT: usize = 8;
/// The counters of marks: those of the network on its way to served hosts, and those of served
/// senders' packets, which the far host echoes.
const MARKS: &[&str] = &["marks", "episodes"];
const REDUCTIONS: &[&str] = &["answered_virtual_loss", "answered_loss", "answered_drop"];

/// The answers of a proxy at a moment.
struct Sample {
    at: Instant,
    stats: Value,
    status: Value,
    devices: Vec<Value>,
}

/// Panels of a proxy's live view: rates of its counters, interfaces, devices.
#[derive(Default)]
struct ProxyPanels {
    last: Option<Sample>,
    served: Series,
    connections: Series,
    marks: Series,
    reductions: Series,
    /// Payload of each device over time, in bits per second.
    devices: BTreeMap<String, Series>,
}

/// Shows what a proxy does until the user ends the view.
pub(super) fn main(at: &SocketArg) -> Result<(), Failure> {
    live::watch(|| sample(at), ProxyPanels::default())
}

fn sample(at: &SocketArg) -> Result<Sample, Failure> {
    let answer = |command| ask(&at.socket, command)?.result();
    let (stats, status) = (answer(Command::Stats)?, answer(Command::Status)?);
    let mut listed = Vec::new();
    ask(&at.socket, Command::Hosts)?.finish(|device| -> Result<(), AskError> {
        listed.push(device);
        Ok(())
    })?;
    hosts::sort(&mut listed, SortKey::Bytes, false);
    Ok(Sample { at: Instant::now(), stats, status, devices: listed })
}

impl Panels<Sample> for ProxyPanels {
    fn take(&mut self, now: Sample) {
        self.connections.push(now.stats["flows"].as_f64().unwrap_or_default());
        if let Some(then) = &self.last {
            let seconds = (now.at - then.at).as_secs_f64().max(1e-3);
            let rate = |names| increase(then, &now, names) as f64 / seconds;
            self.served.push(rate(&["bytes_served"]) * 8.0);
            self.marks.push(rate(MARKS));
            self.reductions.push(rate(REDUCTIONS));
            let before: BTreeMap<&str, u64> =
                then.devices.iter().map(|device| (identity(device), payload(device))).collect();
            for device in &now.devices {
                let came = before
                    .get(identity(device))
                    .map(|bytes| payload(device).saturating_sub(*bytes));
                let series = self.devices.entry(identity(device).to_owned()).or_default();
                series.push(came.unwrap_or_default() as f64 * 8.0 / seconds);
            }
        }
        self.devices.retain(|known, _| now.devices.iter().any(|device| identity(device) == known));
        self.last = Some(now);
    }

    fn screen(&self) -> Screen {
        let Some(last) = &self.last else { return Screen::default() };
        let word = |key: &str| last.status[key].as_str().unwrap_or("?").to_owned();
        let whole = |count: f64| format!("{count:.0}");
        let devices = print::counted(last.devices.len() as u64);
        let warning = last.status["warnings"][0].as_str();
        Screen {
            title: "windlass ecn-proxy".to_owned(),
            facts: vec![word("state"), word("policy"), devices],
            charts: vec![
                Chart::new("served", &self.served, RECENT, bits, Tone::Rate),
                Chart::new("connections", &self.connections, 1, whole, Tone::Window),
                Chart::new("marks", &self.marks, RECENT, scaled::per_s, Tone::Signal),
                Chart::new("reductions", &self.reductions, RECENT, scaled::per_s, Tone::Queue),
            ],
            tables: vec![interfaces(&last.status["interfaces"]), self.devices(&last.devices)],
            note: warning.map(|warning| format!("warning: {warning}")),
            ..Screen::default()
        }
    }
}

impl ProxyPanels {
    fn devices(&self, devices: &[Value]) -> Table {
        let row = |device: &Value| {
            let series = self.devices.get(identity(device)).cloned().unwrap_or_default();
            let figure = |key: &str| device[key].as_u64().unwrap_or_default().to_string();
            let cells = vec![
                print::device_title(device).to_owned(),
                device["ecn"].as_str().unwrap_or("-").to_owned(),
                bits(series.recent_mean(RECENT)),
                figure("marks"),
                figure("reductions"),
                figure("unresponsive"),
                print::total(&device["connections"]).to_string(),
                scaled::size(payload(device)),
            ];
            Row { cells, trend: series.values() }
        };
        Table {
            name: "devices".to_owned(),
            columns: vec![
                "device",
                "ecn",
                "rate",
                "marks",
                "reductions",
                "unresponsive",
                "connections",
                "payload",
            ],
            trend: Some("rate over time"),
            rows: devices.iter().map(row).collect(),
        }
    }
}

fn interfaces(interfaces: &Value) -> Table {
    let row = |interface: &Value| {
        let mut cells = print::interface(interface);
        // The kernel's number of the interface is of no use here.
        cells.truncate(4);
        cells.push(interface["trouble"].as_str().unwrap_or_default().to_owned());
        Row { cells, trend: vec![] }
    };
    Table {
        name: "interfaces".to_owned(),
        columns: vec!["interface", "side", "hook", "header", ""],
        trend: None,
        rows: interfaces.as_array().into_iter().flatten().map(row).collect(),
    }
}

/// The MAC address or, without one, the only address.
fn identity(device: &Value) -> &str {
    let address = || device["addresses"][0]["address"].as_str();
    device["mac"].as_str().or_else(address).unwrap_or("?")
}

fn payload(device: &Value) -> u64 {
    print::total(&device["bytes"])
}

/// By how much counters grew, together. A proxy that was started anew has smaller ones: 0 then.
fn increase(then: &Sample, now: &Sample, names: &[&str]) -> u64 {
    let count = |sample: &Sample| -> u64 {
        names.iter().filter_map(|name| sample.stats["counters"][*name].as_u64()).sum()
    };
    count(now).saturating_sub(count(then))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;
    use windlass_ecn_proxy::datapath::Counters;

    fn sample(at: Instant, marks: u64, bytes: u64) -> Sample {
        Sample {
            at,
            stats: json!({ "flows": 3, "counters": {
                "bytes_served": bytes, "marks": marks, "episodes": 2 * marks,
                "answered_virtual_loss": marks, "answered_loss": 1, "answered_drop": 0,
            } }),
            status: json!({
                "state": "on", "policy": "virtual-loss", "warnings": [],
                "interfaces": [{ "name": "eth1", "side": "client-side", "trouble": "no such one" }],
            }),
            devices: vec![json!({
                "name": "laptop", "mac": "02:00:00:00:00:07", "ecn": "served", "marks": marks, "reductions": 4,
                "unresponsive": 1,
                "connections": { "served": 2, "own": 1 }, "bytes": { "served": bytes },
            })],
        }
    }

    #[test]
    fn counters_become_rates_and_devices_rows() {
        let at = Instant::now();
        let mut panels = ProxyPanels::default();
        panels.take(sample(at, 0, 1000));
        panels.take(sample(at + Duration::from_millis(500), 5, 126_000));
        let screen = panels.screen();
        let latest: Vec<String> =
            screen.charts.iter().map(|chart| (chart.format)(chart.latest)).collect();
        assert_eq!(latest, ["2.00 Mbit/s", "3", "30.0/s", "10.0/s"]);
        let [interfaces, devices] = &screen.tables[..] else { panic!("two tables") };
        assert_eq!(interfaces.rows[0].cells, ["eth1", "client", "none", "-", "no such one"]);
        let cells = &devices.rows[0].cells;
        let expected = ["laptop", "served", "2.00 Mbit/s", "5", "4", "1", "3", "126.00 kB"];
        assert_eq!(cells[..], expected);
        assert_eq!(screen.facts, ["on", "virtual-loss", "1 device"]);
    }

    #[test]
    fn a_proxy_that_began_anew_has_no_negative_rates() {
        let at = Instant::now();
        let mut panels = ProxyPanels::default();
        panels.take(sample(at, 9, 9000));
        panels.take(sample(at + Duration::from_secs(1), 0, 0));
        let latest: Vec<f64> = panels.screen().charts.iter().map(|chart| chart.latest).collect();
        assert_eq!(latest, [0.0, 3.0, 0.0, 0.0]);
    }

    #[test]
    fn the_counters_exist() {
        let named = Counters::default().named();
        for counter in MARKS.iter().chain(REDUCTIONS).chain(&["bytes_served"]) {
            assert!(named.iter().any(|(name, ..)| name == counter), "{counter}");
        }
    }
}
