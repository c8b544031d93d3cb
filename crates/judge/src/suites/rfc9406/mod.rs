//! HyStart++ (RFC 9406).
//!
//! The path is so fast that the packets of a round trip leave as a burst. A program delays all packets of a burst, so
//! that the RTT of a round is larger as a whole.

mod conservative;
mod threshold;

#[cfg(test)]
use super::subjects::engine;
use super::suite;
use crate::bed::{Bed, Fate, Path, Traffic};
use crate::case::{Case, Clause, Concerns, Fault, Level};
use crate::subject::{Ecn, Setup};
use windlass_base::Span;

const PATH: Path = Path { mbit_per_s: 1000.0, rtt_ms: 100, queue_bdp: 0.5 };

const fn clause(section: &'static str, level: Level) -> Clause {
    Clause { document: "RFC 9406", section, level }
}

const BASE: Case = Case {
    name: "",
    clause: clause("", Level::Rule),
    // RFC 9438 section 4.10: CUBIC's slow start.
    concerns: Concerns::Controllers(&["cubic"]),
    setup: Setup::DEFAULT,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &[],
    demanded: "",
    tolerance: 0.0,
    program: |_, _| Ok(()),
};

/// Delays each packet with data that is sent from now on: the next burst, and those behind it.
fn delay(bed: &mut Bed, ms: u64) {
    bed.on_data(move |_, _| Fate::Late(Span::from_millis(ms)));
}

/// Slow start begins: a burst of the initial window is in flight.
fn begin(bed: &mut Bed) -> Result<(), Fault> {
    bed.grow_to(1.0)?;
    bed.run_for(Span::from_millis(1));
    Ok(())
}

/// Growth in a round trip: 2 in slow start, 1.25 in conservative slow start.
fn growth(bed: &mut Bed) -> Result<f64, Fault> {
    let before = bed.flight_segments();
    Ok(bed.round_trip()? / before)
}

/// Round trips of slow start, then a burst with a larger RTT, up to the end of the burst behind it. A round of the
/// sender ends within a burst, so that growth is still fast in the first part of the late burst.
fn enter_conservative(bed: &mut Bed) -> Result<(), Fault> {
    begin(bed)?;
    growth(bed)?;
    delay(bed, 20);
    growth(bed)?;
    growth(bed)?;
    Ok(())
}

suite!("rfc9406", "HyStart++", include_str!("coverage.toml"), [engine("cubic")], {
    a_delay_increase_slows_growth: threshold::EXIT,
    without_a_delay_increase_slow_start_goes_on: threshold::NO_EXIT,
    the_threshold_is_an_eighth_of_the_rtt: threshold::EIGHTH,
    the_threshold_is_four_milliseconds_at_least: threshold::LEAST,
    the_threshold_is_sixteen_milliseconds_at_most: threshold::MOST,
    fewer_than_eight_samples_decide_nothing: threshold::SAMPLES,
    the_least_rtt_of_a_round_counts: threshold::LEAST_OF_ROUND,
    conservative_slow_start_grows_by_a_half_at_most: conservative::DIVISOR,
    conservative_slow_start_grows_by_a_quarter: conservative::QUARTER,
    five_rounds_later_congestion_avoidance_begins: conservative::ROUNDS,
    a_lower_rtt_resumes_slow_start: conservative::RESUME,
    the_same_rtt_does_not_resume_slow_start: conservative::STAY,
    a_loss_ends_conservative_slow_start: conservative::LOSS,
    an_echo_ends_conservative_slow_start: conservative::ECHO,
    only_the_first_slow_start_has_it: conservative::FIRST_ONLY,
});
