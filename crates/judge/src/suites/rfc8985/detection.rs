//! Losses found by time.

use super::*;
use crate::bed::EventKind;
use crate::case::demand;

/// Sends a flight whose first segment is lost, and of whose ACKs so many arrive. Returns the seconds from the last
/// ACK to the retransmission.
fn seconds_to_detection(bed: &mut Bed, segments: u64, acks: u32) -> Result<f64, Fault> {
    bed.grow_and_drain(segments)?;
    bed.lose(&[0]);
    bed.pass_acks(acks);
    let flight = bed.write_segments(segments);
    let copy = bed.await_resent()?;
    demand!(
        bed.wire().offset(copy.packet.segment.seq) == flight.base,
        "it sends another one again"
    );
    let acks = bed.wire().events().iter().rev().find(|event| event.kind == EventKind::Arrived);
    let last = acks.map_or(flight.at, |event| event.at);
    demand!(copy.at >= last, "it is sent again before the last acknowledgment");
    Ok(copy.at.saturating_since(last).as_secs_f64())
}

pub(super) const BY_TIME: Case = Case {
    name: "one-later-segment-shows-a-loss-in-time",
    clause: clause("6.2", Level::Must),
    demanded: "a segment is lost when one sent later has arrived and a quarter of the RTT has passed",
    program: |_, bed| {
        let seconds = seconds_to_detection(bed, 2, 1)?;
        bed.expect("seconds from the only ACK to the retransmission", seconds, 0.005..=0.03)
    },
    ..RACK
};

pub(super) const LITTLE_LATE: Case = Case {
    name: "a-segment-that-is-little-late-is-not-lost",
    clause: clause("6.2", Level::Must),
    demanded: "a segment overtaken by two, which arrives within a quarter of the RTT, is not sent again",
    program: |_, bed| show_reordering(bed),
    ..RACK
};

pub(super) const DUP_THRESH: Case = Case {
    name: "three-sacked-segments-show-a-loss-at-once",
    clause: clause("6.2", Level::Rule),
    demanded: "without reordering so far three segments reported by SACK show a loss without any waiting",
    program: |_, bed| {
        let seconds = seconds_to_detection(bed, 8, 3)?;
        bed.expect("seconds from the third ACK to the retransmission", seconds, 0.0..=0.006)
    },
    ..RACK
};
