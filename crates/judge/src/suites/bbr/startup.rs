//! Startup and Drain.

use super::*;
use crate::bed::{Path, Traffic};
use crate::case::{Case, demand};
use windlass_base::Span;

const PATH: Path = Path { mbit_per_s: 20.0, rtt_ms: 40, queue_bdp: 4.0 };

/// "Exiting STARTUP on Bandwidth Plateau".
pub(crate) const PLATEAU: Case = Case {
    name: "exiting-startup-on-bandwidth-plateau",
    clause: clause("Exiting Acceleration Based on Bandwidth Plateau"),
    concerns: BBR3,
    setup: SETUP,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &["state", "max_bw", "full_bw_count", "full_bw_now", "full_bw_reached"],
    demanded: "three round trips without growth end Startup at the rate of the path",
    tolerance: 0.02,
    program: |case, bed| {
        let mut counts = Vec::new();
        let left = bed.run_until(Span::from_secs(5), |bed| {
            let count = bed.get("full_bw_count");
            if counts.last() != Some(&count) {
                counts.push(count);
            }
            bed.get("state") != STARTUP
        });
        demand!(left, "it stays in Startup");
        demand!(counts.ends_with(&[1.0, 2.0, 3.0]), "round trips without growth: {counts:?}");
        demand!(bed.get("full_bw_now") == 1.0, "full_bw_now is not set");
        demand!(bed.get("full_bw_reached") == 1.0, "full_bw_reached is not set");
        let (found, rate) = (bed.get("max_bw"), bed.path.goodput());
        demand!(case.near(found, rate), "{found:.0} B/s on a path of {rate:.0}");
        demand!(bed.get("state") == DRAIN, "then state {}", bed.get("state"));
        demand!(bed.dropped() == 0, "{} packets were dropped", bed.dropped());
        Ok(())
    },
};

/// "Exiting STARTUP on Loss When Application-Limited".
pub(crate) const LOSS: Case = Case {
    name: "exiting-startup-on-loss-when-application-limited",
    clause: clause("Exiting Startup Based on Packet Loss"),
    concerns: BBR3,
    setup: SETUP,
    path: Path { mbit_per_s: 40.0, ..PATH },
    // Two thirds of the rate.
    traffic: Traffic::PerMillisecond(3300),
    observed: &["state", "full_bw_count", "full_bw_now", "drain_start_round", "inflight_longterm"],
    demanded: "losses in six ranges of a round trip end Startup",
    tolerance: 0.0,
    program: |_, bed| {
        bed.run_for(Span::from_secs(2));
        demand!(bed.get("state") == STARTUP, "left without a loss");
        let count = bed.get("full_bw_count");
        bed.set_loss(0.2);
        let left = bed.run_until(Span::from_secs(5), |bed| bed.get("state") != STARTUP);
        demand!(left, "losses do not end Startup");
        demand!(bed.get("full_bw_count") == count, "samples of a limited application count");
        demand!(bed.get("full_bw_now") == 1.0, "full_bw_now is not set");
        demand!(bed.get("full_bw_reached") == 1.0, "full_bw_reached is not set");
        // With so little in flight Drain may end with the ACK that begins it.
        let drains = bed.get("drain_start_round") == bed.get("round_count");
        demand!(drains, "no Drain began");
        demand!(bed.get("inflight_longterm").is_finite(), "no bound was set");
        Ok(())
    },
};

/// "Exiting DRAIN Based on Inflight".
pub(crate) const DRAIN_INFLIGHT: Case = Case {
    name: "exiting-drain-based-on-inflight",
    clause: clause("Drain"),
    concerns: BBR3,
    setup: SETUP,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &["state", "pacing_gain", "inflight"],
    demanded: "Drain lasts until the data in flight is the estimated BDP",
    tolerance: 0.0,
    program: |_, bed| {
        let drains = bed.run_until(Span::from_secs(5), |bed| bed.get("state") == DRAIN);
        demand!(drains, "no Drain");
        demand!(bed.get("pacing_gain") == 0.5, "gain {}", bed.get("pacing_gain"));
        let mut before = Vec::new();
        let left = bed.run_until(Span::from_secs(1), |bed| {
            let left = bed.get("state") != DRAIN;
            if !left {
                before.push(bed.flight() - bed.get("inflight"));
            }
            left || bed.flight() <= bed.get("inflight")
        });
        demand!(left && [DOWN, CRUISE].contains(&bed.get("state")), "state {}", bed.get("state"));
        demand!(before.iter().all(|excess| *excess > 0.0), "it lasted too long");
        Ok(())
    },
};

/// With the tenth less that the appendix has, Drain empties the queue within three round trips, as it sends at half
/// the rate. Here the rate falls so far that it cannot.
/// "Exiting DRAIN Based on Time".
pub(crate) const DRAIN_TIME: Case = Case {
    name: "exiting-drain-based-on-time",
    clause: clause("Drain"),
    concerns: BBR3,
    setup: SETUP,
    path: Path { queue_bdp: 20.0, ..PATH },
    traffic: Traffic::Bulk,
    observed: &["state", "drain_start_round", "round_count", "inflight"],
    demanded: "Drain ends in the fourth round trip although the queue is not empty",
    tolerance: 0.0,
    program: |_, bed| {
        let drains = bed.run_until(Span::from_secs(5), |bed| bed.get("state") == DRAIN);
        demand!(drains, "no Drain");
        bed.set_rate(0.4 * bed.path.mbit_per_s);
        let start = bed.get("drain_start_round");
        let left = bed.run_until(Span::from_secs(5), |bed| bed.get("state") != DRAIN);
        demand!(left && bed.get("state") == DOWN, "state {}", bed.get("state"));
        let excess = bed.flight() - bed.get("inflight");
        demand!(excess > 0.0, "the queue was empty");
        let rounds = bed.get("round_count") - start;
        demand!(rounds == 4.0, "{rounds} round trips");
        Ok(())
    },
};

/// "Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss".
pub(crate) const APP_LIMITED: Case = Case {
    name: "never-exiting-probe-up-when-application-limited",
    clause: clause("Exiting Acceleration Based on Bandwidth Plateau"),
    concerns: BBR3,
    setup: SETUP,
    path: PATH,
    traffic: Traffic::PerMillisecond(700),
    observed: &["state", "full_bw_reached"],
    demanded: "only ProbeRTT interrupts Startup and ProbeBW_UP",
    tolerance: 0.0,
    program: |_, bed| {
        let left = bed.run_until(Span::from_secs(30), |bed| {
            ![STARTUP, PROBE_RTT].contains(&bed.get("state"))
        });
        demand!(!left, "state {} after Startup", bed.get("state"));
        bed.traffic = Traffic::Bulk;
        let up = bed.run_until(Span::from_secs(20), |bed| bed.get("state") == UP);
        demand!(up, "no ProbeBW_UP");
        bed.traffic = Traffic::PerMillisecond(700);
        bed.run_until(Span::from_secs(20), |bed| bed.get("state") != UP);
        demand!(bed.get("state") == PROBE_RTT, "state {} after UP", bed.get("state"));
        Ok(())
    },
};
