//! The 22 cases of draft-ietf-ccwg-bbr-06, "BBR Example Test Cases". Each is data and a short program ([`case::Case`]),
//! so that it can judge any controller with the draft's variables.

mod bed;
mod case;
mod lockstep;
mod paths;
mod probe_bw;
mod probe_rtt;
mod spurious;
mod startup;

use case::Case;
use std::sync::Arc;
use windlass_tcp::cc::{Bbr, Bbr3};

/// A test of each case, and the list of all.
macro_rules! cases {
    ($($test:ident: $case:expr,)+) => {
        const CASES: [Case; [$(stringify!($test)),+].len()] = [$($case),+];

        $(
            #[test]
            fn $test() {
                if let Err(reason) = $case.judge(Arc::new(Bbr3::default())) {
                    panic!("{reason}");
                }
            }
        )+
    };
}

cases! {
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
}

#[test]
fn there_are_22_cases_each_with_its_clause() {
    assert_eq!(CASES.len(), 22);
    let mut names: Vec<_> = CASES.iter().map(|case| case.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 22);
    assert!(CASES.iter().all(|case| !case.section.is_empty() && !case.demanded.is_empty()));
}

/// A judge needs the variables: a controller without them fails, with the reason.
#[test]
fn a_subject_of_another_kind_fails_each_case() {
    for case in &CASES {
        let reason = case.judge(Arc::new(Bbr)).expect_err("version 1");
        assert!(reason.contains("no variable"), "{reason}");
    }
}
