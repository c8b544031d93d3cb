//! Congestion avoidance.

use super::*;
use crate::bed::{Bed, Traffic};
use crate::case::{Case, Concerns, Fault};
use crate::subject::Setup;
use windlass_base::Span;
use windlass_tcp::config::AckPolicy;

/// Those that grow by a segment in a round trip, where nothing is marked.
const LINEAR: Concerns = Concerns::Controllers(&["reno", "newreno", "dctcp"]);

const ROUNDS: u32 = 8;

/// Through the repair of one loss, after which the window grows in congestion avoidance.
fn leave_slow_start(bed: &mut Bed) -> Result<(), Fault> {
    bed.fill(30)?;
    bed.lose(&[0]);
    bed.through_repair()?;
    bed.round()
}

/// Segments that the window grows in a round trip, on average.
fn growth(bed: &mut Bed) -> Result<f64, Fault> {
    leave_slow_start(bed)?;
    let before = bed.segments_in_flight();
    for _ in 0..ROUNDS {
        bed.round()?;
    }
    Ok((bed.segments_in_flight() - before) / f64::from(ROUNDS))
}

pub(super) const A_SEGMENT: Case = Case {
    name: "congestion-avoidance-adds-a-segment",
    clause: clause("3.1", Level::Must),
    concerns: LINEAR,
    traffic: Traffic::Bulk,
    demanded: "congestion avoidance adds one segment in a round trip, and not more",
    program: |_, bed| {
        let growth = growth(bed)?;
        bed.expect("segments more in a round trip", growth, 0.7..=1.15)
    },
    ..CASE
};

pub(super) const DELAYED_ACKS: Case = Case {
    name: "congestion-avoidance-with-delayed-acks",
    clause: clause("3.1", Level::Must),
    setup: Setup { acks: AckPolicy::Delayed { max: Span::from_millis(40) }, ..PLAIN },
    demanded: "with an acknowledgment for two segments: not more than one segment, or a half if ACKs are counted",
    program: |_, bed| {
        let growth = growth(bed)?;
        bed.expect("segments more in a round trip", growth, 0.35..=1.15)
    },
    ..A_SEGMENT
};

pub(super) const ACK_DIVISION: Case = Case {
    name: "ack-division-in-congestion-avoidance",
    clause: clause("3.1", Level::Must),
    concerns: LINEAR,
    traffic: Traffic::Bulk,
    demanded: "a window of segments acknowledged in quarters adds one segment",
    program: |_, bed| {
        leave_slow_start(bed)?;
        let (acked, sent) = (bed.wire().acked(), bed.wire().sent());
        bed.pass_acks(0);
        bed.run_for(Span::from_millis(60));
        let (before, segment) = (bed.segments_in_flight(), bed.wire().segment());
        let mut to = bed.wire().acked().max(acked);
        while to < sent {
            to = (to + segment / 4).min(sent);
            bed.acknowledge(to, &[]);
        }
        bed.run_for(crate::bed::AT_ONCE);
        let growth = bed.segments_in_flight() - before;
        bed.expect("segments more after a window of divided ACKs", growth, -1.0..=2.0)
    },
    ..CASE
};
