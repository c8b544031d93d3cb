//! The cost of a larger flight at the bottleneck of a path: the delay of its last packet, and loss.
//!
//! Packets that a server sends at once arrive at the rate of the bottleneck, each behind those before it.
//! The delay that the last one has more than the first is the queue that the flight has built up. Packets
//! that no queue took are missing. Runs of several sizes show both as functions of the size.

use super::report::BurstRun;
use super::statistics::{self, Estimate};
use crate::topic::{Ending, Report};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// The fewest runs of a size from which the interval of a median is taken.
pub const RUNS_MIN: usize = 5;
/// Headers of a packet on the wire, in bytes: IPv4 and TCP without options.
const HEADER_BYTES: u64 = 40;
/// Flights of fewer packets arrive too fast for their rate to be measured well.
const PACING_FROM: u32 = 8;
/// Rates of flights of two sizes at the same bottleneck differ by less.
const PACING_FACTOR: f64 = 1.3;

/// The verdict on all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BurstVerdict {
    /// A line for each size, in ascending order.
    pub sizes: Vec<SizeRow>,
    /// The largest size beside the smallest, of those with [`RUNS_MIN`] measured runs; `None` with fewer than
    /// two such sizes.
    pub difference: Option<Difference>,
    /// Remarks for the user.
    pub notes: Vec<String>,
}

/// The runs of one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeRow {
    /// Packets sent at once.
    pub packets: u32,
    /// Runs, and how many of them were measured.
    pub runs: (u32, u32),
    /// From the request or the ACK to the first packet, in milliseconds; the median.
    pub rtt_first_ms: Option<f64>,
    /// The same to the last packet that arrived.
    pub rtt_last_ms: Option<f64>,
    /// The delay of the last packet beyond that of the first, in milliseconds; the median of the runs.
    pub added_ms: Option<f64>,
    /// The rate at which the packets arrived, headers included, in Mbit/s; the median of the runs.
    pub rate_mbit: Option<f64>,
    /// Packets sent in all measured runs.
    pub sent: u64,
    /// Packets lost in all measured runs.
    pub lost: u64,
    /// The share of lost packets.
    pub loss: Estimate,
    /// How many runs it took several flights to get the window so large.
    pub grown: u32,
}

/// The cost of a larger flight over that of a smaller one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Packets of the larger flight.
    pub packets: u32,
    /// Packets of the smaller flight.
    pub than: u32,
    /// The delay of the last packet beyond that of the first, larger less smaller, in milliseconds.
    pub added_ms: Estimate,
    /// The share of lost packets, larger less smaller.
    pub loss: Estimate,
}

impl BurstVerdict {
    /// Judges the runs of a session that was to measure these sizes. Without window scaling, large ones do not fit.
    pub(crate) fn of(reports: &[Report], sizes: &[u16], unscaled: bool) -> BurstVerdict {
        let runs: Vec<&BurstRun> = reports.iter().flat_map(|run| &run.burst).collect();
        let asked: BTreeSet<u32> = reports.iter().flat_map(|run| run.packets_asked).collect();
        let known: Vec<(u32, Vec<&BurstRun>)> =
            asked.iter().map(|packets| (*packets, measured(&runs, *packets))).collect();
        let mut notes = notes(reports, &known);
        notes.extend(pacing(&rates(&known)));
        let left_out = sizes.iter().filter(|n| unscaled && !asked.contains(&u32::from(**n)));
        notes.extend(left_out.map(|packets| {
            format!("{packets} packets: more than a window of 65,535 bytes without scaling")
        }));
        BurstVerdict {
            sizes: known.iter().map(|(packets, runs)| row(*packets, runs, reports)).collect(),
            difference: difference(&known),
            notes,
        }
    }
}

/// The runs of this size that sent it whole. A run whose end is not known counts if another one shows that
/// the server sends as many.
fn measured<'a>(runs: &[&'a BurstRun], packets: u32) -> Vec<&'a BurstRun> {
    let of_size = || runs.iter().copied().filter(|run| run.packets == packets);
    let is_reached = of_size().any(|run| run.end_known);
    of_size().filter(|_| is_reached).collect()
}

/// Packets of the run that were lost. If its end is not known, all that are missing.
fn lost(run: &BurstRun) -> u64 {
    let lost = match run.end_known {
        true => run.lost,
        false => run.packets.saturating_sub(run.arrived).max(run.lost),
    };
    u64::from(lost)
}

fn added_ms(run: &BurstRun) -> f64 {
    run.rtt_last_ms - run.rtt_first_ms
}

/// The rate in Mbit/s at which what follows the first packet arrived; `None` if all came at one time.
fn rate_mbit(run: &BurstRun) -> Option<f64> {
    let after_first = u64::from(run.arrived.saturating_sub(1));
    let bytes = run.bytes.saturating_sub(u64::from(run.first_bytes)) + after_first * HEADER_BYTES;
    (added_ms(run) > 0.0).then(|| bytes as f64 * 8.0 / (added_ms(run) * 1e3))
}

/// The median rate of each size, in Mbit/s.
fn rates(sizes: &[(u32, Vec<&BurstRun>)]) -> Vec<(u32, f64)> {
    let rate = |runs: &[&BurstRun]| {
        statistics::median(&runs.iter().filter_map(|run| rate_mbit(run)).collect::<Vec<f64>>())
    };
    sizes.iter().filter_map(|(packets, runs)| Some((*packets, rate(runs)?))).collect()
}

