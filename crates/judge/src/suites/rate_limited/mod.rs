//! Increase of the window of a rate-limited sender (draft-ietf-ccwg-ratelimited-increase).

use super::rfc9438::{k, w_cubic};
#[cfg(test)]
use super::subjects::engine;
use super::suite;
use crate::bed::{Bed, EventKind, Fate, PAYLOAD, Path, Traffic};
use crate::case::{Case, Clause, Concerns, Fault, Level, Verdict, demand};
use crate::subject::{Ecn, Setup};
use windlass_base::Span;
use windlass_tcp::Flags;

const PATH: Path = Path { mbit_per_s: 1000.0, rtt_ms: 40, queue_bdp: 0.5 };
const SETUP: Setup = Setup { rate_limited: true, ..Setup::DEFAULT };
const SLOW_START: Concerns = Concerns::Controllers(&["tahoe", "reno", "newreno", "cubic", "dctcp"]);
const RENO: Concerns = Concerns::Controllers(&["reno", "newreno"]);

const fn clause(section: &'static str, level: Level) -> Clause {
    Clause { document: "draft-ietf-ccwg-ratelimited-increase", section, level }
}

const BASE: Case = Case {
    name: "",
    clause: clause("Rate-Limited Increase", Level::Must),
    concerns: SLOW_START,
    setup: SETUP,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &[],
    demanded: "",
    tolerance: 0.0,
    program: |_, _| Ok(()),
};

/// The application writes so many segments, and waits for their ACKs.
fn burst(bed: &mut Bed, segments: u64) -> Result<(), Fault> {
    bed.write(segments * PAYLOAD);
    let end = bed.wire().acked() + segments * PAYLOAD;
    bed.run_until_acked(end)
}

/// The segments that leave at once when the application has as much data as it likes: the window.
fn at_once(bed: &mut Bed) -> f64 {
    bed.traffic = Traffic::Bulk;
    bed.run_for(Span::from_millis(5));
    bed.flight_segments()
}

/// The draft's example begins with a window of ten segments (RFC 6928).
fn needs_ten(bed: &Bed) -> Verdict {
    if bed.get("cwnd") < 9.5 * PAYLOAD as f64 {
        let reason = "the example begins with a window of ten segments, and the sender with less";
        return Err(Fault::NotObservable(reason.into()));
    }
    Ok(())
}

/// 4, 8 and 4 packets, then as many as the window allows; maxFS is the initial window of ten meanwhile.
const EXAMPLE: Case = Case {
    name: "the-example-of-the-appendix",
    clause: clause("An Example Using cwnd Represented in Bytes", Level::Must),
    traffic: Traffic::Pause,
    demanded: "flights of 4, 8 and 4 segments let the window grow to 20, and a flight of 20 to 40",
    program: |_, bed| {
        bed.run_for(Span::from_millis(100));
        needs_ten(bed)?;
        for segments in [4, 8, 4] {
            burst(bed, segments)?;
        }
        let window = at_once(bed);
        bed.expect("the window in segments", window, 19.0..=20.0)?;
        let doubled = bed.round_trip()?;
        bed.expect("the window a round trip later in segments", doubled, 38.0..=41.0)
    },
    ..BASE
};

/// A cap by the flight of the moment would be at eight segments.
const LARGEST: Case = Case {
    name: "the-largest-flight-counts",
    traffic: Traffic::Pause,
    demanded: "after a flight of 20 segments, many of 4 do not let the window grow beyond 40",
    program: |_, bed| {
        bed.run_for(Span::from_millis(100));
        needs_ten(bed)?;
        for segments in [10, 20, 4, 4, 4, 4, 4, 4, 4, 4] {
            burst(bed, segments)?;
        }
        let window = at_once(bed);
        bed.expect("the window in segments", window, 38.0..=40.0)
    },
    ..BASE
};

/// The flight is some 20 segments when a mark halves a window of 60 and more; later flights are of ten. A cap below
/// ssthresh makes room for slow start up to ssthresh, the halved window. A hundred round trips with the old maxFS, or
/// without a cap, would add 25 segments to that.
const RESET: Case = Case {
    name: "a-reduction-resets-the-largest-flight",
    concerns: RENO,
    setup: Setup { ecn: Ecn::Classic, ..SETUP },
    path: Path { mbit_per_s: 100.0, ..PATH },
    demanded: "after a reduction, earlier flights do not let the window grow",
    program: |_, bed| {
        bed.grow_to(60.0)?;
        bed.mark(1)?;
        bed.round_trip()?;
        let before = bed.round_trip()?;
        bed.traffic = Traffic::PerMillisecond(20 * PAYLOAD / 40);
        bed.run_for(Span::from_secs(1));
        bed.expect("the flight in segments", bed.flight_segments(), 15.0..=25.0)?;
        bed.next_data(1, Fate::Mark);
        bed.run_for(Span::from_millis(100));
        bed.traffic = Traffic::PerMillisecond(10 * PAYLOAD / 40);
        bed.run_for(Span::from_secs(4));
        bed.traffic = Traffic::Pause;
        bed.run_for(Span::from_millis(80));
        let window = at_once(bed);
        bed.expect("the window in segments", window, 10.0..=0.55 * before + 3.0)
    },
    ..BASE
};

