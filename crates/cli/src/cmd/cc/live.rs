//! `windlass cc flows --live`: slopes, windows and marks of the connections as they change.

use crate::live::{Chart, Panels, Row, Screen, Series, Table, Tone};
use crate::scaled;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Instant;
use windlass_kernel_cc::Flow;

/// Namespace and both ends: one connection.
type FlowId = (u32, SocketAddr, SocketAddr);

/// The connections at a moment.
pub(super) struct Sample {
    pub(super) at: Instant,
    pub(super) flows: Vec<Flow>,
}

/// Windows, slopes and cuts of the connections that use a controller.
pub(super) struct FlowPanels {
    controller: String,
    last: Option<Sample>,
    /// cwnd of each connection.
    windows: BTreeMap<FlowId, Series>,
    cwnd: Series,
    slope: Series,
    rtt_ms: Series,
    cuts_per_s: Series,
}

impl FlowPanels {
    pub(super) fn new(controller: String) -> FlowPanels {
        FlowPanels {
            controller,
            last: None,
            windows: BTreeMap::new(),
            cwnd: Series::default(),
            slope: Series::default(),
            rtt_ms: Series::default(),
            cuts_per_s: Series::default(),
        }
    }

    fn row(&self, flow: &Flow) -> Row {
        let cells = vec![
            format!("{} > {}", flow.local, flow.peer),
            flow.cwnd.to_string(),
            format!("{:.3}", flow.slope),
            format!("{:.1}", rtt_ms(flow)),
            flow.ssthresh.map_or("-".to_owned(), |segments| segments.to_string()),
            flow.mark_cuts.to_string(),
            flow.loss_cuts.to_string(),
            flow.timeouts.to_string(),
            if flow.ecn { "yes" } else { "no" }.to_owned(),
            flow.netns.to_string(),
        ];
        let trend = self.windows.get(&id(flow)).map(Series::values).unwrap_or_default();
        Row { cells, trend }
    }

    fn charts(&self) -> Vec<Chart> {
        // Cuts are so seldom that a single sample is mostly zero.
        let recent = 8;
        vec![
            Chart::new("cwnd, all", &self.cwnd, 1, |cwnd| format!("{cwnd:.0} seg"), Tone::Window),
            Chart::new("slope, mean", &self.slope, 1, |slope| format!("{slope:.3}"), Tone::Rate),
            Chart::new("RTT, mean", &self.rtt_ms, 1, scaled::ms, Tone::Queue),
            Chart::new("cuts", &self.cuts_per_s, recent, scaled::per_s, Tone::Signal),
        ]
    }
}

impl Panels<Sample> for FlowPanels {
    fn take(&mut self, mut sample: Sample) {
        let flows = &mut sample.flows;
        flows.sort_by_key(id);
        self.windows.retain(|known, _| flows.iter().any(|flow| id(flow) == *known));
        for flow in &*flows {
            self.windows.entry(id(flow)).or_default().push(f64::from(flow.cwnd));
        }
        self.cwnd.push(flows.iter().map(|flow| f64::from(flow.cwnd)).sum());
        self.slope.push(mean(flows, |flow| flow.slope));
        self.rtt_ms.push(mean(flows, rtt_ms));
        if let Some(last) = &self.last {
            self.cuts_per_s.push(cuts_per_s(last, &sample));
        }
        self.last = Some(sample);
    }

    fn screen(&self) -> Screen {
        let flows = self.last.as_ref().map_or(&[][..], |last| &last.flows);
        let connections = if flows.len() == 1 { "connection" } else { "connections" };
        let table = Table {
            name: connections.to_owned(),
            columns: vec![
                "local > peer",
                "cwnd",
                "slope",
                "RTT ms",
                "ssthresh",
                "mark cuts",
                "loss cuts",
                "RTOs",
                "ecn",
                "netns",
            ],
            trend: Some("cwnd over time"),
            rows: flows.iter().map(|flow| self.row(flow)).collect(),
        };
        Screen {
            title: format!("windlass cc flows: {}", self.controller),
            facts: vec![format!("{} {connections}", flows.len())],
            charts: self.charts(),
            tables: vec![table],
            ..Screen::default()
        }
    }
}

fn id(flow: &Flow) -> FlowId {
    (flow.netns, flow.local, flow.peer)
}

fn rtt_ms(flow: &Flow) -> f64 {
    f64::from(flow.srtt_us) / 1e3
}

/// 0 without connections.
fn mean(flows: &[Flow], of: impl Fn(&Flow) -> f64) -> f64 {
    let sum: f64 = flows.iter().map(of).sum();
    if flows.is_empty() { 0.0 } else { sum / flows.len() as f64 }
}

/// Cuts a second, of the connections that both samples have.
fn cuts_per_s(then: &Sample, now: &Sample) -> f64 {
    let cuts = |flow: &Flow| flow.mark_cuts + flow.loss_cuts;
    let before: BTreeMap<FlowId, u32> =
        then.flows.iter().map(|flow| (id(flow), cuts(flow))).collect();
    let since = now.flows.iter().filter_map(|flow| {
        before.get(&id(flow)).map(|before| u64::from(cuts(flow).saturating_sub(*before)))
    });
    let seconds = (now.at - then.at).as_secs_f64().max(1e-3);
    since.sum::<u64>() as f64 / seconds
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn flow(port: u16, cwnd: u32, mark_cuts: u32) -> Flow {
        Flow {
            netns: 1,
            local: SocketAddr::from(([10, 0, 0, 1], port)),
            peer: SocketAddr::from(([10, 0, 0, 2], 80)),
            ecn: true,
            cwnd,
            ssthresh: None,
            srtt_us: 20_000,
            slope: 0.5,
            echoes: 0,
            mark_cuts,
            loss_cuts: 1,
            timeouts: 0,
        }
    }

    #[test]
    fn cuts_are_those_since_the_last_sample_and_windows_of_ended_connections_go() {
        let at = Instant::now();
        let mut panels = FlowPanels::new("new_ecn".to_owned());
        panels.take(Sample { at, flows: vec![flow(2, 30, 4), flow(1, 10, 0)] });
        let at = at + Duration::from_millis(500);
        panels.take(Sample { at, flows: vec![flow(3, 7, 9), flow(1, 12, 3)] });
        let screen = panels.screen();
        let latest: Vec<(&str, f64)> =
            screen.charts.iter().map(|chart| (chart.name.as_str(), chart.latest)).collect();
        let expected =
            [("cwnd, all", 19.0), ("slope, mean", 0.5), ("RTT, mean", 20.0), ("cuts", 6.0)];
        assert_eq!(latest, expected);
        let rows = &screen.tables[0].rows;
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].cells[..5], ["10.0.0.1:1 > 10.0.0.2:80", "12", "0.500", "20.0", "-"]);
        assert_eq!((&rows[0].trend[..], &rows[1].trend[..]), (&[10.0, 12.0][..], &[7.0][..]));
        assert_eq!(screen.facts, ["2 connections"]);
    }
}
