//! ProbeRTT and idle time.

use super::*;
use crate::bed::{Path, Traffic};
use crate::case::{Case, demand};
use windlass_base::Span;

const PATH: Path = Path { mbit_per_s: 20.0, rtt_ms: 40, queue_bdp: 4.0 };

/// "Entering and Exiting PROBE_RTT".
pub(crate) const ENTER_AND_EXIT: Case = Case {
    name: "entering-and-exiting-probe-rtt",
    clause: clause("ProbeRTT"),
    concerns: BBR3,
    setup: SETUP,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &["state", "cwnd_gain", "probe_rtt_cwnd"],
    demanded: "after five seconds half a BDP for 200 ms and a round trip, then the rate of before",
    tolerance: 0.05,
    program: |case, bed| {
        bed.run_until(Span::from_secs(5), |bed| bed.get("state") == CRUISE);
        let mut least = (bed.get("probe_rtt_min_delay"), bed.now);
        let entered = bed.run_until(Span::from_secs(12), |bed| {
            let now = (bed.get("probe_rtt_min_delay"), bed.now);
            let enters = bed.get("state") == PROBE_RTT;
            if now.0 < least.0 && !enters {
                least = now;
            }
            enters
        });
        demand!(entered, "no ProbeRTT");
        let waited = bed.seconds_since(least.1);
        demand!(waited < 5.1, "{waited} s after the least RTT");
        demand!(bed.get("cwnd_gain") == 0.5, "gain {}", bed.get("cwnd_gain"));
        let begin = bed.now;
        let low =
            bed.run_until(Span::from_secs(1), |bed| bed.flight() <= bed.get("probe_rtt_cwnd"));
        demand!(low, "the flight stays large");
        let (low, round) = (bed.now, bed.get("round_count"));
        let left = bed.run_until(Span::from_secs(2), |bed| bed.get("state") != PROBE_RTT);
        demand!(left && bed.get("state") == CRUISE, "state {}", bed.get("state"));
        let lasted = bed.seconds_since(low);
        demand!((0.2..0.4).contains(&lasted), "{lasted} s, {} in all", bed.seconds_since(begin));
        demand!(bed.get("round_count") > round, "no round trip");
        let (from, delivered) = (bed.now, bed.delivered());
        bed.run_for(Span::from_secs(2));
        let rate = (bed.delivered() - delivered) / bed.seconds_since(from);
        demand!(case.near(rate, bed.path.goodput()), "{rate:.0} B/s afterwards");
        Ok(())
    },
};

/// "Skipping PROBE_RTT Due to Application-Limited Sending".
pub(crate) const SKIPPED_WHEN_IDLE: Case = Case {
    name: "skipping-probe-rtt-due-to-application-limited-sending",
    clause: clause("Restarting From Idle"),
    concerns: BBR3,
    setup: SETUP,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &["state", "idle_restart"],
    demanded: "after idle time no ProbeRTT is needed",
    tolerance: 0.0,
    program: |_, bed| {
        bed.run_until(Span::from_secs(5), |bed| bed.get("state") == CRUISE);
        bed.traffic = Traffic::Pause;
        bed.run_for(Span::from_secs(6));
        demand!(bed.flight() == 0.0, "data is in flight");
        demand!(bed.get("state") != PROBE_RTT, "ProbeRTT before the pause");
        let state = bed.get("state");
        bed.traffic = Traffic::Bulk;
        let sent = bed.run_until(Span::from_millis(10), |bed| bed.flight() > 0.0);
        demand!(sent, "nothing is sent");
        demand!(bed.get("idle_restart") == 1.0, "idle_restart is not set");
        demand!(bed.get("state") == state, "state {}", bed.get("state"));
        let rate = bed.get("pacing_rate") / bed.get("bw");
        demand!((0.98..=1.0).contains(&rate), "paced at {rate} of the rate");
        let enters = bed.run_until(Span::from_secs(2), |bed| bed.get("state") == PROBE_RTT);
        demand!(!enters, "ProbeRTT");
        demand!(bed.get("idle_restart") == 0.0, "idle_restart stays set");
        Ok(())
    },
};

/// "Entering and Exiting PROBE_RTT During STARTUP".
pub(crate) const DURING_STARTUP: Case = Case {
    name: "entering-and-exiting-probe-rtt-during-startup",
    clause: clause("Exiting ProbeRTT"),
    concerns: BBR3,
    setup: SETUP,
    path: PATH,
    // A slow application: Startup goes on.
    traffic: Traffic::PerMillisecond(700),
    observed: &["state", "full_bw_reached"],
    demanded: "ProbeRTT leads back to Startup",
    tolerance: 0.02,
    program: |case, bed| {
        let enters = bed.run_until(Span::from_secs(10), |bed| bed.get("state") != STARTUP);
        demand!(enters && bed.get("state") == PROBE_RTT, "state {}", bed.get("state"));
        let left = bed.run_until(Span::from_secs(2), |bed| bed.get("state") != PROBE_RTT);
        demand!(left && bed.get("state") == STARTUP, "state {}", bed.get("state"));
        demand!(bed.get("full_bw_reached") == 0.0, "full_bw_reached is set");
        bed.traffic = Traffic::Bulk;
        let left = bed.run_until(Span::from_secs(5), |bed| bed.get("state") != STARTUP);
        demand!(left, "it stays in Startup");
        let (found, rate) = (bed.get("max_bw"), bed.path.goodput());
        demand!(case.near(found, rate), "{found:.0} B/s on a path of {rate:.0}");
        Ok(())
    },
};
