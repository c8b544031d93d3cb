//! Loss recovery by SACK (RFC 6675), without PRR and RACK.

mod detection;
mod duplicates;
mod order;
mod timeouts;
mod window;

use super::suite;
#[cfg(test)]
use super::transport::tests;
use super::transport::{CASE, RENO, WINDOWS};
use crate::case::{Case, Clause, Level};
use crate::subject::{Repair, Setup};

pub(super) use detection::THREE;

const fn clause(section: &'static str, level: Level) -> Clause {
    Clause { document: "RFC 6675", section, level }
}

const SACK: Setup = Setup { repair: Repair::Sack, receive_buffer: 1 << 18, ..Setup::DEFAULT };

/// With room for whatever bulk data a controller sends.
const BULK: Setup = Setup { receive_buffer: 1 << 20, ..SACK };

/// The fields in which most cases agree.
const BY_SACK: Case = Case { setup: SACK, ..CASE };

suite!("rfc6675", "Loss recovery by SACK", include_str!("coverage.toml"), tests::engines(), {
    three_sacked_segments_show_a_loss: detection::THREE,
    two_sacked_segments_show_no_loss: detection::TWO,
    one_ack_of_three_segments_shows_a_loss: detection::BYTES,
    one_ack_of_two_segments_shows_no_loss: detection::FEW_BYTES,
    three_ranges_show_a_loss: detection::RANGES,
    acks_without_news_are_no_duplicates: duplicates::WITHOUT_NEWS,
    window_changes_hide_no_duplicates: duplicates::WINDOW_CHANGES,
    limited_transmit_with_sack: duplicates::LIMITED_TRANSMIT,
    each_hole_goes_out_once_and_in_order: order::HOLES,
    lost_segments_come_before_new_data: order::LOST_FIRST,
    a_lost_tail_is_rescued: order::RESCUE,
    one_rescue_in_a_recovery: order::ONE_RESCUE,
    the_pipe_stays_within_half_the_flight: window::PIPE,
    lost_segments_leave_the_pipe: window::LOST,
    recovery_halves_the_flight: window::HALVES,
    losses_of_one_window_reduce_once: window::ONCE,
    a_timeout_sends_the_first_missing_segment: timeouts::FIRST_MISSING,
    no_recovery_before_all_sent_before_a_timeout_is_acknowledged: timeouts::NO_RECOVERY,
    sacked_data_goes_out_again_after_a_timeout_at_the_left_edge: timeouts::RENEGING,
});
