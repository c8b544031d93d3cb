//! Traffic as text of a scenario, and figures of its runs.

use crate::settings::Path;
use windlass_base::{Distribution, Span};
use windlass_sim::Summary;
use windlass_sim::summary::FlowSummary;

/// A traffic of a criterion, with the figures that are read from its runs.
#[derive(Debug)]
pub struct Traffic {
    /// Its name within the criterion.
    pub name: &'static str,
    /// A description in a sentence.
    pub about: &'static str,
    /// The figures.
    pub figures: &'static [Figure],
    /// The flows and the hosts' links as tables of a scenario.
    pub(crate) tables: fn(&Scene) -> String,
}

/// A figure of a run.
#[derive(Debug)]
pub struct Figure {
    /// Its name within the criterion.
    pub name: &'static str,
    /// A description in a phrase.
    pub title: &'static str,
    /// Its unit; empty for a ratio.
    pub unit: &'static str,
    /// Reads it.
    pub(crate) of: fn(&Seen) -> f64,
}

/// The place of a traffic.
pub(crate) struct Scene<'a> {
    pub(crate) path: &'a Path,
    /// The keys of the subject's flows.
    pub(crate) subject: &'a str,
    /// Length of the run in seconds.
    pub(crate) duration_s: f64,
}

/// A link of the hosts that has no part in anything.
pub(crate) const ACCESS: &str = "[dumbbell]\naccess = [{ delay = \"0ms\" }]\n";

/// A kind of flows in a scenario: so many with these keys. Several begin one after the other.
pub(crate) fn flows(name: &str, count: u32, keys: &str, path: &Path) -> String {
    let several = match count {
        1 => String::new(),
        _ => format!("count = {count}\nstart_step = \"{}ms\"\n", spacing_ms(path)),
    };
    format!("[[flows]]\nname = \"{name}\"\nfrom = \"s1\"\n{several}{keys}\n\n")
}

/// Two round trips, at most a tenth of a second.
fn spacing_ms(path: &Path) -> f64 {
    (2.0 * path.rtt_ms).min(100.0)
}

/// The key of transfers that come at random times and need this share of the path's rate.
pub(crate) fn transfers(share: f64, path: &Path) -> String {
    // A transfer takes 0.3 s of the rate at most: 32 kB, or less on a slow path.
    let mean = (0.3 * path.bytes_per_s()).min(32_000.0);
    let per_s = share * path.bytes_per_s() / mean;
    let (min, max) = ((mean / 8.0).round(), (mean * 15.0 / 8.0).round());
    format!(
        "app = {{ kind = \"arrivals\", arrivals = {{ rate = {per_s} }}, \
         sizes = {{ kind = \"uniform\", min = \"{min}B\", max = \"{max}B\" }} }}"
    )
}

/// The outcome of a run.
pub(crate) struct Seen<'a> {
    pub(crate) path: &'a Path,
    pub(crate) summary: Summary,
    /// Segments that were sent again in the last part of the run, from [`late_s`] on.
    pub(crate) repeated_late: f64,
}

/// The beginning of the last part of a run in seconds: half of it, and the time that the last ACKs from before need.
pub(crate) fn late_s(path: &Path, duration_s: f64) -> f64 {
    duration_s / 2.0 + (3.0 * path.rtt_ms / 1e3).max(duration_s / 20.0)
}

impl Seen<'_> {
    /// The flows of a kind.
    pub(crate) fn flows(&self, kind: &str) -> impl Iterator<Item = &FlowSummary> {
        let of_kind = move |flow: &&FlowSummary| {
            let rest = flow.name.strip_prefix(kind);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.summary.flows.iter().filter(of_kind)
    }

    /// The goodput of flows of a kind together in Mbit/s.
    pub(crate) fn goodput(&self, kind: &str) -> f64 {
        // An empty sum of floats is -0.
        self.flows(kind).map(|flow| flow.mbit_per_s.steady).fold(0.0, |sum, rate| sum + rate)
    }

    /// The share of the data packets of a kind's flows that queues and policers dropped, in the whole run.
    pub(crate) fn loss(&self, kind: &str) -> f64 {
        let dropped = |flow: &FlowSummary| {
            (flow.drops + flow.drops_elsewhere + flow.policed.unwrap_or(0)) as f64
        };
        let (mut gone, mut sent) = (0.0, 0.0);
        for flow in self.flows(kind) {
            gone += dropped(flow);
            sent += dropped(flow) + flow.lost as f64 + self.acknowledged(flow);
        }
        if sent > 0.0 { gone / sent } else { 0.0 }
    }

    /// The mean time in milliseconds that packets of a kind's flows wait in queues, each flow counting alike.
    pub(crate) fn queue_delay_ms(&self, kind: &str) -> f64 {
        let waits = self.flows(kind).filter_map(|flow| flow.queue_delay_ms.as_ref());
        let waits: Vec<f64> = waits.map(|wait| milliseconds(wait.mean)).collect();
        waits.iter().sum::<f64>() / waits.len().max(1) as f64
    }

    /// The mean slowdown of a kind's transfers; where none is complete, the largest that a summary has.
    pub(crate) fn slowdown(&self, kind: &str) -> f64 {
        const LARGEST: f64 = 275.0;
        let times = self.flows(kind).filter_map(|flow| flow.completions.as_ref()?.all.as_ref());
        let slowdowns: Vec<f64> =
            times.filter_map(|times| times.slowdown.as_ref()).map(ratio).collect();
        slowdowns.first().map_or(LARGEST, |slowdown| slowdown.min(LARGEST))
    }

    /// Segments of a flow that were acknowledged.
    pub(crate) fn acknowledged(&self, flow: &FlowSummary) -> f64 {
        flow.packets_per_s.whole_run * self.summary.duration_s
    }

    /// Packets of TCP that arrived at the bottleneck, before its policer.
    pub(crate) fn arrived(&self) -> f64 {
        let udp: u64 = self.summary.udp.iter().map(|source| source.sent).sum();
        let policed = self.summary.policed.unwrap_or(0);
        (self.summary.bottleneck_packets + policed).saturating_sub(udp) as f64
    }
}

pub(crate) fn milliseconds(span: Span) -> f64 {
    span.as_secs_f64() * 1e3
}

/// The mean of a distribution of ratios, which stand in it as seconds.
fn ratio(distribution: &Distribution) -> f64 {
    distribution.mean.as_secs_f64()
}
