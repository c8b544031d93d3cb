//! Paths that aggregate ACKs, that are slow, that change, and that police.

use super::*;
use crate::bed::{Bed, PAYLOAD, Path, Traffic};
use crate::case::{Case, demand};
use windlass_base::Span;

const PATH: Path = Path { mbit_per_s: 20.0, rtt_ms: 40, queue_bdp: 4.0 };
/// ACKs arrive each half a round trip.
const SLOT: Span = Span::from_millis(20);

fn rate_over(bed: &mut Bed, span: Span) -> f64 {
    let (from, delivered) = (bed.now, bed.delivered());
    bed.run_for(span);
    (bed.delivered() - delivered) / bed.seconds_since(from)
}

/// "Achieving Expected STARTUP Bandwidth on a Link With Aggregation".
pub(crate) const STARTUP_AGGREGATION: Case = Case {
    name: "achieving-expected-startup-bandwidth-with-aggregation",
    clause: clause("BBR.extra_acked"),
    concerns: BBR3,
    setup: SETUP,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &["state", "extra_acked", "max_bw", "bdp"],
    demanded: "the window makes room for aggregated ACKs, and the rate is found, to a slot's ACKs",
    tolerance: 0.05,
    program: |case, bed| {
        bed.ack_slot = Some(SLOT);
        let (mut extra, mut window) = (0.0_f64, 0.0_f64);
        let left = bed.run_until(Span::from_secs(5), |bed| {
            extra = extra.max(bed.get("extra_acked"));
            if bed.get("bdp") > 0.0 {
                window = window.max(bed.get("cwnd") / bed.get("bdp"));
            }
            bed.get("state") != STARTUP
        });
        demand!(left, "it stays in Startup");
        let (found, rate) = (bed.get("max_bw"), bed.path.goodput());
        let slot = rate * SLOT.as_secs_f64();
        demand!((0.5..3.0).contains(&(extra / slot)), "{extra:.0} of {slot:.0} bytes in a slot");
        demand!(window > 2.0, "a window of {window} BDP");
        // A packet sent at the beginning of a slot's ACKs and acknowledged at the end of another's has both ("Experimental
        // Status" knows of it).
        let ratio = found / rate;
        let most = 1.0 + SLOT.as_secs_f64() / (PATH.rtt_ms as f64 / 1e3);
        demand!((1.0 - case.tolerance..most).contains(&ratio), "{ratio} of the rate");
        // From ten segments: doubled six times, and three round trips without growth.
        let rounds = bed.get("round_count");
        demand!(rounds <= 12.0, "{rounds} round trips");
        Ok(())
    },
};

/// "Achieving Expected Cruise Bandwidth on a Link With Aggregation".
pub(crate) const CRUISE_AGGREGATION: Case = Case {
    name: "achieving-expected-cruise-bandwidth-with-aggregation",
    clause: clause("BBR.extra_acked"),
    concerns: BBR3,
    setup: SETUP,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &["state", "extra_acked", "max_inflight"],
    demanded: "the largest aggregation of ten round trips widens the window; the link stays full",
    tolerance: 0.05,
    program: |case, bed| {
        bed.run_until(Span::from_secs(5), |bed| bed.get("state") == CRUISE);
        let before = (bed.get("extra_acked"), bed.get("cwnd"));
        bed.ack_slot = Some(SLOT);
        let rate = rate_over(bed, Span::from_millis(1500));
        let slot = bed.path.goodput() * SLOT.as_secs_f64();
        let more = bed.get("extra_acked") - before.0;
        demand!(more > 0.5 * slot, "{more:.0} more for {slot:.0} bytes in a slot");
        let wider = bed.get("cwnd") - before.1;
        demand!(wider > 0.5 * slot, "the window is wider by {wider:.0} bytes");
        demand!(case.near(rate, bed.path.goodput()), "{rate:.0} B/s");
        bed.ack_slot = None;
        // The excess shrinks by the hundredth that pacing leaves, and then ten round trips pass.
        let shrinks = bed.run_until(Span::from_secs(5), |bed| bed.get("extra_acked") < 0.5 * slot);
        demand!(shrinks, "{:.0} bytes five seconds later", bed.get("extra_acked"));
        Ok(())
    },
};

/// "Correctly Managing Sub-Packet BDPs".
pub(crate) const SUB_PACKET: Case = Case {
    name: "correctly-managing-sub-packet-bdps",
    clause: clause("Minimum cwnd for Pipelining"),
    concerns: BBR3,
    setup: SETUP,
    path: Path { mbit_per_s: 0.1, rtt_ms: 10, queue_bdp: 1000.0 },
    traffic: Traffic::Bulk,
    observed: &["state", "pacing_rate", "bw", "pacing_gain"],
    demanded: "at least four segments of window, and the rate of the link",
    tolerance: 0.1,
    program: |case, bed| {
        let reached = bed.run_until(Span::from_secs(60), |bed| bed.get("state") == CRUISE);
        demand!(reached, "no ProbeBW");
        bed.run_for(Span::from_secs(10));
        let mut least = f64::INFINITY;
        let (from, delivered) = (bed.now, bed.delivered());
        bed.run_until(Span::from_secs(30), |bed| {
            least = least.min(bed.get("cwnd"));
            false
        });
        demand!(least >= 4.0 * PAYLOAD as f64, "a window of {least} bytes");
        let rate = (bed.delivered() - delivered) / bed.seconds_since(from);
        demand!(case.near(rate, bed.path.goodput()), "{rate:.0} B/s");
        demand!(case.near(bed.get("bw"), bed.path.goodput()), "an estimate of {}", bed.get("bw"));
        let paced = bed.get("pacing_rate") / bed.get("pacing_gain");
        demand!(case.near(paced, bed.path.goodput()), "paced at {paced:.0} B/s");
        Ok(())
    },
};

