//! The end of a recovery.

use super::*;

pub(super) const SSTHRESH: Case = Case {
    name: "recovery-ends-at-ssthresh",
    clause: clause("6", Level::Must),
    concerns: RENO,
    demanded: "a recovery from one loss ends with half the flight",
    program: |_, bed| {
        bed.fill(30)?;
        bed.lose(&[0]);
        let recovery = recover(bed)?;
        let half = recovery.before / 2.0;
        bed.expect("segments in flight at the end", recovery.after, half - 2.5..=half + 1.0)
    },
    ..BY_PRR
};

pub(super) const HEAVY: Case = Case {
    name: "heavy-losses-end-at-ssthresh-at-most",
    concerns: RENO,
    demanded: "a recovery from many losses does not end with more than half the flight",
    program: |_, bed| {
        let recovery = heavy(bed)?;
        let half = recovery.before / 2.0;
        bed.expect("segments in flight at the end", recovery.after, 1.0..=half + 1.0)
    },
    ..BY_PRR
};

pub(super) const NO_BURST: Case = Case {
    name: "no-burst-at-the-end-of-recovery",
    demanded: "the acknowledgment that ends a recovery from some losses releases a few segments, and no burst",
    program: |_, bed| {
        bed.fill(30)?;
        bed.lose(&[0, 1, 2, 10, 11, 12, 20, 21, 22]);
        let recovery = recover(bed)?;
        let last = recovery.steps.last().map_or(0.0, |step| step.sent);
        bed.expect("segments for the last acknowledgment", last, 0.0..=4.0)
    },
    ..BY_PRR
};
