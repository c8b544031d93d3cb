//! The task of a connection that measures a burst, by the runs before it.

use super::report::BurstRun;
use crate::topic::{Ending, Report};

/// The task of a burst.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct BurstOrder {
    /// Packets of the burst.
    pub packets: u32,
    /// Packets of the first window: as many as the burst if the server's first flight may be as large.
    pub first_packets: u32,
    /// Whether smaller flights fill the congestion window. Some stacks let it grow only then (RFC 7661).
    /// Otherwise these flights have at most half as many packets as the burst.
    pub fills: bool,
    /// The payload of a full packet, in bytes, as far as it is known.
    pub packet_bytes: u32,
}

/// Packets for which the window opens after a burst, so that their offsets show where the burst ended.
pub(super) const PACKETS_AFTER: u32 = 2;

/// The packets of a first flight that most servers send at once (RFC 6928).
const FIRST_PACKETS: u32 = 10;

impl BurstOrder {
    /// The next burst of this size after the runs of `reports`; `mss` is the MSS that the probe announces.
    pub(crate) fn next(packets: u32, mss: u16, reports: &[Report]) -> BurstOrder {
        BurstOrder {
            packets,
            first_packets: packets.min(first_max(reports)),
            // After each run that was not measured, the other way to grow is tried.
            fills: failures_of(packets, reports) % 2 == 1,
            packet_bytes: packet_bytes(mss, reports),
        }
    }

    /// The receive window that a connection needs, in bytes.
    pub(crate) fn window(&self) -> u32 {
        (self.packets + PACKETS_AFTER + 1) * self.packet_bytes
    }

    /// The first window, in bytes.
    pub(super) fn first_window(&self) -> u32 {
        self.first_packets.min(self.packets) * self.packet_bytes
    }
}

/// The payload of the longest packet seen in a burst, or the MSS that is announced.
fn packet_bytes(mss: u16, reports: &[Report]) -> u32 {
    let seen = reports.iter().flat_map(|report| &report.burst);
    seen.map(|run| run.packet_bytes).max().unwrap_or(u32::from(mss))
}

/// The most packets for which a burst's first window opens: the server's initial window, if a run has
/// shown it. Otherwise twice the largest first flight so far.
fn first_max(reports: &[Report]) -> u32 {
    let runs = || reports.iter().flat_map(|report| &report.burst);
    let flights = |runs: &mut dyn Iterator<Item = &BurstRun>| {
        runs.map(|run| run.first_flight + if run.flights_before == 0 { run.lost } else { 0 }).max()
    };
    let is_short = |run: &&BurstRun| run.flights_before > 0 && run.first_flight < run.first_window;
    match flights(&mut runs().filter(is_short)) {
        Some(initial_window) => initial_window.max(1),
        None => FIRST_PACKETS.max(2 * flights(&mut runs()).unwrap_or(0)),
    }
}

/// Runs with bursts of this size that were not measured.
fn failures_of(packets: u32, reports: &[Report]) -> usize {
    let of_size = reports.iter().filter(|report| report.packets_asked == Some(packets));
    of_size.filter(|report| report.ending != Ending::Measured).count()
}
