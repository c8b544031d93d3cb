//! Timeouts beside duplicate acknowledgments.

use super::*;
use crate::bed::{AT_ONCE, Traffic};
use crate::case::{Case, Concerns};
use windlass_base::Span;

const LIMITED: Concerns = Concerns::Except(&["none"]);

pub(super) const DUPLICATES: Case = Case {
    name: "duplicates-after-a-timeout-bring-nothing",
    clause: clause("3.2", Level::Rule),
    concerns: LIMITED,
    demanded: "duplicates of data sent before a timeout bring no fast retransmit after it",
    program: |_, bed| {
        bed.grow_and_drain(16)?;
        bed.pass_acks(0);
        let flight = bed.write_segments(16);
        bed.await_resent()?;
        for _ in 0..4 {
            bed.acknowledge(flight.base, &[]);
        }
        bed.run_for(Span::from_millis(110));
        let copies = bed.resent_since(flight.at).count();
        bed.expect("retransmissions", copies as f64, 1.0..=1.0)
    },
    ..CASE
};

pub(super) const ENDS_RECOVERY: Case = Case {
    name: "a-timeout-ends-the-recovery",
    clause: clause("3.2", Level::Rule),
    concerns: LIMITED,
    traffic: Traffic::Bulk,
    demanded: "a timeout in recovery sends one segment, and the inflation of the window is over",
    program: |_, bed| {
        bed.fill(20)?;
        bed.lose_and_again(&[0], 1);
        let base = bed.wire().sent();
        let begin = bed.now;
        bed.await_sent("no second retransmission", |bed| bed.copies_since(begin, base).len() >= 2)?;
        let timeout = bed.copies_since(begin, base)[1];
        bed.run_for(AT_ONCE * 2);
        let packets = bed.wire().data_since(timeout).count();
        bed.expect("segments at the timeout", packets as f64, 1.0..=1.0)
    },
    ..CASE
};
