//! The order of transmissions in a recovery.

use super::*;
use crate::bed::{Bed, EventKind, Fate, Traffic};
use crate::case::{Concerns, demand};
use windlass_base::{Span, Time};

const LIMITED: Concerns = Concerns::Except(&["none"]);

/// The offsets of all retransmissions since then, in segments from `base` on.
fn resent(bed: &Bed, since: Time, base: u64) -> Vec<f64> {
    let segment = bed.wire().segment() as f64;
    let offsets = bed.resent_since(since).map(|event| bed.wire().offset(event.packet.segment.seq));
    offsets.map(|offset| (offset as f64 - base as f64) / segment).collect()
}

pub(super) const HOLES: Case = Case {
    name: "each-hole-goes-out-once-and-in-order",
    clause: clause("4", Level::Rule),
    concerns: LIMITED,
    setup: BULK,
    traffic: Traffic::Bulk,
    demanded: "the missing segments go out again from the lowest to the highest, and what SACK has reported does not",
    program: |_, bed| {
        bed.fill(30)?;
        let (base, begin) = (bed.wire().sent(), bed.now);
        bed.lose(&[0, 3, 7, 8, 15]);
        bed.through_repair()?;
        let resent = resent(bed, begin, base);
        let in_order = resent == [0.0, 3.0, 7.0, 8.0, 15.0];
        demand!(in_order, "the segments {resent:?} of the flight were sent again");
        Ok(())
    },
    ..BY_SACK
};

pub(super) const LOST_FIRST: Case = Case {
    name: "lost-segments-come-before-new-data",
    clause: clause("4", Level::Rule),
    concerns: LIMITED,
    setup: BULK,
    traffic: Traffic::Bulk,
    demanded: "no new data leaves in a recovery before all segments that count as lost have",
    program: |_, bed| {
        bed.fill(30)?;
        bed.lose(&[0, 1, 2, 3]);
        let resent = bed.wire().resent();
        let first = bed.await_resent()?;
        bed.await_sent("no four retransmissions", |bed| bed.wire().resent() >= resent + 4)?;
        let events = bed.wire().events();
        let begins = events.iter().position(|event| *event == first).unwrap_or(0);
        let ends = events.iter().rposition(|event| event.kind == EventKind::Resent).unwrap_or(0);
        let new = events[begins..ends].iter().filter(|event| event.kind == EventKind::Sent);
        let new = new.count();
        bed.expect("new segments between four lost ones", new as f64, 0.0..=0.0)
    },
    ..BY_SACK
};

/// Loses the first segment of twelve once, and the last two `copies` times.
fn lose_a_tail(bed: &mut Bed, copies: u32) {
    let (base, segment) = (bed.wire().sent(), bed.wire().segment());
    let (first, tail) = (bed.wire().seq(base), bed.wire().seq(base + 10 * segment));
    let mut left = copies;
    bed.on_data(move |packet, again| {
        let seq = packet.segment.seq;
        let is_tail = !seq.is_before(tail);
        let lost = (seq == first && !again) || (is_tail && (!again || left > 0));
        left -= u32::from(is_tail && again && left > 0);
        if lost { Fate::Drop } else { Fate::Pass }
    });
}

pub(super) const RESCUE: Case = Case {
    name: "a-lost-tail-is-rescued",
    clause: clause("4", Level::Should),
    // The one segment of Tahoe's window has no room for it.
    concerns: Concerns::Except(&["tahoe"]),
    demanded: "the last segment goes out again once in a recovery, so that a lost tail is repaired without a timeout",
    program: |_, bed| {
        bed.grow_and_drain(12)?;
        lose_a_tail(bed, 0);
        let flight = bed.write_segments(12);
        bed.drain()?;
        let seconds = bed.seconds_since(flight.at);
        bed.expect("seconds to the end of the repair", seconds, 0.1..=0.24)?;
        let rescued = bed.copies_since(flight.at, flight.offset(11)).len();
        bed.expect("copies of the last segment", rescued as f64, 1.0..=1.0)
    },
    ..BY_SACK
};

pub(super) const ONE_RESCUE: Case = Case {
    name: "one-rescue-in-a-recovery",
    clause: clause("4", Level::Rule),
    demanded: "a rescue retransmission that is lost is not followed by another one in the recovery",
    program: |_, bed| {
        bed.grow_and_drain(12)?;
        lose_a_tail(bed, 100);
        let flight = bed.write_segments(12);
        // The repair of the first segment restarts the timer after two round trips.
        bed.run_for(Span::from_millis(240));
        let all = bed.resent_since(flight.at).count();
        bed.expect("retransmissions, of the first segment and a rescue", all as f64, 1.0..=2.0)
    },
    ..BY_SACK
};
