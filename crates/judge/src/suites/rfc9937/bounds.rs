//! A recovery in which so much is lost that the pipe is below ssthresh.

use super::*;

pub(super) const NO_BURST: Case = Case {
    name: "heavy-losses-bring-no-burst",
    demanded: "an acknowledgment releases a segment more than it delivers, at most, however far the pipe is below \
               ssthresh",
    program: |_, bed| {
        let recovery = heavy(bed)?;
        let excess = recovery.steps.iter().map(|step| step.sent - step.delivered);
        let largest = excess.fold(0.0, f64::max);
        bed.expect("segments more than an ACK delivers, at most", largest, 0.0..=2.0)
    },
    ..BY_PRR
};

pub(super) const CONSERVATIVE: Case = Case {
    name: "without-progress-no-more-is-sent-than-arrives",
    demanded: "while SND.UNA stays, no more is sent than arrives, but for the first retransmission",
    program: |_, bed| {
        let recovery = heavy(bed)?;
        let (mut delivered, mut sent, mut largest) = (0.0, 0.0, f64::MIN);
        for step in recovery.steps.iter().take_while(|step| !step.advances) {
            delivered += step.delivered;
            sent += step.sent;
            largest = largest.max(sent - delivered);
        }
        bed.expect("segments delivered without progress", delivered, 5.0..=1000.0)?;
        bed.expect("segments sent more than delivered, at most", largest, -10.0..=1.0)
    },
    ..BY_PRR
};

pub(super) const SLOW_START: Case = Case {
    name: "with-progress-the-flight-grows-to-ssthresh",
    demanded: "an acknowledgment that advances SND.UNA and shows no loss releases a segment more than it delivers",
    program: |_, bed| {
        let recovery = heavy(bed)?;
        let steps = recovery.steps.iter().skip_while(|step| !step.advances);
        // Up to a round trip of them.
        let progress: Vec<&Step> = steps.filter(|step| step.advances).take(8).collect();
        let delivered: f64 = progress.iter().map(|step| step.delivered).sum();
        let sent: f64 = progress.iter().map(|step| step.sent).sum();
        bed.expect("segments sent for one delivered", sent / delivered, 1.4..=2.1)
    },
    ..BY_PRR
};
