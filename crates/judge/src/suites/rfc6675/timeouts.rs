//! Timeouts, and SACK after them.

use super::*;
use crate::bed::AT_ONCE;
use crate::case::Concerns;
use windlass_base::Span;

const LIMITED: Concerns = Concerns::Except(&["none"]);

pub(super) const FIRST_MISSING: Case = Case {
    name: "a-timeout-sends-the-first-missing-segment",
    clause: clause("5.1", Level::Rule),
    concerns: LIMITED,
    demanded: "a timeout in a recovery sends the first missing segment, and no other",
    program: |_, bed| {
        bed.grow_and_drain(16)?;
        bed.lose_and_again(&[0], 1);
        let flight = bed.write_segments(16);
        bed.await_sent("no second retransmission", |bed| {
            bed.copies_since(flight.at, flight.base).len() >= 2
        })?;
        let copies = bed.copies_since(flight.at, flight.base);
        // Without RACK the loss of the retransmission shows by the timer alone.
        let waits = copies[1].saturating_since(copies[0]).as_secs_f64();
        bed.expect("seconds from one retransmission to the next", waits, 0.19..=3.0)?;
        bed.run_for(AT_ONCE);
        let packets = bed.wire().data_since(copies[1]).count();
        bed.expect("segments at the timeout", packets as f64, 1.0..=1.0)
    },
    ..BY_SACK
};

pub(super) const NO_RECOVERY: Case = Case {
    name: "no-recovery-before-all-sent-before-a-timeout-is-acknowledged",
    clause: clause("5.1", Level::Must),
    concerns: LIMITED,
    demanded: "SACK of data sent before a timeout begins no recovery after it",
    program: |_, bed| {
        bed.grow_and_drain(16)?;
        bed.pass_acks(0);
        let flight = bed.write_segments(16);
        bed.await_resent()?;
        for reported in 1..=6 {
            bed.acknowledge(flight.base, &[(flight.offset(4), flight.offset(4 + reported))]);
        }
        bed.run_for(Span::from_millis(60));
        let copies = bed.copies_since(flight.at, flight.base).len();
        bed.expect("copies of the first segment", copies as f64, 1.0..=1.0)
    },
    ..BY_SACK
};

pub(super) const RENEGING: Case = Case {
    name: "sacked-data-goes-out-again-after-a-timeout-at-the-left-edge",
    clause: Clause { document: "RFC 2018", section: "8", level: Level::Must },
    concerns: LIMITED,
    demanded: "a timeout sends the first segment that is not acknowledged, although SACK has reported it",
    program: |_, bed| {
        bed.grow_and_drain(8)?;
        bed.pass_acks(0);
        let flight = bed.write_segments(8);
        bed.run_for(Span::from_millis(60));
        for reported in 3..=8 {
            bed.acknowledge(flight.base, &[(flight.offset(2), flight.offset(reported))]);
        }
        // The receiver has discarded what it had reported.
        bed.acknowledge(flight.offset(2), &[]);
        let begin = bed.now;
        bed.await_sent("the segment is not sent again", |bed| {
            !bed.copies_since(begin, flight.offset(2)).is_empty()
        })
    },
    ..BY_SACK
};
