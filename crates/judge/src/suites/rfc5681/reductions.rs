//! Fast recovery, and what a loss leaves of the window.

use super::*;
use crate::bed::{Event, EventKind, Traffic};
use crate::case::{Case, Concerns};
use windlass_base::Span;

pub(super) const REDUCES: Case = Case {
    name: "a-loss-reduces-the-window",
    clause: clause("4.3", Level::Must),
    concerns: WINDOWS,
    traffic: Traffic::Bulk,
    demanded: "a loss lowers the window",
    program: |_, bed| {
        bed.fill(30)?;
        bed.lose(&[0]);
        let repaired = bed.through_repair()?;
        bed.expect("part of the flight that the loss leaves", repaired.ratio(), 0.0..=0.88)
    },
    ..CASE
};

pub(super) const HALVES: Case = Case {
    name: "a-loss-halves-the-window",
    clause: clause("3.2", Level::Must),
    concerns: RENO,
    traffic: Traffic::Bulk,
    demanded: "fast recovery ends with half the flight that was outstanding",
    program: |_, bed| {
        bed.fill(30)?;
        bed.lose(&[0]);
        let repaired = bed.through_repair()?;
        let half = repaired.before / 2.0;
        // Two segments of limited transmit do not count, and may be in the flight before.
        bed.expect("segments in flight after it", repaired.after, half - 2.5..=half + 1.0)
    },
    ..CASE
};

pub(super) const INFLATES: Case = Case {
    name: "duplicates-inflate-the-window",
    clause: clause("3.2", Level::Must),
    concerns: RENO,
    traffic: Traffic::Bulk,
    demanded: "in fast recovery each further duplicate acknowledgment lets one segment more be in flight",
    program: |_, bed| {
        bed.fill(30)?;
        bed.lose(&[0]);
        let first = bed.await_resent()?;
        let point = bed.wire().sent();
        bed.await_that("no end of the repair", |bed| bed.wire().acked() >= point)?;
        let events = bed.wire().events();
        let position = |kind: &dyn Fn(&Event) -> bool| events.iter().rposition(kind).unwrap_or(0);
        let begins = position(&|event| *event == first);
        // The last ACK is that of the repair.
        let ends = position(&|event| event.kind == EventKind::Arrived);
        let repair = &events[begins..ends];
        let of = |kind| repair.iter().filter(|event| event.kind == kind).count() as f64;
        let (new, duplicates) = (of(EventKind::Sent), of(EventKind::Arrived));
        let flight = first.flight as f64 / bed.wire().segment() as f64;
        // RFC 5681 section 3.2 steps 2 to 5: FlightSize without limited transmit, three duplicates before.
        let allowed = (flight - 2.0) / 2.0 + 3.0 + duplicates - flight;
        bed.expect("new segments in fast recovery", new, allowed - 2.0..=allowed + 2.0)
    },
    ..CASE
};

pub(super) const FLIGHT_SIZE: Case = Case {
    name: "ssthresh-follows-flightsize",
    clause: clause("3.1", Level::Must),
    concerns: RENO,
    demanded: "a loss leaves half the data in flight, not half of a window that was not used",
    program: |_, bed| {
        bed.grow_and_drain(40)?;
        bed.lose(&[0]);
        bed.write_segments(8);
        bed.await_resent()?;
        bed.drain()?;
        bed.traffic = Traffic::Bulk;
        let after = bed.largest_flight(Span::from_millis(40));
        bed.expect("segments in flight afterwards", after, 2.0..=5.0)?;
        bed.round()?;
        bed.round()?;
        let later = bed.segments_in_flight();
        bed.expect("segments in flight two round trips later", later, 3.0..=8.0)
    },
    ..CASE
};

pub(super) const TWO_WINDOWS: Case = Case {
    name: "losses-in-two-windows-reduce-twice",
    clause: clause("4.3", Level::Must),
    concerns: Concerns::Except(&["bbr", "bbr3", "none", "tahoe"]),
    traffic: Traffic::Bulk,
    demanded: "losses in two successive windows lower the window twice",
    program: |_, bed| {
        bed.fill(30)?;
        bed.lose(&[0]);
        let first = bed.through_repair()?;
        bed.lose(&[0]);
        let second = bed.through_repair()?;
        let ratio = second.after / first.after;
        bed.expect("part of the window that the second loss leaves", ratio, 0.0..=0.92)
    },
    ..CASE
};
