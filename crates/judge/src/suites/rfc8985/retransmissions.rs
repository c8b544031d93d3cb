//! Retransmissions that are lost, and those that were needless.

use super::*;
use crate::bed::Event;

pub(super) const FOUND: Case = Case {
    name: "a-lost-retransmission-is-found",
    clause: clause("6.2", Level::Must),
    // Tahoe sends nothing behind the retransmission, by which its loss would show.
    concerns: Concerns::Except(&["none", "tahoe"]),
    traffic: Traffic::Bulk,
    demanded: "a retransmission that is lost goes out again after an RTT, without a timeout",
    program: |_, bed| {
        bed.fill(20)?;
        let (base, begin) = (bed.wire().sent(), bed.now);
        bed.lose_and_again(&[0], 1);
        bed.await_sent("no second retransmission", |bed| bed.copies_since(begin, base).len() >= 2)?;
        let copies = bed.copies_since(begin, base);
        let seconds = copies[1].saturating_since(copies[0]).as_secs_f64();
        bed.expect("seconds from one retransmission to the next", seconds, 0.045..=0.12)
    },
    ..RACK
};

pub(super) const REDUCES: Case = Case {
    name: "lost-retransmission-reduces-again",
    clause: Clause { document: "RFC 5681", section: "4.3", level: Level::Must },
    concerns: Concerns::Except(&["bbr", "bbr3", "none", "tahoe"]),
    traffic: Traffic::Bulk,
    demanded: "the loss of a retransmission lowers the window once more",
    program: |_, bed| {
        bed.fill(30)?;
        bed.lose(&[0]);
        let once = bed.through_repair()?;
        bed.fill(30)?;
        bed.round()?;
        bed.lose_and_again(&[0], 1);
        let twice = bed.through_repair()?;
        let ratio = twice.ratio() / once.ratio();
        bed.expect("what two losses leave, by what one leaves", ratio, 0.0..=0.92)
    },
    ..RACK
};

pub(super) const LATE_ORIGINAL: Case = Case {
    name: "a-late-original-condemns-no-others",
    clause: clause("6.2", Level::Rule),
    concerns: LIMITED,
    setup: Setup { timestamps: false, ..RACK.setup },
    traffic: Traffic::Bulk,
    demanded: "an acknowledgment that comes sooner than an RTT after a retransmission is of the original",
    program: |_, bed| {
        bed.fill(30)?;
        let (base, begin) = (bed.wire().sent(), bed.now);
        delay_first(bed, Span::from_millis(18));
        bed.await_resent()?;
        bed.run_for(Span::from_millis(150));
        let others: Vec<Event> = bed.resent_since(begin).collect();
        let of_base = bed.copies_since(begin, base).len();
        bed.expect("copies of the late segment", of_base as f64, 1.0..=1.0)?;
        bed.expect("retransmissions", others.len() as f64, 1.0..=1.0)
    },
    ..RACK
};
