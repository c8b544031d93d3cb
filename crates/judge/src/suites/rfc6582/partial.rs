//! Partial acknowledgments, and the end of a recovery.

use super::*;
use crate::bed::{AT_ONCE, Bed, Event, EventKind, Path, Traffic};
use crate::case::{Case, Concerns, Fault, demand};
use windlass_base::{Span, Time};

/// Reno, Tahoe and New-ECN have repairs of their own without SACK.
const NEWRENO: Concerns = Concerns::Except(&["reno", "tahoe", "new-ecn"]);
/// Of the others, those whose window shrinks after a loss.
const NEWRENO_WINDOWS: Concerns =
    Concerns::Except(&["reno", "tahoe", "new-ecn", "bbr", "bbr3", "none"]);

/// The offsets of all retransmissions since then, in segments of this flight.
fn resent(bed: &Bed, since: Time, base: u64) -> Vec<f64> {
    let segment = bed.wire().segment() as f64;
    let offset = |event: Event| bed.wire().offset(event.packet.segment.seq) as f64 - base as f64;
    bed.resent_since(since).map(|event| offset(event) / segment).collect()
}

pub(super) const NEXT_HOLE: Case = Case {
    name: "a-partial-ack-brings-the-next-hole",
    clause: clause("3.2", Level::Rule),
    concerns: NEWRENO,
    demanded: "each partial acknowledgment brings the retransmission of the next missing segment, and of no other",
    program: |_, bed| {
        bed.grow_and_drain(16)?;
        bed.lose(&[0, 4, 8]);
        let flight = bed.write_segments(16);
        bed.drain()?;
        let resent = resent(bed, flight.at, flight.base);
        demand!(resent == [0.0, 4.0, 8.0], "the segments {resent:?} of the flight were sent again");
        // Four round trips, of which none waits for a timer.
        let seconds = bed.seconds_since(flight.at);
        bed.expect("seconds to the end of the repair", seconds, 0.2..=0.26)
    },
    ..CASE
};

/// The segments that a window has room for leave within this time. Those of a pacer take longer.
const BURST: Span = Span::from_millis(3);

/// The packets sent in response to the first ACK that covers more than `from`.
fn answers(bed: &Bed, from: u64) -> Vec<EventKind> {
    let wire = bed.wire();
    let mut events = wire.events().iter().skip_while(|event| {
        event.kind != EventKind::Arrived || wire.offset(event.packet.segment.ack) <= from
    });
    let Some(ack) = events.next() else { return Vec::new() };
    let answers = events.take_while(|event| {
        event.kind != EventKind::Arrived && event.at.saturating_since(ack.at) <= BURST
    });
    answers.map(|event| event.kind).collect()
}

/// Bulk data of which one segment and the twelfth after it are lost, until the second one is sent again. Returns the
/// offset of the first one.
fn two_losses(bed: &mut Bed) -> Result<u64, Fault> {
    bed.traffic = Traffic::Bulk;
    bed.fill(30)?;
    bed.lose(&[0, 12]);
    let base = bed.wire().sent();
    bed.await_that("no partial acknowledgment", |bed| bed.wire().acked() > base)?;
    bed.run_for(AT_ONCE);
    Ok(base)
}

pub(super) const DEFLATES: Case = Case {
    name: "a-partial-ack-deflates-the-window",
    clause: clause("3.2", Level::Rule),
    concerns: NEWRENO_WINDOWS,
    demanded: "the window shrinks by what a partial acknowledgment covers, which releases a retransmission and a segment",
    program: |_, bed| {
        let base = two_losses(bed)?;
        let answers = answers(bed, base);
        let again = answers.iter().filter(|kind| **kind == EventKind::Resent).count();
        bed.expect("retransmissions for a partial ACK", again as f64, 1.0..=1.0)?;
        let new = answers.len() - again;
        bed.expect("new segments for a partial ACK of twelve", new as f64, 0.0..=3.0)
    },
    ..CASE
};

pub(super) const FLOWS: Case = Case {
    name: "partial-acks-keep-data-flowing",
    clause: clause("3.2", Level::Rule),
    concerns: NEWRENO_WINDOWS,
    demanded: "new data is sent while the second segment of a window is repaired",
    program: |_, bed| {
        let base = two_losses(bed)?;
        let (sent, second) = (bed.wire().sent(), base + 12 * bed.wire().segment());
        bed.await_that("no end of the repair", |bed| bed.wire().acked() > second)?;
        let new = (bed.wire().sent() - sent) as f64 / bed.wire().segment() as f64;
        bed.expect("new segments between a partial ACK and the next", new, 3.0..=1000.0)
    },
    ..CASE
};

pub(super) const ONCE: Case = Case {
    name: "losses-of-one-window-reduce-once",
    clause: clause("3.2", Level::Rule),
    concerns: NEWRENO_WINDOWS,
    traffic: Traffic::Bulk,
    demanded: "three losses in a window leave as much of it as one does",
    program: |_, bed| {
        bed.fill(20)?;
        bed.lose(&[0]);
        let one = bed.through_repair()?;
        bed.fill(20)?;
        bed.round()?;
        bed.lose(&[0, 2, 4]);
        let three = bed.through_repair()?;
        let ratio = three.ratio() / one.ratio();
        bed.expect("what three losses leave, by what one leaves", ratio, 0.8..=1.25)
    },
    ..CASE
};

pub(super) const SSTHRESH: Case = Case {
    name: "recovery-ends-with-ssthresh",
    clause: clause("3.2", Level::Rule),
    concerns: Concerns::Controllers(&["newreno"]),
    traffic: Traffic::Bulk,
    demanded: "the full acknowledgment leaves half the flight at most",
    program: |_, bed| {
        bed.fill(30)?;
        bed.lose(&[0, 3]);
        let repaired = bed.through_repair()?;
        let most = repaired.before / 2.0 + 1.0;
        bed.expect("segments in flight after it", repaired.after, 1.0..=most)
    },
    ..CASE
};

pub(super) const TIMER: Case = Case {
    name: "the-first-partial-ack-restarts-the-timer",
    clause: clause("3.2", Level::Rule),
    concerns: NEWRENO,
    path: Path { rtt_ms: 250, ..LINK },
    demanded: "a second loss of the window is repaired before the timer that the first one started would expire",
    program: |_, bed| {
        bed.grow_and_drain(12)?;
        bed.lose(&[0, 6]);
        let flight = bed.write_segments(12);
        bed.drain()?;
        bed.run_for(Span::from_secs(1));
        let resent = resent(bed, flight.at, flight.base);
        demand!(resent == [0.0, 6.0], "the segments {resent:?} of the flight were sent again");
        Ok(())
    },
    ..CASE
};
