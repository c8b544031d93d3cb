//! Rules of the draft that the appendix has no case for.

use super::*;
use crate::bed::{Bed, EventKind, Fate, PAYLOAD, Path, Traffic};
use crate::case::{Case, Fault, demand};
use crate::subject::Ecn;
use windlass_base::{Ecn as Codepoint, Span};

const PATH: Path = Path { mbit_per_s: 20.0, rtt_ms: 40, queue_bdp: 4.0 };
/// Losses bound the volume in flight there.
const SHALLOW: Path = Path { queue_bdp: 0.3, ..PATH };

const fn demands(section: &'static str, level: Level) -> Clause {
    Clause { level, ..clause(section) }
}

const BASE: Case = Case {
    name: "",
    clause: clause(""),
    concerns: BBR3,
    setup: SETUP,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &[],
    demanded: "",
    tolerance: 0.0,
    program: |_, _| Ok(()),
};

fn reach(bed: &mut Bed, state: f64) -> Result<(), Fault> {
    let found = bed.run_until(Span::from_secs(30), |bed| bed.get("state") == state);
    demand!(found, "never in state {state}");
    Ok(())
}

/// The part of the path's rate that is delivered in a span.
fn utilisation(bed: &mut Bed, span: Span) -> f64 {
    let (from, delivered) = (bed.now, bed.delivered());
    bed.run_for(span);
    (bed.delivered() - delivered) / bed.seconds_since(from) / bed.path.goodput()
}

pub(crate) const INITIAL_PACING: Case = Case {
    name: "the-first-window-is-paced",
    clause: clause("Pacing Rate: C.pacing_rate"),
    path: Path { mbit_per_s: 100.0, rtt_ms: 100, ..PATH },
    demanded: "the initial window leaves at 2.77 times the window per round trip",
    program: |_, bed| {
        bed.run_until(Span::from_secs(1), |bed| bed.wire().sent() >= 10 * PAYLOAD);
        let data =
            bed.wire().events().iter().filter(|event| {
                event.kind == EventKind::Sent && event.packet.segment.payload_len > 0
            });
        let times: Vec<_> = data.map(|event| event.at).take(10).collect();
        demand!(times.len() == 10, "{} packets", times.len());
        // The last of them leaves as a burst with one or two before it.
        let span = times[9].saturating_since(times[0]).as_secs_f64();
        bed.expect("seconds from the first to the tenth packet", span, 0.018..=0.045)
    },
    ..BASE
};

pub(crate) const MARGIN: Case = Case {
    name: "cruise-leaves-a-margin",
    clause: clause("Pacing Rate: C.pacing_rate"),
    observed: &["state"],
    demanded: "in ProbeBW_CRUISE the sender paces at 99 % of the rate, so that no queue stays",
    program: |_, bed| {
        reach(bed, CRUISE)?;
        bed.run_for(Span::from_millis(200));
        demand!(bed.get("state") == CRUISE, "state {}", bed.get("state"));
        let part = utilisation(bed, Span::from_millis(600));
        demand!(bed.get("state") == CRUISE, "state {} in the end", bed.get("state"));
        bed.expect("the part of the path's rate", part, 0.97..=0.998)?;
        bed.expect("bytes in the queue", bed.queued() as f64, 0.0..=3.0 * 1500.0)
    },
    ..BASE
};

pub(crate) const HEADROOM: Case = Case {
    name: "cruise-leaves-headroom",
    clause: clause("Bounding cwnd Based on Recent Congestion"),
    path: SHALLOW,
    observed: &["state", "inflight_longterm", "cwnd"],
    demanded: "in ProbeBW_CRUISE the window is 0.85 of inflight_longterm at most",
    program: |_, bed| {
        let bounded = |bed: &Bed| bed.get("inflight_longterm").is_finite();
        demand!(bed.run_until(Span::from_secs(20), bounded), "no bound is set");
        reach(bed, UP)?;
        reach(bed, CRUISE)?;
        bed.run_for(Span::from_millis(50));
        let mut most = 0.0_f64;
        bed.run_until(Span::from_secs(5), |bed| {
            if bed.get("state") == CRUISE {
                most = most.max(bed.get("cwnd") / bed.get("inflight_longterm"));
            }
            bed.get("state") != CRUISE
        });
        bed.expect("the window by the bound", most, 0.3..=0.86)
    },
    ..BASE
};

