//! NewReno (RFC 6582): recovery without SACK.

mod partial;
mod timeouts;

use super::suite;
#[cfg(test)]
use super::transport::tests;
use super::transport::*;
use crate::case::{Clause, Level};

const fn clause(section: &'static str, level: Level) -> Clause {
    Clause { document: "RFC 6582", section, level }
}

suite!("rfc6582", "NewReno without SACK", include_str!("coverage.toml"), tests::engines(), {
    a_partial_ack_brings_the_next_hole: partial::NEXT_HOLE,
    a_partial_ack_deflates_the_window: partial::DEFLATES,
    partial_acks_keep_data_flowing: partial::FLOWS,
    losses_of_one_window_reduce_once: partial::ONCE,
    recovery_ends_with_ssthresh: partial::SSTHRESH,
    the_first_partial_ack_restarts_the_timer: partial::TIMER,
    duplicates_after_a_timeout_bring_nothing: timeouts::DUPLICATES,
    a_timeout_ends_the_recovery: timeouts::ENDS_RECOVERY,
});
