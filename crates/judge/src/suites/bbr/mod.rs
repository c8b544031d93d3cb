//! BBR version 3 (draft-ietf-ccwg-bbr-06): the cases of its appendix "BBR Example Test Cases", and what they miss.

mod beyond;
#[cfg(test)]
mod lockstep;
mod paths;
mod probe_bw;
mod probe_rtt;
mod spurious;
mod startup;

use super::suite;
use crate::case::{Clause, Concerns, Level, Verdict};
use crate::subject::Setup;
use windlass_base::Span;
use windlass_tcp::config::AckPolicy;
#[cfg(test)]
use {crate::Engine, std::sync::Arc, windlass_tcp::cc::Bbr3};

const BBR3: Concerns = Concerns::Controllers(&["bbr3"]);
const SETUP: Setup = Setup {
    undo: true,
    acks: AckPolicy::Delayed { max: Span::from_millis(40) },
    receive_buffer: 64 << 20,
    ..Setup::DEFAULT
};

/// BBR.state as the variable `state` has it.
const STARTUP: f64 = 0.0;
const DRAIN: f64 = 1.0;
const DOWN: f64 = 2.0;
const CRUISE: f64 = 3.0;
const REFILL: f64 = 4.0;
const UP: f64 = 5.0;
const PROBE_RTT: f64 = 6.0;

const fn clause(section: &'static str) -> Clause {
    Clause { document: "draft-ietf-ccwg-bbr-06", section, level: Level::Rule }
}

suite!("bbr", "BBR version 3", include_str!("coverage.toml"), [Engine::new(Arc::new(Bbr3::default()))], {
    exiting_startup_on_bandwidth_plateau: startup::PLATEAU,
    exiting_startup_on_loss_when_application_limited: startup::LOSS,
    exiting_drain_based_on_inflight: startup::DRAIN_INFLIGHT,
    exiting_drain_based_on_time: startup::DRAIN_TIME,
    exiting_probe_up_on_bandwidth_plateau: probe_bw::UP_PLATEAU,
    exiting_probe_up_on_loss_when_application_limited: probe_bw::UP_LOSS,
    never_exiting_probe_up_when_application_limited: startup::APP_LIMITED,
    exiting_probe_down_on_inflight: probe_bw::DOWN_INFLIGHT,
    exiting_probe_down_after_max_time: probe_bw::DOWN_TIME,
    entering_and_exiting_probe_rtt: probe_rtt::ENTER_AND_EXIT,
    skipping_probe_rtt_due_to_application_limited_sending: probe_rtt::SKIPPED_WHEN_IDLE,
    achieving_expected_startup_bandwidth_with_aggregation: paths::STARTUP_AGGREGATION,
    achieving_expected_cruise_bandwidth_with_aggregation: paths::CRUISE_AGGREGATION,
    correctly_managing_sub_packet_bdps: paths::SUB_PACKET,
    increasing_bandwidth_tenfold: paths::FASTER,
    decreasing_bandwidth_tenfold: paths::SLOWER,
    handling_token_bucket_policers: paths::POLICER,
    handling_spurious_fast_recovery: spurious::FAST_RECOVERY,
    handling_spurious_rto_recovery: spurious::TIMEOUT,
    entering_and_exiting_probe_rtt_during_startup: probe_rtt::DURING_STARTUP,
    handling_loss_during_probe_up_after_the_bound_is_set: probe_bw::UP_LOSS_BOUND,
    handling_application_limited_sending_during_refill: probe_bw::REFILL_APP_LIMITED,
    the_first_window_is_paced: beyond::INITIAL_PACING,
    cruise_leaves_a_margin: beyond::MARGIN,
    cruise_leaves_headroom: beyond::HEADROOM,
    few_losses_do_not_take_the_rate: beyond::FEW_LOSSES,
    losses_in_cruise_lower_the_bounds_by_beta_at_most: beyond::SHORT_TERM,
    refill_forgets_the_short_term_bounds: beyond::REFILL_RESETS,
    small_windows_are_probed_as_often_as_renos: beyond::AS_RENO,
    min_rtt_is_that_of_ten_seconds: beyond::LONGER_PATH,
    probe_rtt_comes_every_five_seconds: beyond::INTERVAL,
    a_timeout_leaves_one_segment_and_the_model: beyond::TIMEOUT,
    ect_needs_a_reaction_to_marks: beyond::MARKS,
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;
    use windlass_tcp::cc::Bbr;

    /// The appendix has 22; those of [`beyond`] follow.
    #[test]
    fn there_are_more_cases_than_those_of_the_appendix() {
        assert!(SUITE.cases.len() >= 22 + 6);
    }

    /// The cases need the variables: a controller without them is not judged, with the reason.
    #[test]
    fn a_subject_without_the_variables_is_not_observable() {
        for case in SUITE.cases.iter().filter(|case| !case.observed.is_empty()) {
            let judgement = case.judge(&Engine::new(Arc::new(Bbr)));
            let Outcome::NotObservable(reason) = judgement.outcome else {
                panic!("{}: {:?}", case.name, judgement.outcome);
            };
            assert!(reason.contains("no variable"), "{reason}");
        }
    }
}
