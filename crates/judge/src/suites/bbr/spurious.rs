//! Repairs of losses that were none.

use super::*;
use crate::bed::{Bed, Path, Traffic};
use crate::case::{Case, demand};
use windlass_base::Span;

const PATH: Path = Path { mbit_per_s: 20.0, rtt_ms: 40, queue_bdp: 4.0 };

/// The bounds that the draft's undo saves.
fn bounds(bed: &Bed) -> [f64; 3] {
    ["bw_shortterm", "inflight_shortterm", "inflight_longterm"].map(|name| bed.get(name))
}

/// From ProbeBW_UP over a repair back to it.
fn there_and_back(bed: &mut Bed, disturb: fn(&mut Bed), repairs: fn(&Bed) -> f64) -> Verdict {
    let up = bed.run_until(Span::from_secs(20), |bed| bed.get("state") == UP);
    demand!(up, "no ProbeBW_UP");
    // Two round trips, whose ACKs are of the probe.
    bed.run_for(Span::from_millis(60));
    demand!(bed.get("state") == UP, "the probe is over");
    let (before, cwnd) = (bounds(bed), bed.get("cwnd"));
    let (begun, undone) = (repairs(bed), bed.get("undone_cuts"));
    disturb(bed);
    let repaired = bed.run_until(Span::from_secs(3), |bed| repairs(bed) > begun);
    demand!(repaired, "no repair");
    demand!(bed.get("state") == DOWN, "state {} in the repair", bed.get("state"));
    demand!(bed.get("undo_state") == UP, "undo_state {}", bed.get("undo_state"));
    demand!(bed.get("inflight_longterm") < before[2], "the bound stays");
    demand!(bed.get("prior_cwnd") >= cwnd, "the window was not saved");
    let is_undone = bed.run_until(Span::from_secs(3), |bed| bed.get("undone_cuts") > undone);
    demand!(is_undone, "the repair is not undone");
    let after = bounds(bed);
    let restored = after.iter().zip(before).all(|(after, before)| *after >= before);
    demand!(restored, "{after:?} after {before:?}");
    demand!(bed.get("state") == REFILL, "state {} afterwards", bed.get("state"));
    let up = bed.run_until(Span::from_secs(1), |bed| bed.get("state") == UP);
    demand!(up, "state {} at the end", bed.get("state"));
    Ok(())
}

/// "Handling Spurious Fast Recovery".
pub(crate) const FAST_RECOVERY: Case = Case {
    name: "handling-spurious-fast-recovery",
    clause: clause("Handling a Spurious Loss Recovery"),
    concerns: BBR3,
    setup: SETUP,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &["state", "undo_state", "bw_shortterm", "inflight_shortterm", "inflight_longterm"],
    demanded: "late packets cost nothing once they have arrived",
    tolerance: 0.0,
    program: |_, bed| {
        let disturb = |bed: &mut Bed| bed.delay_next(12, Span::from_millis(45));
        there_and_back(bed, disturb, |bed| bed.get("fast_retransmits"))
    },
};

/// "Handling Spurious RTO Recovery".
pub(crate) const TIMEOUT: Case = Case {
    name: "handling-spurious-rto-recovery",
    clause: clause("Handling a Spurious Loss Recovery"),
    concerns: BBR3,
    setup: SETUP,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &["state", "undo_state", "bw_shortterm", "inflight_shortterm", "inflight_longterm"],
    demanded: "a path that pauses costs nothing once its packets have arrived",
    tolerance: 0.0,
    program: |_, bed| {
        let disturb = |bed: &mut Bed| bed.delay_next(10_000, Span::from_millis(800));
        there_and_back(bed, disturb, |bed| bed.get("timeouts"))
    },
};