/// Announces a window of so many segments from now on.
fn announce(bed: &mut Bed, segments: u64) -> Result<(), Fault> {
    let syn_ack = |event: &&crate::bed::Event| {
        event.kind == EventKind::Arrived && event.packet.segment.flags.contains(Flags::SYN)
    };
    let options =
        bed.wire().events().iter().find(syn_ack).map(|event| event.packet.segment.options);
    demand!(options.is_some(), "no SYN-ACK arrived");
    let shift = options.and_then(|options| options.window_scale).unwrap_or(0);
    bed.on_acks(move |packet| {
        let window = (segments * PAYLOAD) >> shift;
        packet.segment.window = u16::try_from(window + 1).unwrap_or(u16::MAX);
        Fate::Pass
    });
    Ok(())
}

const RECEIVER: Case = Case {
    name: "a-receiver-that-limits-is-no-exception",
    demanded: "while the receiver allows 20 segments, the window grows to 40",
    program: |_, bed| {
        bed.grow_to(1.0)?;
        announce(bed, 20)?;
        bed.run_for(Span::from_millis(600));
        bed.expect("the flight that the receiver allows", bed.flight_segments(), 18.0..=22.0)?;
        bed.leave_alone();
        // The next ACK opens the receiver's window.
        let acked = bed.wire().acked();
        bed.run_until_acked(acked + 30 * PAYLOAD)?;
        let window = bed.wire().peak_since(bed.now);
        demand!(window <= 64.0, "a flight of {window} segments");
        Ok(())
    },
    ..BASE
};

const SLOW_START_GOES_ON: Case = Case {
    name: "a-window-in-use-doubles-in-slow-start",
    clause: clause("Discussion", Level::Rule),
    demanded: "a sender that uses its window is not held back in slow start",
    program: |_, bed| {
        bed.grow_to(1.0)?;
        let mut before = bed.round_trip()?;
        while before < 150.0 {
            let window = bed.round_trip()?;
            bed.expect("growth in a round trip", window / before, 1.8..=2.1)?;
            before = window;
        }
        Ok(())
    },
    ..BASE
};

const AVOIDANCE_GOES_ON: Case = Case {
    name: "a-window-in-use-grows-in-congestion-avoidance",
    clause: clause("Discussion", Level::Rule),
    concerns: RENO,
    demanded: "a sender that uses its window is not held back in congestion avoidance",
    program: |_, bed| {
        bed.grow_to(40.0)?;
        bed.lose_and_repair()?;
        let begin = bed.round_trip()?;
        for _ in 0..12 {
            bed.round_trip()?;
        }
        let slope = (bed.window() - begin) / 12.0;
        bed.expect("segments per round trip", slope, 0.85..=1.15)
    },
    ..BASE
};

const CUBIC_GOES_ON: Case = Case {
    name: "a-window-in-use-follows-the-cubic",
    clause: clause("RFC 9438: CUBIC for Fast and Long-Distance Networks", Level::Rule),
    concerns: Concerns::Controllers(&["cubic"]),
    path: Path { mbit_per_s: 50.0, rtt_ms: 200, queue_bdp: 2.0 },
    demanded: "a sender that uses its window follows the cubic function of RFC 9438",
    tolerance: 0.05,
    program: |case, bed| {
        bed.grow_to(64.0)?;
        let cut = bed.lose_and_repair()?;
        let (w_max, begin) = (cut.before, 0.7 * cut.before);
        for part in [0.5, 1.0, 1.75] {
            let t_s = part * k(w_max, begin);
            bed.run_to(cut.at + Span::from_secs_f64(t_s));
            let expected = w_cubic(w_max, begin, t_s);
            let error = case.tolerance * expected + 1.5;
            let range = expected - error..=expected + error;
            bed.expect("the window in segments", bed.window(), range)?;
        }
        Ok(())
    },
    ..BASE
};

#[cfg(test)]
fn subjects() -> Vec<crate::Engine> {
    ["tahoe", "reno", "newreno", "cubic", "dctcp"].map(engine).into()
}

suite!("rate-limited", "Rate-limited increase", include_str!("coverage.toml"), subjects(), {
    the_example_of_the_appendix: EXAMPLE,
    the_largest_flight_counts: LARGEST,
    a_reduction_resets_the_largest_flight: RESET,
    a_receiver_that_limits_is_no_exception: RECEIVER,
    a_window_in_use_doubles_in_slow_start: SLOW_START_GOES_ON,
    a_window_in_use_grows_in_congestion_avoidance: AVOIDANCE_GOES_ON,
    a_window_in_use_follows_the_cubic: CUBIC_GOES_ON,
});
