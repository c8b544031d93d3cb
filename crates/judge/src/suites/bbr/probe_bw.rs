//! The cycle of ProbeBW.

use super::*;
use crate::bed::{Bed, Path, Traffic};
use crate::case::{Case, demand};
use windlass_base::Span;

const PATH: Path = Path { mbit_per_s: 20.0, rtt_ms: 40, queue_bdp: 4.0 };
/// Losses bound the volume in flight there.
const SHALLOW: Path = Path { queue_bdp: 0.3, ..PATH };

fn reach(bed: &mut Bed, state: f64) -> Verdict {
    let found = bed.run_until(Span::from_secs(30), |bed| bed.get("state") == state);
    demand!(found, "never in state {state}");
    Ok(())
}

/// "Exiting PROBE_UP on Bandwidth Plateau".
pub(crate) const UP_PLATEAU: Case = Case {
    name: "exiting-probe-up-on-bandwidth-plateau",
    clause: clause("Exit Conditions for Bandwidth Probing"),
    concerns: BBR3,
    setup: SETUP,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &["state", "full_bw_count", "full_bw_now", "pacing_gain", "cwnd_gain"],
    demanded: "three round trips without growth end ProbeBW_UP",
    tolerance: 0.0,
    program: |_, bed| {
        reach(bed, UP)?;
        demand!(bed.get("pacing_gain") == 1.25, "pacing gain {}", bed.get("pacing_gain"));
        demand!(bed.get("cwnd_gain") == 2.25, "cwnd gain {}", bed.get("cwnd_gain"));
        let begin = bed.get("round_count");
        let left = bed.run_until(Span::from_secs(5), |bed| bed.get("state") != UP);
        demand!(left && bed.get("state") == DOWN, "state {}", bed.get("state"));
        demand!(bed.get("full_bw_now") == 1.0, "full_bw_now is not set");
        demand!(bed.get("full_bw_count") == 3.0, "{} rounds", bed.get("full_bw_count"));
        let rounds = bed.get("round_count") - begin;
        demand!((3.0..=5.0).contains(&rounds), "{rounds} round trips");
        demand!(bed.dropped() == 0, "{} packets were dropped", bed.dropped());
        Ok(())
    },
};

/// A sample that the application limits bounds nothing (HandleInflightTooHigh): the appropriate update is none.
/// "Exiting PROBE_UP on Loss When Application-Limited".
pub(crate) const UP_LOSS: Case = Case {
    name: "exiting-probe-up-on-loss-when-application-limited",
    clause: clause("Probing for Bandwidth In ProbeBW"),
    concerns: BBR3,
    setup: SETUP,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &["state", "prev_probe_too_high", "inflight_longterm", "full_bw_now"],
    demanded: "losses end ProbeBW_UP, and do not bound the volume by the application's",
    tolerance: 0.0,
    program: |_, bed| {
        reach(bed, UP)?;
        bed.traffic = Traffic::PerMillisecond(1200);
        bed.run_for(Span::from_millis(1000));
        demand!(bed.get("state") == UP, "left without a loss");
        let before = bed.get("inflight_longterm");
        bed.set_loss(0.1);
        let left = bed.run_until(Span::from_secs(3), |bed| bed.get("state") != UP);
        // With so little in flight ProbeBW_DOWN may end with the ACK that begins it.
        let state = bed.get("state");
        demand!(left && [DOWN, CRUISE].contains(&state), "state {state}");
        demand!(bed.get("full_bw_now") == 0.0, "a plateau ended it");
        demand!(bed.get("prev_probe_too_high") == 1.0, "prev_probe_too_high is not set");
        demand!(bed.get("inflight_longterm") >= before, "{}", bed.get("inflight_longterm"));
        Ok(())
    },
};

/// "Exiting PROBE_DOWN on Inflight".
pub(crate) const DOWN_INFLIGHT: Case = Case {
    name: "exiting-probe-down-on-inflight",
    clause: clause("ProbeBW_DOWN"),
    concerns: BBR3,
    setup: SETUP,
    path: SHALLOW,
    traffic: Traffic::Bulk,
    observed: &["state", "pacing_gain", "inflight_longterm", "inflight_with_headroom"],
    demanded: "ProbeBW_DOWN lasts until there is headroom and no queue",
    tolerance: 0.0,
    program: |_, bed| {
        reach(bed, UP)?;
        reach(bed, DOWN)?;
        demand!(bed.get("inflight_longterm").is_finite(), "losses set no bound");
        demand!(bed.get("pacing_gain") == 0.9, "gain {}", bed.get("pacing_gain"));
        let target = |bed: &Bed| bed.get("inflight_with_headroom").min(bed.get("inflight"));
        reach(bed, CRUISE)?;
        let excess = bed.flight() - target(bed);
        demand!(excess <= 0.0, "{excess} bytes too many in flight");
        Ok(())
    },
};