/// A sender that halves its window at each loss would have less than a third of the rate.
pub(crate) const FEW_LOSSES: Case = Case {
    name: "few-losses-do-not-take-the-rate",
    clause: clause("Probing for Bandwidth In ProbeBW"),
    path: Path { mbit_per_s: 10.0, ..PATH },
    demanded: "losses of 0.5 %, below BBR.LossThresh, leave nine tenths of the rate",
    program: |_, bed| {
        bed.set_loss(0.005);
        bed.run_for(Span::from_secs(4));
        let part = utilisation(bed, Span::from_secs(8));
        bed.expect("the part of the path's rate", part, 0.9..=1.0)
    },
    ..BASE
};

pub(crate) const SHORT_TERM: Case = Case {
    name: "losses-in-cruise-lower-the-bounds-by-beta-at-most",
    clause: clause("When not Probing for Bandwidth"),
    observed: &["state", "max_bw", "bw_shortterm", "inflight_shortterm", "round_count"],
    demanded: "a round trip with losses lowers the short-term bounds, to 0.7 of the model at least",
    program: |_, bed| {
        reach(bed, CRUISE)?;
        bed.run_for(Span::from_millis(100));
        let (rate, window) = (bed.get("max_bw"), bed.get("cwnd"));
        let mut packets = 0;
        bed.on_data(move |_, again| {
            packets += 1;
            if !again && packets <= 80 && packets % 2 == 0 { Fate::Drop } else { Fate::Pass }
        });
        let is_bounded = |bed: &Bed| bed.get("bw_shortterm").is_finite();
        demand!(bed.run_until(Span::from_secs(1), is_bounded), "no short-term bound");
        let part = bed.get("bw_shortterm") / rate;
        bed.expect("bw_shortterm by max_bw", part, 0.699..=0.999)?;
        let part = bed.get("inflight_shortterm") / window;
        bed.expect("inflight_shortterm by the window", part, 0.699..=0.999)
    },
    ..BASE
};

pub(crate) const REFILL_RESETS: Case = Case {
    name: "refill-forgets-the-short-term-bounds",
    clause: clause("ProbeBW_REFILL"),
    observed: &["state", "bw_shortterm", "inflight_shortterm"],
    demanded: "ProbeBW_REFILL resets the bounds that losses have set",
    program: |_, bed| {
        reach(bed, CRUISE)?;
        bed.next_data(8, Fate::Drop);
        let is_bounded = |bed: &Bed| bed.get("bw_shortterm").is_finite();
        demand!(bed.run_until(Span::from_secs(1), is_bounded), "no short-term bound");
        reach(bed, REFILL)?;
        let bounds = (bed.get("bw_shortterm"), bed.get("inflight_shortterm"));
        demand!(bounds == (f64::INFINITY, f64::INFINITY), "the bounds are {bounds:?}");
        Ok(())
    },
    ..BASE
};

/// The bandwidth-delay product has 17 packets: 17 round trips are less than two seconds.
pub(crate) const AS_RENO: Case = Case {
    name: "small-windows-are-probed-as-often-as-renos",
    clause: clause("A Dual-Time-Scale Approach for Coexistence"),
    path: Path { mbit_per_s: 5.0, ..PATH },
    observed: &["state", "round_count"],
    demanded: "the time between probes is the BDP in packets, in round trips, if that is below 2 s",
    program: |_, bed| {
        reach(bed, UP)?;
        reach(bed, CRUISE)?;
        reach(bed, REFILL)?;
        let (begin, round) = (bed.now, bed.get("round_count"));
        reach(bed, DOWN)?;
        reach(bed, REFILL)?;
        let (seconds, rounds) = (bed.seconds_since(begin), bed.get("round_count") - round);
        bed.expect("seconds between probes", seconds, 0.4..=1.9)?;
        bed.expect("round trips between probes", rounds, 12.0..=30.0)
    },
    ..BASE
};