/// "Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached".
pub(crate) const FASTER: Case = Case {
    name: "increasing-bandwidth-tenfold",
    clause: clause("Accelerating to Probe for Bandwidth"),
    concerns: BBR3,
    setup: SETUP,
    path: Path { mbit_per_s: 10.0, rtt_ms: 40, queue_bdp: 0.5 },
    traffic: Traffic::Bulk,
    observed: &["state", "max_bw", "inflight_longterm", "bw_probe_up_rounds"],
    demanded: "the bound grows by twice as much in each round trip, until the rate is found",
    tolerance: 0.05,
    program: |case, bed| {
        bed.run_until(Span::from_secs(20), |bed| bed.get("inflight_longterm").is_finite());
        bed.run_for(Span::from_secs(5));
        bed.set_rate(100.0);
        bed.set_queue_bdp(1.0);
        let (begin, mut up, mut steps) = (bed.now, Vec::new(), 0.0_f64);
        let rate = bed.path.goodput();
        let found = bed.run_until(Span::from_secs(30), |bed| {
            if bed.get("state") == UP {
                steps = steps.max(bed.get("bw_probe_up_rounds"));
                if up.last() != Some(&bed.get("round_count")) {
                    up.push(bed.get("round_count"));
                }
            }
            case.near(bed.get("max_bw"), rate)
        });
        demand!(found, "{:.0} of {rate:.0} B/s", bed.get("max_bw"));
        demand!(steps >= 3.0, "{steps} rounds of growth");
        // 345 segments: the logarithm is 9; a probe that is a precaution, and one that finds nothing new, may precede.
        demand!(up.len() <= 30, "{} round trips of probing", up.len());
        demand!(bed.seconds_since(begin) < 12.0, "{} s", bed.seconds_since(begin));
        Ok(())
    },
};

/// "Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down".
pub(crate) const SLOWER: Case = Case {
    name: "decreasing-bandwidth-tenfold",
    clause: clause("Updating the BBR.max_bw Max Filter"),
    concerns: BBR3,
    setup: SETUP,
    path: Path { mbit_per_s: 100.0, rtt_ms: 40, queue_bdp: 1.0 },
    traffic: Traffic::Bulk,
    observed: &["state", "max_bw", "bw_shortterm"],
    demanded: "losses lower bw_shortterm at once, and max_bw follows within its window",
    tolerance: 0.1,
    program: |case, bed| {
        bed.run_until(Span::from_secs(20), |bed| bed.get("state") == CRUISE);
        bed.set_rate(10.0);
        let rate = bed.path.goodput();
        let begin = bed.now;
        let mut least = f64::INFINITY;
        let lowered = bed.run_until(Span::from_secs(3), |bed| {
            least = least.min(bed.get("bw_shortterm"));
            bed.get("bw_shortterm") < 0.5 * bed.get("max_bw")
        });
        demand!(lowered, "bw_shortterm {least}");
        demand!(bed.get("max_bw") > 5.0 * rate, "max_bw fell with it");
        let adapts = bed.run_until(Span::from_secs(30), |bed| case.near(bed.get("max_bw"), rate));
        demand!(adapts, "{:.0} of {rate:.0} B/s", bed.get("max_bw"));
        demand!(bed.seconds_since(begin) < 15.0, "{} s", bed.seconds_since(begin));
        Ok(())
    },
};

/// "Handling Token Bucket Policers".
pub(crate) const POLICER: Case = Case {
    name: "handling-token-bucket-policers",
    clause: clause("When not Probing for Bandwidth"),
    concerns: BBR3,
    setup: SETUP,
    path: Path { mbit_per_s: 100.0, rtt_ms: 40, queue_bdp: 1.0 },
    traffic: Traffic::Bulk,
    observed: &["state", "bw_shortterm", "inflight_shortterm"],
    demanded: "the short-term bounds follow the tokens; few packets are lost",
    tolerance: 0.2,
    program: |case, bed| {
        bed.police(10.0, 200_000);
        let reached = bed.run_until(Span::from_secs(10), |bed| bed.get("state") >= DOWN);
        demand!(reached, "no ProbeBW");
        let bounded = bed.run_until(Span::from_secs(10), |bed| bed.get("bw_shortterm").is_finite());
        demand!(bounded && bed.get("inflight_shortterm").is_finite(), "no short-term bound");
        bed.run_for(Span::from_secs(10));
        let (sent, dropped) = (bed.sent_packets(), bed.dropped());
        let found = rate_over(bed, Span::from_secs(20));
        let rate = Path { mbit_per_s: 10.0, ..bed.path }.goodput();
        demand!(case.near(found, rate), "{found:.0} of {rate:.0} B/s");
        let lost = (bed.dropped() - dropped) as f64 / (bed.sent_packets() - sent) as f64;
        demand!(lost < 0.05, "{lost} of the packets are lost");
        Ok(())
    },
};