/// A note if larger flights arrive faster: a bottleneck gives all of them its own rate, a server that
/// paces gives each one that of its window.
fn pacing(rates: &[(u32, f64)]) -> Option<String> {
    let mut of_many = rates.iter().filter(|(packets, _)| *packets >= PACING_FROM);
    let (few, slow) = of_many.next()?;
    let (many, fast) = of_many.next_back()?;
    (*fast > slow * PACING_FACTOR).then(|| {
        format!(
            "the server spaces its packets (pacing): {few} come at {slow:.1} Mbit/s, {many} at \
             {fast:.1}; the delay is at least in part its own, and not the path's"
        )
    })
}

fn row(packets: u32, runs: &[&BurstRun], reports: &[Report]) -> SizeRow {
    let all = reports.iter().filter(|report| report.packets_asked == Some(packets)).count();
    let middle = |number: &dyn Fn(&BurstRun) -> Option<f64>| {
        let numbers: Vec<f64> = runs.iter().filter_map(|run| number(run)).collect();
        statistics::median(&numbers)
    };
    let (sent, lost) = losses(runs);
    SizeRow {
        packets,
        runs: (all as u32, runs.len() as u32),
        rtt_first_ms: middle(&|run| Some(run.rtt_first_ms)),
        rtt_last_ms: middle(&|run| Some(run.rtt_last_ms)),
        added_ms: middle(&|run| Some(added_ms(run))),
        rate_mbit: middle(&rate_mbit),
        sent,
        lost,
        loss: statistics::share(lost, sent),
        grown: runs.iter().filter(|run| run.flights_before > 0).count() as u32,
    }
}

/// Packets sent and lost in all of these runs.
fn losses(runs: &[&BurstRun]) -> (u64, u64) {
    let lost: u64 = runs.iter().map(|run| lost(run)).sum();
    (runs.iter().map(|run| u64::from(run.arrived)).sum::<u64>() + lost, lost)
}

/// The largest size beside the smallest, of those with enough runs for an interval.
fn difference(sizes: &[(u32, Vec<&BurstRun>)]) -> Option<Difference> {
    let mut reached = sizes.iter().filter(|(_, runs)| runs.len() >= RUNS_MIN);
    let (than, less) = reached.next()?;
    let (packets, more) = reached.next_back()?;
    let added = |runs: &[&BurstRun]| runs.iter().map(|run| added_ms(run)).collect::<Vec<f64>>();
    let loss = |runs: &[&BurstRun]| {
        let (sent, lost) = losses(runs);
        statistics::share(lost, sent)
    };
    Some(Difference {
        packets: *packets,
        than: *than,
        added_ms: statistics::median_difference(&added(more), &added(less))?,
        loss: statistics::share_difference(loss(more), loss(less)),
    })
}

fn notes(reports: &[Report], sizes: &[(u32, Vec<&BurstRun>)]) -> Vec<String> {
    let mut notes = Vec::new();
    for (packets, runs) in sizes {
        let all: Vec<&Report> =
            reports.iter().filter(|report| report.packets_asked == Some(*packets)).collect();
        let failed: Vec<&&Report> =
            all.iter().filter(|report| report.ending != Ending::Measured).collect();
        if let Some(first) = failed.first() {
            let (count, of) = (failed.len(), all.len());
            notes.push(format!("{count} of {of} runs with {packets} packets: {}", first.ending));
        } else if runs.is_empty() {
            notes.push(format!("{packets} packets: not known how many of them the server sent"));
        }
        let grown = runs.iter().filter(|run| run.flights_before > 0).count();
        if grown > 0 {
            notes.push(format!(
                "{grown} of {} runs with {packets} packets: smaller flights went before, because the \
                 first window is smaller",
                all.len()
            ));
        }
    }
    notes
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (packets, than) = (self.packets, self.than);
        let (added, loss) = (&self.added_ms, &self.loss);
        let ms = |x: f64| if x.abs() < 10.0 { format!("{x:.2}") } else { format!("{x:.1}") };
        let delay = format!("{} ms ({} to {})", ms(added.value), ms(added.low), ms(added.high));
        let percent = |x: f64| format!("{:.1}", x * 100.0);
        let [value, low, high] = [loss.value, loss.low, loss.high].map(percent);
        let lost = format!("{value} % ({low} to {high})");
        match (added.low > 0.0, loss.low > 0.0) {
            (true, true) => write!(
                f,
                "{packets} packets at once add {delay} and lose {lost} more than {than} packets"
            ),
            (true, false) => write!(
                f,
                "{packets} packets at once add {delay} more than {than} packets; the loss is no \
                 different for certain: {lost} more"
            ),
            (false, true) => write!(
                f,
                "{packets} packets at once lose {lost} more than {than} packets; the delay is no \
                 different for certain: {delay} more"
            ),
            (false, false) => write!(
                f,
                "no certain difference between {packets} packets at once and {than}; more than {} ms \
                 or {high} % of loss would have been seen",
                ms(added.high.max(0.0)),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_flights_at_higher_rates_are_paced() {
        // BBR and CUBIC of Linux 6.18 behind a link of 50 Mbit/s.
        let note = pacing(&[(4, 57.06), (16, 9.66), (32, 12.86), (64, 25.33)]).expect("paced");
        assert!(note.contains("16 come at 9.7 Mbit/s, 64 at 25.3"), "{note}");
        assert_eq!(pacing(&[(4, 48.82), (16, 54.70), (32, 51.48)]), None);
        assert_eq!(pacing(&[(2, 1.0), (4, 9.0), (64, 10.0)]), None);
    }
}
