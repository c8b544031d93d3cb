//! ECN (RFC 3168): the rules for a sender of TCP.

mod codepoints;
mod cwr;
mod negotiation;
mod reaction;

#[cfg(test)]
use super::subjects::ecn_capable;
use super::suite;
use crate::bed::{Bed, Event, EventKind, Fate, Path, Traffic};
use crate::case::{Case, Clause, Concerns, Fault, Level, demand};
use crate::subject::{Ecn, Setup};
use windlass_base::{Ecn as Codepoint, Span};
use windlass_tcp::Flags;

const PATH: Path = Path { mbit_per_s: 100.0, rtt_ms: 20, queue_bdp: 2.0 };
const SETUP: Setup = Setup { ecn: Ecn::Classic, ..Setup::DEFAULT };
/// Their reductions are constant factors, as those of RFC 5681 and RFC 9438.
const LOSS_BASED: Concerns = Concerns::Controllers(&["reno", "newreno", "cubic"]);

const fn clause(section: &'static str, level: Level) -> Clause {
    Clause { document: "RFC 3168", section, level }
}

const BASE: Case = Case {
    name: "",
    clause: clause("", Level::Rule),
    concerns: Concerns::All,
    setup: SETUP,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &[],
    demanded: "",
    tolerance: 0.0,
    program: |_, _| Ok(()),
};

fn has(event: &Event, flags: Flags) -> bool {
    event.packet.segment.flags.contains(flags)
}

fn is_data(event: &Event) -> bool {
    event.kind != EventKind::Arrived && event.packet.segment.payload_len > 0
}

/// Congestion avoidance with a window of some 30 segments.
fn settle(bed: &mut Bed) -> Result<(), Fault> {
    bed.grow_to(30.0)?;
    bed.lose_next()?;
    for _ in 0..6 {
        bed.round_trip()?;
    }
    bed.demand_ect()
}

suite!("rfc3168", "ECN", include_str!("coverage.toml"), ecn_capable(), {
    a_syn_asks_by_two_flags: negotiation::ASKS,
    a_syn_is_not_ect: negotiation::SYN_NOT_ECT,
    without_an_answer_data_is_not_ect: negotiation::NO_ANSWER,
    reflected_flags_are_no_answer: negotiation::REFLECTED,
    after_a_syn_without_ecn_data_is_not_ect: negotiation::FALLBACK,
    echoes_without_ecn_have_no_effect: negotiation::NOT_AGREED,
    new_data_is_ect0: codepoints::DATA,
    pure_acks_are_not_ect: codepoints::PURE_ACKS,
    retransmissions_are_not_ect: codepoints::RETRANSMISSIONS,
    retransmissions_after_a_timeout_are_not_ect: codepoints::AFTER_TIMEOUT,
    window_probes_are_not_ect: codepoints::PROBES,
    the_first_new_data_after_an_echo_has_cwr: cwr::FIRST_NEW,
    retransmissions_have_no_cwr: cwr::NOT_AGAIN,
    cwr_follows_a_fast_retransmit: cwr::AFTER_LOSS,
    cwr_follows_a_timeout: cwr::AFTER_TIMEOUT,
    a_lost_cwr_is_sent_with_other_data: cwr::LOST,
    an_echo_halves_the_window: reaction::HALVES,
    an_echo_reduces_as_a_loss_does: reaction::AS_LOSS,
    the_marks_of_a_window_reduce_once: reaction::ONCE,
    marks_of_another_window_reduce_again: reaction::AGAIN,
    a_mark_and_a_loss_of_a_window_reduce_once: reaction::WITH_LOSS,
    a_lost_retransmission_reduces_again: reaction::LOST_RETRANSMISSION,
    an_echo_at_one_segment_waits_for_the_timer: reaction::ONE_SEGMENT,
});
