//! Acknowledgments that look like duplicates and are none.

use super::*;
use crate::bed::{Bed, Burst};
use crate::case::{Case, Fault, Verdict, demand};
use windlass_base::Span;

/// The receiver gets a flight and says nothing.
fn silent_flight(bed: &mut Bed) -> Result<Burst, Fault> {
    bed.grow_and_drain(8)?;
    bed.pass_acks(0);
    let flight = bed.write_segments(8);
    bed.run_for(Span::from_millis(60));
    Ok(flight)
}

fn expect_no_retransmission(bed: &mut Bed, flight: &Burst) -> Verdict {
    bed.run_for(Span::from_millis(60));
    let copies = bed.resent_since(flight.at).count();
    bed.expect("retransmissions", copies as f64, 0.0..=0.0)
}

pub(super) const OLD: Case = Case {
    name: "old-acks-are-no-duplicates",
    clause: clause("2", Level::Rule),
    demanded: "acknowledgments below the greatest one bring no fast retransmit",
    program: |_, bed| {
        let flight = silent_flight(bed)?;
        bed.acknowledge(flight.offset(4), &[]);
        for _ in 0..4 {
            bed.acknowledge(flight.offset(2), &[]);
        }
        expect_no_retransmission(bed, &flight)
    },
    ..CASE
};

pub(super) const WITH_DATA: Case = Case {
    name: "acks-with-data-are-no-duplicates",
    clause: clause("2", Level::Rule),
    demanded: "segments with data that repeat an acknowledgment bring no fast retransmit",
    program: |_, bed| {
        let flight = silent_flight(bed)?;
        let Some(mut packet) = bed.ack_packet(flight.base, &[]) else { return Ok(()) };
        for _ in 0..4 {
            packet.segment.payload_len = 1;
            bed.inject(packet);
            packet.segment.seq = packet.segment.seq.at(1);
        }
        expect_no_retransmission(bed, &flight)
    },
    ..CASE
};

pub(super) const WINDOW_UPDATES: Case = Case {
    name: "window-updates-are-no-duplicates",
    clause: clause("2", Level::Rule),
    demanded: "acknowledgments that repeat the number with a larger window bring no fast retransmit",
    program: |_, bed| {
        let flight = silent_flight(bed)?;
        let Some(mut packet) = bed.ack_packet(flight.base, &[]) else { return Ok(()) };
        demand!(packet.segment.window < u16::MAX - 4, "the window has no room to grow");
        for _ in 0..4 {
            packet.segment.window += 1;
            bed.inject(packet);
        }
        expect_no_retransmission(bed, &flight)
    },
    ..CASE
};

pub(super) const NOTHING_OUTSTANDING: Case = Case {
    name: "acks-of-nothing-outstanding-are-no-duplicates",
    clause: clause("2", Level::Rule),
    demanded: "acknowledgments repeated while nothing is in flight have no effect on the next flight",
    program: |_, bed| {
        bed.grow_and_drain(8)?;
        let acked = bed.wire().acked();
        for _ in 0..4 {
            bed.acknowledge(acked, &[]);
        }
        let flight = bed.write_segments(8);
        bed.run_for(crate::bed::AT_ONCE);
        let sent = bed.segments_in_flight();
        bed.expect("segments in flight", sent, 8.0..=8.0)?;
        expect_no_retransmission(bed, &flight)
    },
    ..CASE
};
