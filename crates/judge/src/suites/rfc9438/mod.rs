//! CUBIC (RFC 9438).

mod decrease;
mod growth;
mod reno_friendly;
mod timeout;

#[cfg(test)]
use super::subjects::engine;
use super::suite;
use crate::bed::{Bed, Cut, Path, Traffic};
use crate::case::{Case, Clause, Concerns, Fault, Level};
use crate::subject::{Ecn, Setup};
use windlass_base::Span;

const CUBIC: Concerns = Concerns::Controllers(&["cubic"]);
const BETA: f64 = 0.7;
const C: f64 = 0.4;

/// Far from Reno's region: the cubic function decides.
const LONG: Path = Path { mbit_per_s: 50.0, rtt_ms: 200, queue_bdp: 2.0 };
/// In Reno's region.
const SHORT: Path = Path { mbit_per_s: 100.0, rtt_ms: 20, queue_bdp: 2.0 };

const fn clause(section: &'static str, level: Level) -> Clause {
    Clause { document: "RFC 9438", section, level }
}

const BASE: Case = Case {
    name: "",
    clause: clause("", Level::Rule),
    concerns: CUBIC,
    setup: Setup::DEFAULT,
    path: LONG,
    traffic: Traffic::Bulk,
    observed: &[],
    demanded: "",
    tolerance: 0.05,
    program: |_, _| Ok(()),
};

const ECN: Setup = Setup { ecn: Ecn::Classic, ..Setup::DEFAULT };

/// K in seconds (section 4.2, figure 2), from W_max and the window of the epoch's beginning in segments.
pub(super) fn k(w_max: f64, begin: f64) -> f64 {
    libm::cbrt((w_max - begin).max(0.0) / C)
}

/// W_cubic in segments (section 4.2, figure 1), so many seconds after the epoch's beginning.
pub(super) fn w_cubic(w_max: f64, begin: f64, t_s: f64) -> f64 {
    let from_plateau = t_s - k(w_max, begin);
    C * from_plateau * from_plateau * from_plateau + w_max
}

/// The window of a moment after a cut, in seconds, and the tolerance around the cubic's value: a share, and a segment
/// and a half for windows of whole segments.
fn follow(
    case: &Case,
    bed: &mut Bed,
    cut: &Cut,
    (w_max, begin): (f64, f64),
    t_s: f64,
    what: &'static str,
) -> Result<(), Fault> {
    bed.run_to(cut.at + Span::from_secs_f64(t_s));
    let expected = w_cubic(w_max, begin, t_s);
    let error = case.tolerance * expected + 1.5;
    bed.expect(what, bed.window(), expected - error..=expected + error)
}

suite!("rfc9438", "CUBIC", include_str!("coverage.toml"), [engine("cubic")], {
    a_loss_leaves_seven_tenths: decrease::LOSS,
    an_echo_leaves_seven_tenths: decrease::ECHO,
    echoes_reduce_the_window_to_one_segment: decrease::TO_ONE,
    a_loss_leaves_two_segments: decrease::TO_TWO,
    a_loss_below_the_plateau_lowers_the_next_one: decrease::FAST_CONVERGENCE,
    a_loss_above_the_plateau_raises_the_next_one: decrease::RISING_PLATEAU,
    the_window_is_concave_up_to_the_plateau: growth::CONCAVE,
    the_window_is_convex_beyond_the_plateau: growth::CONVEX,
    the_window_stays_at_the_plateau: growth::PLATEAU,
    growth_is_a_function_of_time: growth::OTHER_RTT,
    an_epoch_begins_after_an_echo_too: growth::AFTER_ECHO,
    a_round_trip_adds_at_most_half_a_window: growth::BOUND,
    limited_time_is_not_in_the_curve: growth::LIMITED_TIME,
    idle_time_is_not_in_the_curve: growth::IDLE_TIME,
    an_unused_window_does_not_grow: growth::UNUSED,
    below_renos_window_it_grows_as_reno: reno_friendly::BELOW_PRIOR,
    from_the_last_window_on_it_grows_a_segment: reno_friendly::ABOVE_PRIOR,
    delayed_acks_count_all_their_segments: reno_friendly::DELAYED_ACKS,
    slow_start_doubles_the_window: timeout::SLOW_START,
    a_timeout_leaves_seven_tenths_as_threshold: timeout::THRESHOLD,
    after_a_timeout_there_is_no_plateau: timeout::NO_PLATEAU,
});