/// The RTT is 60 ms from then on.
pub(crate) const LONGER_PATH: Case = Case {
    name: "min-rtt-is-that-of-ten-seconds",
    clause: clause("BBR.min_rtt Min Filter"),
    path: Path { mbit_per_s: 8.0, ..PATH },
    demanded: "min_rtt follows a longer path after ten seconds, and not before",
    program: |_, bed| {
        bed.run_for(Span::from_secs(2));
        if bed.get("min_rtt").is_nan() {
            return Err(Fault::NotObservable("the subject has no variable min_rtt".to_owned()));
        }
        bed.expect("min_rtt in seconds", bed.get("min_rtt"), 0.040..=0.043)?;
        bed.path.rtt_ms = 60;
        // The newest sample of the short path may be two seconds old.
        bed.run_for(Span::from_secs(7));
        bed.expect("min_rtt after 7 s", bed.get("min_rtt"), 0.040..=0.043)?;
        bed.run_for(Span::from_secs(10));
        bed.expect("min_rtt after 17 s", bed.get("min_rtt"), 0.060..=0.064)
    },
    ..BASE
};

/// Dips of the flight to nearly half a BDP, by the packets.
fn dips(bed: &Bed) -> Vec<f64> {
    let begin = bed.wire().events().first().map(|event| event.at).unwrap_or_default();
    let low = (0.62 * bed.path.bdp() * PAYLOAD as f64 / 1500.0) as u64;
    let mut dips: Vec<f64> = Vec::new();
    for event in bed.wire().events().iter().filter(|event| event.flight < low) {
        let at = event.at.saturating_since(begin).as_secs_f64();
        if at > 3.0 && dips.last().is_none_or(|last| at > last + 1.0) {
            dips.push(at);
        }
    }
    dips
}

pub(crate) const INTERVAL: Case = Case {
    name: "probe-rtt-comes-every-five-seconds",
    clause: demands("ProbeRTT Design Rationale", Level::Must),
    path: Path { mbit_per_s: 8.0, ..PATH },
    demanded: "a sender that is never idle drains the path each five seconds",
    program: |_, bed| {
        bed.run_for(Span::from_secs(23));
        let dips = dips(bed);
        demand!((3..=5).contains(&dips.len()), "the flight is small at {dips:?} s");
        for two in dips.windows(2) {
            bed.expect("seconds between two of them", two[1] - two[0], 4.9..=5.6)?;
        }
        Ok(())
    },
    ..BASE
};

pub(crate) const TIMEOUT: Case = Case {
    name: "a-timeout-leaves-one-segment-and-the-model",
    clause: clause("Modulating cwnd in Loss Recovery"),
    demanded: "after a timeout one segment leaves, and after the repair the rate is as before",
    program: |_, bed| {
        bed.run_for(Span::from_secs(2));
        bed.time_out()?;
        let from = bed.now;
        // The full rate has 75 packets in this time.
        let first = bed.packets_in(Span::from_millis(45));
        bed.expect("packets in the round trip behind the retransmission's", first, 1.0..=8.0)?;
        bed.run_to(from + Span::from_millis(1200));
        let part = utilisation(bed, Span::from_secs(1));
        bed.expect("the part of the path's rate a second later", part, 0.85..=1.0)
    },
    ..BASE
};

/// Without ECT there is nothing to react to, which the clause allows.
pub(crate) const MARKS: Case = Case {
    name: "ect-needs-a-reaction-to-marks",
    clause: demands("ECN", Level::Must),
    setup: Setup { ecn: Ecn::Classic, ..SETUP },
    demanded: "a sender whose data is ECT sends less when all of it is marked",
    program: |_, bed| {
        bed.run_for(Span::from_secs(2));
        if bed.wire().codepoint() == Some(Codepoint::NotEct) {
            return Ok(());
        }
        bed.on_data(|_, _| Fate::Mark);
        bed.run_for(Span::from_secs(3));
        let part = utilisation(bed, Span::from_secs(1));
        bed.expect("the part of the path's rate", part, 0.0..=0.7)
    },
    ..BASE
};
