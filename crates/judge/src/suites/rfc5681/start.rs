//! The initial window and slow start.

use super::*;
use crate::bed::{Bed, EventKind, Fate, MSS, Traffic};
use crate::case::{Case, Concerns, Fault, demand};
use windlass_base::Span;

/// Segments and bytes of the initial window of RFC 6928.
const INITIAL: u64 = 10;
const INITIAL_BYTES: u64 = 14_600;

/// Runs until the next ACK of new data; returns the bytes in flight before it, which are all that was sent.
pub(super) fn before_the_first_ack(bed: &mut Bed) -> Result<f64, Fault> {
    let (acked, mut flight) = (bed.wire().acked(), 0.0);
    bed.await_that("no acknowledgment", |bed| {
        let waits = bed.wire().acked() <= acked;
        if waits {
            flight = bed.flight();
        }
        !waits
    })?;
    Ok(flight)
}

pub(super) const INITIAL_WINDOW: Case = Case {
    name: "initial-window",
    clause: Clause { document: "RFC 6928", section: "2", level: Level::Must },
    concerns: Concerns::Except(&["none"]),
    traffic: Traffic::Bulk,
    demanded: "not more than ten segments before the first acknowledgment, of 14,600 bytes or two",
    program: |_, bed| {
        let sent = before_the_first_ack(bed)?;
        let segment = bed.wire().segment();
        let most = (INITIAL * segment).min(INITIAL_BYTES.max(2 * segment));
        bed.expect("bytes before the first ACK", sent, 1.0..=most as f64)
    },
    ..CASE
};

pub(super) const LOST_SYN_ACK: Case = Case {
    name: "initial-window-after-a-lost-syn-ack",
    clause: clause("3.1", Level::Must),
    concerns: Concerns::Except(&["none"]),
    traffic: Traffic::Bulk,
    demanded: "one segment before the first acknowledgment if the SYN or its acknowledgment was lost",
    program: |_, bed| {
        let mut first = true;
        bed.on_acks(move |_| if core::mem::take(&mut first) { Fate::Drop } else { Fate::Pass });
        let sent = before_the_first_ack(bed)?;
        let segment = bed.wire().segment() as f64;
        bed.expect("bytes before the first ACK", sent, 1.0..=segment)
    },
    ..CASE
};

/// The largest FlightSize of one round trip after the other, in segments.
fn flights(bed: &mut Bed, rounds: usize) -> Result<Vec<f64>, Fault> {
    bed.await_sent("no data", |bed| bed.wire().sent() > 0)?;
    let mut flights = Vec::new();
    for _ in 0..rounds {
        let (target, mut largest) = (bed.wire().sent(), 0.0_f64);
        bed.await_that("no acknowledgment", |bed| {
            largest = largest.max(bed.segments_in_flight());
            bed.wire().acked() >= target
        })?;
        flights.push(largest);
    }
    Ok(flights)
}

pub(super) const DOUBLES_EACH_ROUND: Case = Case {
    name: "slow-start-doubles",
    clause: clause("3.1", Level::Should),
    concerns: DOUBLES,
    traffic: Traffic::Bulk,
    demanded: "each segment acknowledged adds one, so that the window doubles in a round trip",
    program: |_, bed| {
        let flights = flights(bed, 4)?;
        for pair in flights.windows(2) {
            let (least, most) = (1.8 * pair[0], 2.0 * pair[0] + 2.0);
            bed.expect("segments in flight a round trip later", pair[1], least..=most)?;
        }
        Ok(())
    },
    ..CASE
};

pub(super) const AT_MOST_DOUBLES: Case = Case {
    name: "slow-start-at-most-doubles",
    clause: clause("3.1", Level::Rule),
    concerns: WINDOWS,
    traffic: Traffic::Bulk,
    demanded: "an acknowledgment of a segment adds a segment at most",
    program: |_, bed| {
        let flights = flights(bed, 4)?;
        for pair in flights.windows(2) {
            let most = 2.0 * pair[0] + 2.0;
            bed.expect("segments in flight a round trip later", pair[1], 0.0..=most)?;
        }
        Ok(())
    },
    ..CASE
};

pub(super) const STRETCH_ACK: Case = Case {
    name: "slow-start-counts-an-ack-as-one-segment",
    clause: clause("3.1", Level::Rule),
    concerns: WINDOWS,
    traffic: Traffic::Bulk,
    demanded: "an acknowledgment adds a segment at most, however many it covers (two by RFC 3465)",
    program: |_, bed| {
        bed.await_sent("no data", |bed| bed.wire().sent() > 0)?;
        bed.run_for(Span::from_millis(10));
        let (initial, sent) = (bed.segments_in_flight(), bed.wire().sent());
        let all = bed.wire().seq(sent);
        bed.on_acks(
            move |ack| if ack.segment.ack.is_before(all) { Fate::Drop } else { Fate::Pass },
        );
        bed.await_that("no acknowledgment", |bed| bed.wire().acked() >= sent)?;
        bed.run_for(crate::bed::AT_ONCE);
        let after = bed.segments_in_flight();
        bed.expect("segments in flight after one ACK of all", after, 1.0..=initial + 2.0)
    },
    ..CASE
};

pub(super) const ACK_DIVISION: Case = Case {
    name: "ack-division-in-slow-start",
    clause: clause("3.1", Level::Should),
    concerns: WINDOWS,
    traffic: Traffic::Bulk,
    demanded: "four acknowledgments of a quarter of a segment add as much as one of all of it",
    program: |_, bed| {
        bed.await_sent("no data", |bed| bed.wire().sent() > 0)?;
        bed.run_for(Span::from_millis(10));
        bed.pass_acks(0);
        bed.run_for(Span::from_millis(50));
        let (initial, segment) = (bed.segments_in_flight(), bed.wire().segment());
        demand!(initial >= 1.0, "nothing in flight");
        for quarter in 1..=4 * initial as u64 {
            bed.acknowledge(quarter * segment / 4, &[]);
        }
        bed.run_for(crate::bed::AT_ONCE);
        let after = bed.segments_in_flight();
        bed.expect("segments in flight after divided ACKs", after, 1.0..=2.0 * initial + 1.0)
    },
    ..CASE
};

/// A segment that leaves no room for its options does not fit into a packet.
pub(super) const OPTIONS: Case = Case {
    name: "options-leave-less-room-for-data",
    clause: Clause { document: "RFC 9293", section: "3.7.1", level: Level::Must },
    demanded: "data and options of a segment are not more than the receiver's MSS, so that all data arrives",
    program: |_, bed| {
        let bytes = 40_000;
        bed.write(bytes);
        bed.run_for(Span::from_secs(5));
        bed.expect("bytes acknowledged", bed.delivered(), bytes as f64..=bytes as f64)?;
        let sizes = bed.wire().events().iter().filter(|event| event.kind == EventKind::Sent);
        let sizes = sizes.map(|event| {
            let segment = &event.packet.segment;
            segment.payload_len as usize + segment.options.wire_len()
        });
        let most = sizes.max().unwrap_or(0);
        bed.expect("bytes of data and options in a segment", most as f64, 1.0..=f64::from(MSS))
    },
    ..CASE
};
