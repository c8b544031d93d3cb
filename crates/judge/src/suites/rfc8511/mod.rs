//! Alternative Backoff with ECN (RFC 8511).

#[cfg(test)]
use super::subjects::loss_based;
use super::suite;
use crate::bed::{Bed, Fate, Path, Traffic};
use crate::case::{Case, Clause, Concerns, Fault, Level, demand};
use crate::subject::{Ecn, Setup};

const PATH: Path = Path { mbit_per_s: 100.0, rtt_ms: 20, queue_bdp: 2.0 };
const SETUP: Setup = Setup { ecn: Ecn::Classic, abe: true, ..Setup::DEFAULT };
const RENO: Concerns = Concerns::Controllers(&["reno", "newreno"]);
const CUBIC: Concerns = Concerns::Controllers(&["cubic"]);
const BOTH: Concerns = Concerns::Controllers(&["reno", "newreno", "cubic"]);

const fn clause(section: &'static str, level: Level) -> Clause {
    Clause { document: "RFC 8511", section, level }
}

const BASE: Case = Case {
    name: "",
    clause: clause("", Level::Rule),
    concerns: BOTH,
    setup: SETUP,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &[],
    demanded: "",
    tolerance: 0.0,
    program: |_, _| Ok(()),
};

/// A window of some 60 segments in congestion avoidance.
fn settle(bed: &mut Bed) -> Result<(), Fault> {
    bed.grow_to(60.0)?;
    bed.lose_next()?;
    bed.round_trip()?;
    bed.round_trip()?;
    Ok(())
}

/// The part that an echo leaves.
fn echo(bed: &mut Bed) -> Result<f64, Fault> {
    settle(bed)?;
    Ok(bed.mark(1)?.factor())
}

const RENO_ECHO: Case = Case {
    name: "an-echo-leaves-four-fifths-of-renos-window",
    clause: clause("3", Level::Should),
    concerns: RENO,
    demanded: "an echo leaves 0.8 of Reno's window",
    program: |_, bed| {
        let left = echo(bed)?;
        bed.expect("the part left by an echo", left, 0.76..=0.84)
    },
    ..BASE
};

const CUBIC_ECHO: Case = Case {
    name: "an-echo-leaves-85-percent-of-cubics-window",
    clause: clause("3.1", Level::Rule),
    concerns: CUBIC,
    demanded: "an echo leaves 0.85 of CUBIC's window",
    program: |_, bed| {
        let left = echo(bed)?;
        bed.expect("the part left by an echo", left, 0.81..=0.89)
    },
    ..BASE
};

const SLOW_START: Case = Case {
    name: "an-echo-in-slow-start-leaves-as-much",
    clause: clause("3", Level::Should),
    concerns: RENO,
    demanded: "an echo in slow start leaves 0.8 of the window and ends slow start",
    program: |_, bed| {
        bed.grow_to(40.0)?;
        let cut = bed.mark(1)?;
        bed.expect("the part left by an echo", cut.factor(), 0.76..=0.84)?;
        let (before, after) = (bed.round_trip()?, bed.round_trip()?);
        bed.expect("growth in a round trip in segments", after - before, -1.0..=2.0)
    },
    ..BASE
};

const RENO_LOSS: Case = Case {
    name: "a-loss-halves-renos-window",
    clause: clause("3", Level::Rule),
    concerns: RENO,
    demanded: "a loss halves the window as without ABE",
    program: |_, bed| {
        settle(bed)?;
        let left = bed.lose_next()?.factor();
        bed.expect("the part left by a loss", left, 0.46..=0.55)
    },
    ..BASE
};

const CUBIC_LOSS: Case = Case {
    name: "a-loss-leaves-seven-tenths-of-cubics-window",
    clause: clause("3.1", Level::Rule),
    concerns: CUBIC,
    demanded: "a loss leaves 0.7 of the window as without ABE",
    program: |_, bed| {
        settle(bed)?;
        let left = bed.lose_next()?.factor();
        bed.expect("the part left by a loss", left, 0.66..=0.75)
    },
    ..BASE
};

const ONCE: Case = Case {
    name: "a-round-trip-has-one-reduction",
    clause: clause("4.2", Level::Rule),
    demanded: "many marks in a round trip reduce the window once",
    program: |_, bed| {
        settle(bed)?;
        let left = bed.mark(12)?.factor();
        bed.expect("the part left by twelve marks", left, 0.76..=0.89)
    },
    ..BASE
};

const LOSS_TOO: Case = Case {
    name: "a-loss-in-the-same-round-trip-reduces-no-more",
    clause: clause("4.2", Level::Rule),
    demanded: "after an echo, a loss in the same round trip does not reduce the window again",
    program: |_, bed| {
        settle(bed)?;
        let mut packets = 0;
        bed.on_data(move |_, _| {
            packets += 1;
            match packets {
                1 => Fate::Mark,
                4 => Fate::Drop,
                _ => Fate::Pass,
            }
        });
        let left = bed.repair()?.factor();
        bed.expect("the part left by both", left, 0.74..=0.92)
    },
    ..BASE
};

const PERSISTENT: Case = Case {
    name: "each-round-trip-with-marks-reduces",
    clause: clause("4.2", Level::Rule),
    demanded: "while marks go on, each round trip reduces the window",
    program: |_, bed| {
        settle(bed)?;
        bed.demand_ect()?;
        let before = bed.window();
        bed.on_data(|_, _| Fate::Mark);
        for _ in 0..12 {
            bed.round_trip()?;
        }
        let after = bed.window();
        demand!(after < 0.3 * before, "{after} segments after {before}");
        Ok(())
    },
    ..BASE
};

const THRESHOLD: Case = Case {
    name: "an-echo-lowers-the-threshold",
    clause: clause("3", Level::Should),
    concerns: RENO,
    demanded: "the window does not grow beyond ssthresh by slow start afterwards",
    program: |_, bed| {
        settle(bed)?;
        let cut = bed.mark(1)?;
        let mut window = cut.after;
        for _ in 0..5 {
            window = bed.round_trip()?;
        }
        bed.expect("growth in five round trips in segments", window - cut.after, 2.0..=7.0)
    },
    ..BASE
};

const ACCURATE: Case = Case {
    name: "counted-marks-reduce-as-echoes-do",
    clause: clause("5", Level::Rule),
    setup: Setup { ecn: Ecn::Accurate, ..SETUP },
    demanded: "marks that AccECN counts reduce the window as an echo does",
    program: |_, bed| {
        let left = echo(bed)?;
        bed.expect("the part left by a mark", left, 0.76..=0.89)
    },
    ..BASE
};

suite!("rfc8511", "Alternative Backoff with ECN", include_str!("coverage.toml"), loss_based(), {
    an_echo_leaves_four_fifths_of_renos_window: RENO_ECHO,
    an_echo_leaves_85_percent_of_cubics_window: CUBIC_ECHO,
    an_echo_in_slow_start_leaves_as_much: SLOW_START,
    an_echo_lowers_the_threshold: THRESHOLD,
    a_loss_halves_renos_window: RENO_LOSS,
    a_loss_leaves_seven_tenths_of_cubics_window: CUBIC_LOSS,
    a_round_trip_has_one_reduction: ONCE,
    a_loss_in_the_same_round_trip_reduces_no_more: LOSS_TOO,
    each_round_trip_with_marks_reduces: PERSISTENT,
    counted_marks_reduce_as_echoes_do: ACCURATE,
});
