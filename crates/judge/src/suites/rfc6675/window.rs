//! The window in a recovery and after it.

use super::*;
use crate::bed::{EventKind, Traffic};
use crate::case::Concerns;
use windlass_base::Span;

pub(super) const PIPE: Case = Case {
    name: "the-pipe-stays-within-half-the-flight",
    clause: clause("5", Level::Must),
    concerns: RENO,
    traffic: Traffic::Bulk,
    demanded: "after the first retransmission nothing is sent that would make the pipe larger than half the flight",
    program: |_, bed| {
        bed.fill(30)?;
        bed.lose(&[0]);
        let first = bed.await_resent()?;
        let (point, segment) = (bed.wire().sent(), bed.wire().segment() as f64);
        let seen = bed.wire().events().len();
        bed.await_sent("no end of the repair", |bed| bed.wire().acked() >= point)?;
        // With one loss, which was sent again, the pipe is all that SACK has not reported.
        let sent = bed.wire().events()[seen..].iter().filter(|event| event.kind == EventKind::Sent);
        let largest = sent.map(|event| event.unsacked as f64 / segment).fold(0.0, f64::max);
        let half = first.flight as f64 / segment / 2.0;
        bed.expect("segments in the pipe after one was sent", largest, 1.0..=half + 1.0)
    },
    ..BY_SACK
};

pub(super) const HALVES: Case = Case {
    name: "recovery-halves-the-flight",
    clause: clause("5", Level::Must),
    concerns: RENO,
    traffic: Traffic::Bulk,
    demanded: "a recovery ends with half the flight that was outstanding when it began",
    program: |_, bed| {
        bed.fill(30)?;
        bed.lose(&[0, 5]);
        let repaired = bed.through_repair()?;
        let half = repaired.before / 2.0;
        bed.expect("segments in flight after it", repaired.after, half - 2.5..=half + 1.0)
    },
    ..BY_SACK
};

pub(super) const ONCE: Case = Case {
    name: "losses-of-one-window-reduce-once",
    clause: clause("5", Level::Rule),
    // Tahoe restarts from one segment, whatever the flight.
    concerns: Concerns::Except(&["bbr", "bbr3", "none", "tahoe"]),
    traffic: Traffic::Bulk,
    demanded: "six losses in a window leave as much of it as one does",
    program: |_, bed| {
        bed.fill(20)?;
        bed.lose(&[0]);
        let one = bed.through_repair()?;
        bed.fill(20)?;
        bed.round()?;
        bed.lose(&[0, 2, 4, 9, 12, 15]);
        let six = bed.through_repair()?;
        let ratio = six.ratio() / one.ratio();
        bed.expect("what six losses leave, by what one leaves", ratio, 0.8..=1.25)
    },
    ..BY_SACK
};

pub(super) const LOST: Case = Case {
    name: "lost-segments-leave-the-pipe",
    clause: clause("4", Level::Rule),
    concerns: RENO,
    traffic: Traffic::Bulk,
    demanded: "segments that count as lost make room in the pipe, and their retransmissions take it",
    program: |_, bed| {
        bed.fill(30)?;
        bed.lose(&[0]);
        bed.through_repair()?;
        // In congestion avoidance, where the flight hardly changes.
        bed.fill(30)?;
        let lost = (0.6 * bed.segments_in_flight()).floor();
        bed.lose_segments(lost as u32);
        let first = bed.await_resent()?;
        bed.run_for(Span::from_millis(2));
        let at_once = bed.resent_since(first.at).count() as f64;
        let (flight, unsacked) = (first.flight, first.unsacked);
        let segment = bed.wire().segment() as f64;
        let room = flight as f64 / segment / 2.0 - (unsacked as f64 / segment - lost);
        bed.expect("retransmissions at once", at_once, room - 3.0..=room + 4.0)
    },
    ..BY_SACK
};
