//! Fast retransmit and limited transmit.

use super::*;
use crate::bed::{AT_ONCE, Bed, EventKind, Fate, Traffic};
use crate::case::{Case, Fault, demand};
use windlass_base::Span;

/// Shorter than any RTO of the path, longer than a round trip.
const SOON: Span = Span::from_millis(110);

pub(super) const THIRD: Case = Case {
    name: "fast-retransmit-on-the-third-duplicate",
    clause: clause("3.2", Level::Should),
    demanded: "the third duplicate acknowledgment, which is the last here, brings the missing segment again",
    program: |_, bed| {
        bed.grow_and_drain(8)?;
        bed.lose(&[0]);
        bed.pass_acks(3);
        let flight = bed.write_segments(8);
        bed.run_for(SOON);
        let copies = bed.copies_since(flight.at, flight.base);
        let all = bed.resent_since(flight.at).count();
        bed.expect("copies of the missing segment", copies.len() as f64, 1.0..=1.0)?;
        bed.expect("retransmissions", all as f64, 1.0..=1.0)?;
        let third = bed.wire().events().iter().rev().find(|event| event.kind == EventKind::Arrived);
        let Some(third) = third.map(|event| event.at) else { return Ok(()) };
        demand!(copies[0] >= third, "it came before the third duplicate");
        let late = copies[0].saturating_since(third).as_secs_f64();
        bed.expect("seconds after the third duplicate", late, 0.0..=AT_ONCE.as_secs_f64())
    },
    ..CASE
};

pub(super) const SECOND: Case = Case {
    name: "no-fast-retransmit-on-the-second-duplicate",
    clause: clause("3.2", Level::Rule),
    demanded: "two duplicate acknowledgments bring no retransmission before the timer expires",
    program: |_, bed| {
        bed.grow_and_drain(8)?;
        bed.lose(&[0]);
        bed.pass_acks(2);
        let flight = bed.write_segments(8);
        bed.run_for(SOON);
        let copies = bed.resent_since(flight.at).count();
        bed.expect("retransmissions", copies as f64, 0.0..=0.0)
    },
    ..CASE
};

pub(super) const REORDERED: Case = Case {
    name: "reordering-by-two-costs-nothing",
    clause: clause("3.2", Level::Rule),
    concerns: WINDOWS,
    demanded: "a segment overtaken by two is not sent again, and the window stays",
    program: |_, bed| {
        bed.grow_and_drain(16)?;
        // Two and a half packets of time.
        bed.next_data(1, Fate::Late(Span::from_micros(1500)));
        let flight = bed.write_segments(16);
        bed.run_for(SOON);
        let copies = bed.resent_since(flight.at).count();
        bed.expect("retransmissions", copies as f64, 0.0..=0.0)?;
        bed.drain()?;
        bed.traffic = Traffic::Bulk;
        let after = bed.largest_flight(Span::from_millis(40));
        bed.expect("segments in flight afterwards", after, 16.0..=1000.0)
    },
    ..CASE
};

/// Loses a segment of bulk data; returns how many segments the first two duplicate ACKs of it release.
pub(crate) fn released_by_duplicates(bed: &mut Bed) -> Result<f64, Fault> {
    bed.fill(20)?;
    bed.lose(&[0]);
    let point = bed.wire().sent();
    let first = bed.await_resent()?;
    demand!(bed.wire().offset(first.packet.segment.seq) == point, "another segment was resent");
    let events = bed.wire().events();
    let begins = events.iter().position(|event| {
        event.kind == EventKind::Arrived && bed.wire().offset(event.packet.segment.ack) == point
    });
    let ends = events.iter().position(|event| *event == first);
    let between = &events[begins.unwrap_or(0)..ends.unwrap_or(events.len())];
    // The ACK that is repeated, then its duplicates.
    let mut released = vec![0_u32];
    for event in between {
        match event.kind {
            EventKind::Arrived => released.push(0),
            _ => *released.last_mut().unwrap_or(&mut 0) += 1,
        }
    }
    demand!(released.len() >= 4, "{} duplicates", released.len() as i64 - 2);
    Ok(f64::from(released[2] + released[3]))
}

pub(super) const LIMITED_TRANSMIT: Case = Case {
    name: "limited-transmit",
    clause: Clause { document: "RFC 3042", section: "2", level: Level::Should },
    concerns: WINDOWS,
    traffic: Traffic::Bulk,
    demanded: "the first two duplicate acknowledgments each release a segment of new data",
    program: |_, bed| {
        let released = released_by_duplicates(bed)?;
        bed.expect("segments for the first two duplicates", released, 2.0..=2.0)
    },
    ..CASE
};
