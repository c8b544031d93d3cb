//! Which acknowledgments count as duplicates.

use super::*;
use crate::bed::{AT_ONCE, Bed, Burst, Traffic};
use crate::case::Fault;
use crate::suites::rfc5681;
use windlass_base::Span;

/// The receiver gets a flight and says nothing.
fn silent_flight(bed: &mut Bed) -> Result<Burst, Fault> {
    bed.grow_and_drain(8)?;
    bed.pass_acks(0);
    let flight = bed.write_segments(8);
    bed.run_for(Span::from_millis(60));
    Ok(flight)
}

pub(super) const WITHOUT_NEWS: Case = Case {
    name: "acks-without-news-are-no-duplicates",
    clause: clause("2", Level::Rule),
    demanded: "acknowledgments that repeat the number and report nothing by SACK bring no fast retransmit",
    program: |_, bed| {
        let flight = silent_flight(bed)?;
        for _ in 0..4 {
            bed.acknowledge(flight.base, &[]);
        }
        let one = [(flight.offset(1), flight.offset(2))];
        for _ in 0..4 {
            bed.acknowledge(flight.base, &one);
        }
        bed.run_for(AT_ONCE);
        let copies = bed.resent_since(flight.at).count();
        bed.expect("retransmissions", copies as f64, 0.0..=0.0)
    },
    ..BY_SACK
};

pub(super) const WINDOW_CHANGES: Case = Case {
    name: "window-changes-hide-no-duplicates",
    clause: clause("2", Level::Rule),
    demanded: "acknowledgments with news by SACK count, also where the receiver's window changes",
    program: |_, bed| {
        let flight = silent_flight(bed)?;
        for reported in 1..=3 {
            let range = [(flight.offset(1), flight.offset(1 + reported))];
            let Some(mut packet) = bed.ack_packet(flight.base, &range) else { return Ok(()) };
            packet.segment.window += reported as u16;
            bed.inject(packet);
        }
        bed.run_for(AT_ONCE);
        let copies = bed.copies_since(flight.at, flight.base).len();
        bed.expect("copies of the missing segment", copies as f64, 1.0..=1.0)
    },
    ..BY_SACK
};

pub(super) const LIMITED_TRANSMIT: Case = Case {
    name: "limited-transmit-with-sack",
    clause: clause("5", Level::Should),
    concerns: WINDOWS,
    traffic: Traffic::Bulk,
    demanded: "each of the first two acknowledgments with news by SACK releases a segment of new data",
    program: |_, bed| {
        let released = rfc5681::released_by_duplicates(bed)?;
        bed.expect("segments for the first two duplicates", released, 2.0..=2.0)
    },
    ..BY_SACK
};
