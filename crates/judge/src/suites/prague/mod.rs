//! Prague (draft-briscoe-iccrg-prague-congestion-control-04).

mod growth;
mod identification;
mod reaction;

#[cfg(test)]
use super::subjects::engine;
use super::suite;
use crate::bed::{Bed, EventKind, Fate, Path, Traffic};
use crate::case::{Case, Clause, Concerns, Fault, Level, demand};
use crate::subject::{Ecn, Setup};
use windlass_base::{Ecn as Codepoint, Span};
use windlass_tcp::Flags;

const PATH: Path = Path { mbit_per_s: 200.0, rtt_ms: 40, queue_bdp: 2.0 };
const SETUP: Setup = Setup { ecn: Ecn::Accurate, ..Setup::DEFAULT };
/// The weight of a round in alpha.
const GAIN: f64 = 1.0 / 16.0;

const fn clause(section: &'static str, level: Level) -> Clause {
    Clause { document: "draft-briscoe-iccrg-prague-congestion-control-04", section, level }
}

const BASE: Case = Case {
    name: "",
    clause: clause("", Level::Rule),
    concerns: Concerns::Controllers(&["prague"]),
    setup: SETUP,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &[],
    demanded: "",
    tolerance: 0.0,
    program: |_, _| Ok(()),
};

/// Congestion avoidance after a first mark, at some `segments`, and so many round trips without marks.
fn settle(bed: &mut Bed, segments: f64, peace: u32) -> Result<(), Fault> {
    bed.grow_to(segments)?;
    bed.mark(1)?;
    for _ in 0..peace {
        bed.run_for(bed.rtt());
    }
    Ok(())
}

suite!("prague", "Prague", include_str!("coverage.toml"), [engine("prague")], {
    data_is_ect1: identification::ECT1,
    a_syn_asks_for_accurate_ecn: identification::ASKS,
    without_ecn_data_is_not_ect: identification::NO_ECN,
    with_classic_ecn_data_is_not_ect1: identification::CLASSIC,
    the_first_mark_halves_the_window: reaction::FIRST,
    alpha_decays_by_a_sixteenth_a_round: reaction::DECAY,
    a_mark_after_long_peace_reduces_little: reaction::PEACE,
    alpha_follows_the_share_of_marks: reaction::SHARE,
    a_round_trip_has_one_reduction: reaction::ONCE,
    a_loss_halves_the_window: reaction::LOSS,
    a_loss_after_a_mark_halves_the_window: reaction::LOSS_AFTER_MARK,
    a_timeout_restarts_slow_start: reaction::TIMEOUT,
    a_mark_ends_slow_start: growth::ENDS_SLOW_START,
    a_round_trip_adds_a_segment: growth::LONG,
    short_round_trips_count_as_25_milliseconds: growth::SHORT,
    packets_are_paced: growth::PACED,
    a_queue_that_marks_early_stays_short: growth::SHORT_QUEUE,
    a_window_may_be_less_than_a_segment: growth::FRACTION,
});
