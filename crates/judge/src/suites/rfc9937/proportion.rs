//! A recovery whose pipe is above ssthresh.

use super::*;
use crate::bed::Fate;
use crate::suites::rfc6675;

pub(super) const AT_ONCE: Case = Case {
    name: "the-first-retransmission-leaves-at-once",
    clause: clause("6", Level::Must),
    concerns: Concerns::All,
    setup: PRR,
    demanded: "the acknowledgment that begins the recovery brings the retransmission, whatever the proportion allows",
    ..rfc6675::THREE
};

/// How far the segments sent in a recovery are from their share of those delivered, at most.
fn largest_error(recovery: &Recovery) -> f64 {
    let share = recovery.after / recovery.before;
    let (mut delivered, mut sent, mut largest) = (0.0, 0.0, 0.0_f64);
    // The last ACK ends the reduction.
    let reduced = recovery.steps.len().saturating_sub(1);
    for step in &recovery.steps[..reduced] {
        delivered += step.delivered;
        sent += step.sent;
        largest = largest.max((sent - share * delivered).abs());
    }
    largest
}

pub(super) const ONE_LOSS: Case = Case {
    name: "a-reduction-sends-in-proportion",
    demanded: "from the first to the last acknowledgment of a recovery the segments sent are the share of those that \
               arrive by which the window is reduced",
    program: |_, bed| {
        bed.fill(30)?;
        bed.lose(&[0]);
        let recovery = recover(bed)?;
        bed.expect("part of the flight that is left", recovery.after / recovery.before, 0.3..=0.9)?;
        let error = largest_error(&recovery);
        bed.expect("segments too many or too few, at most", error, 0.0..=3.0)
    },
    ..BY_PRR
};

pub(super) const LOST_ACKS: Case = Case {
    name: "lost-acks-change-no-proportion",
    demanded: "the share is of the data that arrives, however few acknowledgments report it",
    program: |_, bed| {
        bed.fill(30)?;
        bed.lose(&[0]);
        let mut count = 0;
        bed.on_acks(move |_| {
            count += 1;
            if count % 2 == 0 { Fate::Drop } else { Fate::Pass }
        });
        let recovery = recover(bed)?;
        bed.expect("part of the flight that is left", recovery.after / recovery.before, 0.3..=0.9)?;
        let error = largest_error(&recovery);
        bed.expect("segments too many or too few, at most", error, 0.0..=4.0)
    },
    ..BY_PRR
};
