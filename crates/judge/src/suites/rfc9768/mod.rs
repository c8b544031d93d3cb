//! AccECN (RFC 9768): the rules for a client that sends.

mod decoding;
mod feedback;
mod negotiation;
mod path;

#[cfg(test)]
use super::subjects::accurate;
use super::suite;
use crate::bed::{Bed, Event, EventKind, Fate, Path, Traffic};
use crate::case::{Case, Clause, Concerns, Fault, Level, demand};
use crate::subject::{Ecn, Packet, Setup};
use windlass_base::{Ecn as Codepoint, Span};
use windlass_tcp::{AccEcnOption, Flags};

const PATH: Path = Path { mbit_per_s: 100.0, rtt_ms: 20, queue_bdp: 2.0 };
const SETUP: Setup = Setup { ecn: Ecn::Accurate, ..Setup::DEFAULT };

/// The three flags that are the field ACE.
const ACE: Flags = Flags::AE.union(Flags::CWR).union(Flags::ECE);
/// The initial value of a counter of CE packets (section 3.2.1).
const FIRST_COUNT: u8 = 5;

const fn clause(section: &'static str, level: Level) -> Clause {
    Clause { document: "RFC 9768", section, level }
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

/// The three flags as a number.
fn ace(packet: &Packet) -> u8 {
    let flags = packet.segment.flags;
    let bit = |flag, value| if flags.contains(flag) { value } else { 0 };
    bit(Flags::AE, 4) | bit(Flags::CWR, 2) | bit(Flags::ECE, 1)
}

fn set_ace(packet: &mut Packet, number: u8) {
    let flags = [(Flags::AE, 4), (Flags::CWR, 2), (Flags::ECE, 1)];
    let set = flags.into_iter().filter(|(_, bit)| number & bit != 0).map(|(flag, _)| flag);
    packet.segment.flags = (packet.segment.flags - ACE) | set.collect::<Flags>();
}

fn is_syn(packet: &Packet) -> bool {
    packet.segment.flags.contains(Flags::SYN)
}

/// Answers the SYN with these three flags; later packets pass as they are.
fn answer_with(bed: &mut Bed, number: u8) {
    bed.on_acks(move |packet| {
        if is_syn(packet) {
            set_ace(packet, number);
        }
        Fate::Pass
    });
}

/// The packets that the sender sent.
fn sent(bed: &Bed) -> impl Iterator<Item = &Event> {
    bed.wire().events().iter().filter(|event| event.kind != EventKind::Arrived)
}

fn syns(bed: &Bed) -> impl Iterator<Item = &Event> {
    sent(bed).filter(|event| is_syn(&event.packet))
}

/// The first packet after the SYNs.
fn final_ack(bed: &Bed) -> Option<&Event> {
    sent(bed).find(|event| !is_syn(&event.packet))
}

fn sends_ect(bed: &Bed) -> bool {
    sent(bed).any(|event| event.packet.ecn != Codepoint::NotEct)
}

/// Congestion avoidance with a window of some 30 segments.
fn settle(bed: &mut Bed) -> Result<(), Fault> {
    bed.grow_to(30.0)?;
    bed.lose_next()?;
    for _ in 0..3 {
        bed.round_trip()?;
    }
    bed.demand_ect()
}

/// Runs for some round trips; fails if the window falls meanwhile.
fn demand_no_reduction(bed: &mut Bed, rounds: u32) -> Result<(), Fault> {
    let before = bed.round_trip()?;
    for _ in 0..rounds {
        let window = bed.round_trip()?;
        bed.expect("the window in segments", window, before - 1.0..=f64::INFINITY)?;
    }
    Ok(())
}

suite!("rfc9768", "Accurate ECN", include_str!("coverage.toml"), accurate(), {
    a_syn_asks_by_three_flags: negotiation::ASKS,
    a_syn_has_no_option: negotiation::NO_OPTION_ON_SYN,
    the_first_retransmitted_syn_still_asks: negotiation::SECOND_SYN,
    later_syns_do_not_ask: negotiation::THIRD_SYN,
    no_syn_asks_for_classic_ecn: negotiation::NEVER_CLASSIC,
    without_an_answer_nothing_is_ect: negotiation::NO_ANSWER,
    reflected_flags_mean_no_ecn: negotiation::REFLECTED,
    a_classic_answer_means_classic_ecn: negotiation::CLASSIC,
    the_reserved_answer_means_agreement: negotiation::RESERVED,
    a_later_syn_ack_changes_no_mode: negotiation::SECOND_ANSWER,
    the_final_ack_feeds_not_ect_back: feedback::FINAL_NOT_ECT,
    the_final_ack_feeds_ect0_back: feedback::FINAL_ECT0,
    the_final_ack_feeds_ect1_back: feedback::FINAL_ECT1,
    the_final_ack_feeds_ce_back: feedback::FINAL_CE,
    a_repeated_syn_ack_is_fed_back_again: feedback::REPEATED,
    the_first_packets_have_the_option: feedback::FIRST_OPTIONS,
    ace_is_the_count_of_marked_packets: feedback::COUNT,
    there_is_no_cwr: feedback::NO_CWR,
    data_is_ect: decoding::ECT,
    a_mark_reduces_the_window: decoding::REDUCES,
    a_count_that_stays_reduces_no_more: decoding::STAYS,
    the_count_wraps: decoding::WRAPS,
    marks_of_a_window_reduce_once: decoding::ONCE,
    without_the_option_ace_counts: decoding::NO_OPTION,
    a_count_that_may_have_wrapped_is_taken_for_marks: decoding::CYCLED,
    overtaken_acks_are_ignored: decoding::OVERTAKEN,
    ce_on_the_syn_counts_no_mark: path::CE_ON_SYN,
    a_zeroed_count_is_no_row_of_marks: path::ZEROED,
    a_zeroed_count_ends_ect: path::ZEROED_ENDS_ECT,
    a_changed_syn_keeps_the_mode: path::MANGLED_SYN,
    counts_reduce_although_data_is_not_ect: path::NOT_ECT_RESPONDS,
    a_contradiction_of_the_counts_ends_ect: path::CONTRADICTION,
});