/// "Exiting PROBE_DOWN After Max Time".
pub(crate) const DOWN_TIME: Case = Case {
    name: "exiting-probe-down-after-max-time",
    clause: clause("Time Scale for Bandwidth Probing"),
    concerns: BBR3,
    setup: SETUP,
    path: Path { rtt_ms: 100, ..PATH },
    traffic: Traffic::Bulk,
    observed: &["state", "bw_probe_wait", "rounds_since_probe_up"],
    demanded: "after the wait a queue that stays does not hold the next probe back",
    tolerance: 0.0,
    program: |_, bed| {
        reach(bed, REFILL)?;
        // A lower RTT, so that no ProbeRTT ends the wait.
        bed.path.rtt_ms -= 1;
        reach(bed, UP)?;
        reach(bed, DOWN)?;
        let wait = bed.get("bw_probe_wait");
        demand!((2.0..3.0).contains(&wait), "a wait of {wait} s");
        let begin = bed.now;
        bed.set_rate(0.9 * bed.path.mbit_per_s);
        let left = bed.run_until(Span::from_secs(10), |bed| bed.get("state") != DOWN);
        demand!(left && bed.get("state") == REFILL, "state {}", bed.get("state"));
        let waited = bed.seconds_since(begin);
        demand!((wait..wait + 0.2).contains(&waited), "{waited} s of {wait}");
        Ok(())
    },
};

/// "Handling Loss During PROBE_UP After inflight_longterm is Set".
pub(crate) const UP_LOSS_BOUND: Case = Case {
    name: "handling-loss-during-probe-up-after-the-bound-is-set",
    clause: clause("Probing for Bandwidth In ProbeBW"),
    concerns: BBR3,
    setup: SETUP,
    path: SHALLOW,
    traffic: Traffic::Bulk,
    observed: &["state", "inflight_longterm", "bdp", "prev_probe_too_high"],
    demanded: "losses end ProbeBW_UP at once and lower the bound, by Beta at most",
    tolerance: 0.0,
    program: |_, bed| {
        bed.run_until(Span::from_secs(30), |bed| bed.get("inflight_longterm").is_finite());
        bed.set_queue_bdp(4.0);
        // A probe that went well: the next one has no precaution.
        bed.run_for(Span::from_secs(8));
        reach(bed, UP)?;
        demand!(bed.get("inflight_longterm").is_finite(), "no bound is set");
        let too_high = bed.get("prev_probe_too_high");
        demand!(too_high == 0.0, "the probe before went too high");
        let before = bed.get("inflight_longterm");
        bed.set_loss(0.3);
        let mut target = 0.0;
        let left = bed.run_until(Span::from_secs(3), |bed| {
            let left = bed.get("state") != UP;
            if !left {
                target = bed.get("bdp").min(bed.get("cwnd"));
            }
            left
        });
        demand!(left && bed.get("state") == DOWN, "state {}", bed.get("state"));
        demand!(bed.get("prev_probe_too_high") == 1.0, "prev_probe_too_high is not set");
        demand!(bed.get("full_bw_now") == 0.0, "a plateau ended it");
        let after = bed.get("inflight_longterm");
        demand!(after < before, "{after} of {before} bytes");
        demand!(after >= 0.7 * target - 1.0, "{after} for a target of {target} bytes");
        Ok(())
    },
};

/// "Handling Application-Limited Sending During PROBE_REFILL".
pub(crate) const REFILL_APP_LIMITED: Case = Case {
    name: "handling-application-limited-sending-during-refill",
    clause: clause("BBR.max_bw and Application-limited Delivery Rate Samples"),
    concerns: BBR3,
    setup: SETUP,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &["state", "max_bw"],
    demanded: "samples that the application limits do not lower the rate",
    tolerance: 0.05,
    program: |case, bed| {
        reach(bed, REFILL)?;
        let before = bed.get("max_bw");
        bed.traffic = Traffic::PerMillisecond(100);
        let left = bed.run_until(Span::from_secs(2), |bed| bed.get("state") != REFILL);
        demand!(left && bed.get("state") == UP, "state {}", bed.get("state"));
        bed.run_for(Span::from_millis(500));
        demand!(bed.get("max_bw") >= before, "{} of {before} B/s", bed.get("max_bw"));
        bed.traffic = Traffic::Bulk;
        reach(bed, DOWN)?;
        reach(bed, UP)?;
        let (found, rate) = (bed.get("max_bw"), bed.path.goodput());
        demand!(case.near(found, rate), "{found:.0} B/s on a path of {rate:.0}");
        Ok(())
    },
};
