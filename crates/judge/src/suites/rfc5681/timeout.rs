//! After the retransmission timer has expired.

use super::*;
use crate::bed::{Bed, Event, Traffic};
use crate::case::{Case, Concerns, Fault, Verdict};
use windlass_base::Span;

/// A round trip of the path with the time of a packet.
const ROUND: Span = Span::from_micros(50_600);
/// Round trips end so much before the next one's packets.
const EARLY: Span = Span::from_millis(10);

pub(super) const LOSS_WINDOW: Case = Case {
    name: "a-timeout-sends-one-segment",
    clause: clause("3.1", Level::Must),
    concerns: Concerns::Except(&["none"]),
    demanded: "after a timeout one segment is in flight, the first that is not acknowledged",
    program: |_, bed| {
        bed.grow_and_drain(16)?;
        bed.lose_all();
        let flight = bed.write_segments(16);
        let first = bed.await_resent()?;
        bed.run_for(Span::from_millis(110));
        let offset = bed.wire().offset(first.packet.segment.seq);
        bed.expect(
            "offset of the retransmission",
            offset as f64,
            flight.base as f64..=flight.base as f64,
        )?;
        let packets = bed.wire().data_since(first.at).count();
        bed.expect("segments at the timeout", packets as f64, 1.0..=1.0)
    },
    ..CASE
};

/// Loses a flight of bulk data and the first `copies` of its retransmissions. Returns FlightSize, and how many segments
/// each round trip sends from the next retransmission on.
fn after_timeout(bed: &mut Bed, copies: u32) -> Result<(f64, Vec<f64>), Fault> {
    bed.traffic = Traffic::Bulk;
    bed.fill(18)?;
    bed.lose_until_copy(copies);
    let mut last: Event = bed.await_resent()?;
    for _ in 0..copies {
        last = bed.await_resent()?;
    }
    let flight = last.flight as f64 / bed.wire().segment() as f64;
    bed.run_for(ROUND * 7);
    let begin = last.at.as_nanos().saturating_sub(EARLY.as_nanos());
    let mut rounds = vec![0.0; 7];
    for event in bed.wire().data_since(last.at) {
        let round = (event.at.as_nanos() - begin) / ROUND.as_nanos();
        if let Some(count) = rounds.get_mut(round as usize) {
            *count += 1.0;
        }
    }
    Ok((flight, rounds))
}

/// Slow start from one segment for so many round trips.
fn expect_slow_start(bed: &mut Bed, rounds: &[f64]) -> Verdict {
    let mut most = 1.0;
    for sent in rounds {
        bed.expect("segments in a round trip after the timeout", *sent, 0.85 * most..=most)?;
        most *= 2.0;
    }
    Ok(())
}

pub(super) const SLOW_START: Case = Case {
    name: "slow-start-after-a-timeout",
    clause: clause("3.1", Level::Must),
    concerns: DOUBLES,
    demanded: "after a timeout the window grows from one segment by slow start",
    program: |_, bed| {
        let (_, rounds) = after_timeout(bed, 0)?;
        expect_slow_start(bed, &rounds[..4])
    },
    ..CASE
};

pub(super) const SSTHRESH: Case = Case {
    name: "ssthresh-after-a-timeout",
    clause: clause("3.1", Level::Must),
    concerns: RENO,
    demanded: "slow start after a timeout ends at half the flight that was outstanding",
    program: |_, bed| {
        let (flight, rounds) = after_timeout(bed, 0)?;
        let half = flight / 2.0;
        for sent in &rounds[5..] {
            let what = "segments in a round trip after slow start";
            bed.expect(what, *sent, half - 3.0..=half + 2.0)?;
        }
        Ok(())
    },
    ..CASE
};

pub(super) const LEAST: Case = Case {
    name: "ssthresh-is-two-segments-at-least",
    clause: clause("3.1", Level::Rule),
    concerns: RENO,
    demanded: "after the timeout of three segments, slow start goes on to two",
    program: |_, bed| {
        bed.grow_and_drain(16)?;
        bed.lose_until_copy(0);
        bed.write_segments(3);
        let first = bed.await_resent()?;
        bed.run_for(ROUND + ROUND / 2);
        // Half of three segments would add two thirds of one to the first.
        let sent = bed.wire().data_since(first.at).count() - 1;
        bed.expect("segments in the round trip after the timeout's", sent as f64, 2.0..=2.0)
    },
    ..CASE
};

pub(super) const HELD: Case = Case {
    name: "ssthresh-is-held-on-a-repeated-timeout",
    clause: clause("3.1", Level::Rule),
    concerns: DOUBLES,
    demanded: "a second timeout of the same segment leaves ssthresh at half the flight",
    program: |_, bed| {
        let (_, rounds) = after_timeout(bed, 1)?;
        expect_slow_start(bed, &rounds[..4])
    },
    ..CASE
};
