//! Congestion control (RFC 5681), with what belongs to it: the initial window (RFC 6928), limited transmit (RFC 3042),
//! the retransmission timer (RFC 6298), the segment size and probes of a zero window (RFC 9293).

mod avoidance;
mod duplicates;
mod no_duplicates;
mod quiet;
mod reductions;
mod start;
mod timeout;
mod timer;

use super::suite;
#[cfg(test)]
use super::transport::tests;
use super::transport::*;
use crate::case::{Clause, Level};

pub(super) use duplicates::released_by_duplicates;

const fn clause(section: &'static str, level: Level) -> Clause {
    Clause { document: "RFC 5681", section, level }
}

suite!("rfc5681", "TCP congestion control", include_str!("coverage.toml"), tests::engines(), {
    initial_window: start::INITIAL_WINDOW,
    initial_window_after_a_lost_syn_ack: start::LOST_SYN_ACK,
    options_leave_less_room_for_data: start::OPTIONS,
    slow_start_doubles: start::DOUBLES_EACH_ROUND,
    slow_start_at_most_doubles: start::AT_MOST_DOUBLES,
    slow_start_counts_an_ack_as_one_segment: start::STRETCH_ACK,
    ack_division_in_slow_start: start::ACK_DIVISION,
    ack_division_in_congestion_avoidance: avoidance::ACK_DIVISION,
    congestion_avoidance_adds_a_segment: avoidance::A_SEGMENT,
    congestion_avoidance_with_delayed_acks: avoidance::DELAYED_ACKS,
    fast_retransmit_on_the_third_duplicate: duplicates::THIRD,
    no_fast_retransmit_on_the_second_duplicate: duplicates::SECOND,
    reordering_by_two_costs_nothing: duplicates::REORDERED,
    limited_transmit: duplicates::LIMITED_TRANSMIT,
    old_acks_are_no_duplicates: no_duplicates::OLD,
    acks_with_data_are_no_duplicates: no_duplicates::WITH_DATA,
    window_updates_are_no_duplicates: no_duplicates::WINDOW_UPDATES,
    acks_of_nothing_outstanding_are_no_duplicates: no_duplicates::NOTHING_OUTSTANDING,
    a_loss_reduces_the_window: reductions::REDUCES,
    a_loss_halves_the_window: reductions::HALVES,
    duplicates_inflate_the_window: reductions::INFLATES,
    ssthresh_follows_flightsize: reductions::FLIGHT_SIZE,
    losses_in_two_windows_reduce_twice: reductions::TWO_WINDOWS,
    a_timeout_sends_one_segment: timeout::LOSS_WINDOW,
    slow_start_after_a_timeout: timeout::SLOW_START,
    ssthresh_after_a_timeout: timeout::SSTHRESH,
    ssthresh_is_two_segments_at_least: timeout::LEAST,
    ssthresh_is_held_on_a_repeated_timeout: timeout::HELD,
    rto_doubles: timer::DOUBLES_EACH_TIME,
    rto_is_a_second_at_least: timer::FLOOR,
    rto_follows_the_rtt: timer::FOLLOWS,
    rto_covers_the_variance: timer::VARIANCE,
    no_rtt_sample_of_a_retransmission: timer::KARN,
    an_ack_restarts_the_timer: timer::RESTARTS,
    acks_keep_the_timer_from_expiring: timer::BUSY,
    the_first_rto_is_a_second: timer::FIRST,
    rto_after_a_lost_syn_is_three_seconds: timer::LOST_SYN,
    no_timer_without_data_in_flight: quiet::NOTHING_IN_FLIGHT,
    restart_after_idle: quiet::IDLE,
    the_receivers_window_holds: quiet::RECEIVER_WINDOW,
    a_zero_window_is_probed: quiet::ZERO_WINDOW,
});
