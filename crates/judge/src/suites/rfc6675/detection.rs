//! When a segment counts as lost.

use super::*;
use crate::bed::{AT_ONCE, Bed, Burst, Fate};
use crate::case::{Fault, Verdict};
use windlass_base::Span;

/// Shorter than any RTO of the path, longer than a round trip.
const SOON: Span = Span::from_millis(110);

/// Only the receiver's packet of this number passes, counted from 0.
fn pass_only(bed: &mut Bed, number: u32) {
    let mut count = 0;
    bed.on_acks(move |_| {
        count += 1;
        if count == number + 1 { Fate::Pass } else { Fate::Drop }
    });
}

fn expect_copies(bed: &mut Bed, flight: &Burst, first: f64) -> Verdict {
    let of_first = bed.copies_since(flight.at, flight.base).len() as f64;
    let all = bed.resent_since(flight.at).count() as f64;
    bed.expect("copies of the missing segment", of_first, first..=first)?;
    // A rescue of the last segment may follow.
    bed.expect("retransmissions", all, first..=2.0 * first)
}

/// Sends eight segments of which the first is lost, while the program of `acks` is in force.
fn flight_with_a_loss(bed: &mut Bed, acks: impl FnOnce(&mut Bed)) -> Result<Burst, Fault> {
    bed.grow_and_drain(8)?;
    bed.lose(&[0]);
    acks(bed);
    let flight = bed.write_segments(8);
    bed.run_for(SOON);
    Ok(flight)
}

/// Fails unless the retransmission came right after the last ACK that passed.
fn expect_at_once(bed: &mut Bed, flight: &Burst) -> Verdict {
    let copy = bed.copies_since(flight.at, flight.base).first().copied();
    let acks = bed
        .wire()
        .events()
        .iter()
        .rev()
        .find(|event| !event.packet.segment.options.sack.is_empty());
    let (Some(copy), Some(ack)) = (copy, acks.map(|event| event.at)) else { return Ok(()) };
    let late = copy.as_nanos() as f64 / 1e9 - ack.as_nanos() as f64 / 1e9;
    bed.expect("seconds after the acknowledgment", late, 0.0..=AT_ONCE.as_secs_f64())
}

pub(crate) const THREE: Case = Case {
    name: "three-sacked-segments-show-a-loss",
    clause: clause("5", Level::Rule),
    demanded: "the third acknowledgment with news by SACK brings the missing segment again",
    program: |_, bed| {
        let flight = flight_with_a_loss(bed, |bed| bed.pass_acks(3))?;
        expect_copies(bed, &flight, 1.0)?;
        expect_at_once(bed, &flight)
    },
    ..BY_SACK
};

pub(super) const TWO: Case = Case {
    name: "two-sacked-segments-show-no-loss",
    clause: clause("5", Level::Rule),
    demanded: "two acknowledgments with news by SACK bring no retransmission",
    program: |_, bed| {
        let flight = flight_with_a_loss(bed, |bed| bed.pass_acks(2))?;
        expect_copies(bed, &flight, 0.0)
    },
    ..BY_SACK
};

pub(super) const BYTES: Case = Case {
    name: "one-ack-of-three-segments-shows-a-loss",
    clause: clause("4", Level::Rule),
    demanded: "one acknowledgment that reports three segments brings the missing segment again",
    program: |_, bed| {
        let flight = flight_with_a_loss(bed, |bed| pass_only(bed, 2))?;
        expect_copies(bed, &flight, 1.0)?;
        expect_at_once(bed, &flight)
    },
    ..BY_SACK
};

pub(super) const FEW_BYTES: Case = Case {
    name: "one-ack-of-two-segments-shows-no-loss",
    clause: clause("4", Level::Rule),
    demanded: "one acknowledgment that reports two segments brings no retransmission",
    program: |_, bed| {
        let flight = flight_with_a_loss(bed, |bed| pass_only(bed, 1))?;
        expect_copies(bed, &flight, 0.0)
    },
    ..BY_SACK
};

/// Payload of a small segment.
const SMALL: u64 = 100;

pub(super) const RANGES: Case = Case {
    name: "three-ranges-show-a-loss",
    clause: clause("4", Level::Rule),
    demanded: "three ranges reported above it show a segment to be lost, however small they are",
    program: |_, bed| {
        bed.grow_and_drain(8)?;
        bed.lose(&[0, 2, 4]);
        pass_only(bed, 2);
        let (base, at) = (bed.wire().sent(), bed.now);
        for _ in 0..6 {
            bed.write(SMALL);
        }
        let packets = bed.wire().data_since(at).count();
        if packets != 6 {
            return Err(Fault::NotObservable(format!("{packets} segments for six small writes")));
        }
        bed.run_for(SOON);
        let flight = Burst { base, segment: SMALL, at };
        let copies = bed.copies_since(at, flight.base).len();
        bed.expect("copies of the first segment", copies as f64, 1.0..=1.0)?;
        expect_at_once(bed, &flight)
    },
    ..BY_SACK
};
