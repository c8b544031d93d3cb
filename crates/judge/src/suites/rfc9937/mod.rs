//! Proportional rate reduction (RFC 9937).

mod bounds;
mod end;
mod proportion;

use super::suite;
#[cfg(test)]
use super::transport::tests;
use super::transport::{CASE, RENO};
use crate::bed::{Bed, EventKind, Traffic};
use crate::case::{Case, Clause, Concerns, Fault, Level};
use crate::subject::{Repair, Setup};

const fn clause(section: &'static str, level: Level) -> Clause {
    Clause { document: "RFC 9937", section, level }
}

/// The algorithm is for reductions of a window at once. The controllers left out have their own: by a model, by pacing,
/// to one segment, or none.
const REDUCES_AT_ONCE: Concerns = Concerns::Except(&["bbr", "bbr3", "prague", "tahoe", "none"]);

const PRR: Setup = Setup { repair: Repair::Prr, receive_buffer: 1 << 18, ..Setup::DEFAULT };

/// The fields in which most cases agree.
const BY_PRR: Case = Case {
    clause: clause("6", Level::Rule),
    concerns: REDUCES_AT_ONCE,
    setup: PRR,
    traffic: Traffic::Bulk,
    ..CASE
};

suite!("rfc9937", "Proportional rate reduction", include_str!("coverage.toml"), tests::engines(), {
    the_first_retransmission_leaves_at_once: proportion::AT_ONCE,
    a_reduction_sends_in_proportion: proportion::ONE_LOSS,
    lost_acks_change_no_proportion: proportion::LOST_ACKS,
    heavy_losses_bring_no_burst: bounds::NO_BURST,
    without_progress_no_more_is_sent_than_arrives: bounds::CONSERVATIVE,
    with_progress_the_flight_grows_to_ssthresh: bounds::SLOW_START,
    recovery_ends_at_ssthresh: end::SSTHRESH,
    heavy_losses_end_at_ssthresh_at_most: end::HEAVY,
    no_burst_at_the_end_of_recovery: end::NO_BURST,
});

/// An ACK of a recovery.
#[derive(Copy, Clone, Debug)]
struct Step {
    /// Segments that it acknowledges or reports for the first time.
    delivered: f64,
    /// Segments sent in response.
    sent: f64,
    /// It advances SND.UNA.
    advances: bool,
}

/// A recovery, step by step.
#[derive(Clone, Debug)]
struct Recovery {
    /// FlightSize at the first retransmission and right after the end, in segments.
    before: f64,
    after: f64,
    /// The first one brings the retransmission, the last one ends the recovery.
    steps: Vec<Step>,
}

/// Runs through the next recovery.
fn recover(bed: &mut Bed) -> Result<Recovery, Fault> {
    let segment = bed.wire().segment() as f64;
    let first = bed.await_resent()?;
    let point = bed.wire().sent();
    bed.await_that("no end of the recovery", |bed| bed.wire().acked() >= point)?;
    let after = bed.segments_in_flight();
    let events = bed.wire().events();
    let position = events.iter().position(|event| *event == first).unwrap_or(0);
    let trigger = events[..position].iter().rposition(|event| event.kind == EventKind::Arrived);
    let begin = trigger.unwrap_or(0).max(1);
    let mut steps: Vec<Step> = Vec::new();
    for pair in events[begin - 1..].windows(2) {
        let (before, event) = (&pair[0], &pair[1]);
        if event.kind == EventKind::Arrived {
            let delivered = (before.unsacked - event.unsacked) as f64 / segment;
            // Only new ACKs make FlightSize smaller.
            let advances = event.flight < before.flight;
            steps.push(Step { delivered, sent: 0.0, advances });
        } else if let Some(step) = steps.last_mut() {
            step.sent += f64::from(event.packet.segment.payload_len) / segment;
        }
    }
    Ok(Recovery { before: first.flight as f64 / segment, after, steps })
}

/// In congestion avoidance, where the flight hardly changes, loses seven tenths of one.
fn heavy(bed: &mut Bed) -> Result<Recovery, Fault> {
    bed.fill(30)?;
    bed.lose(&[0]);
    bed.through_repair()?;
    bed.fill(30)?;
    bed.lose_segments((0.7 * bed.segments_in_flight()) as u32);
    recover(bed)
}
