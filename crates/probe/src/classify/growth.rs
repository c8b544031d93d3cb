//! Growth beyond that of an ACK counter, and growth in words.

use super::{AGREEMENT_MIN, Ballot, Reaction, agree, median};
use crate::model::Model;
use crate::probe::Observation;
use crate::test::Test;
use std::collections::BTreeSet;

/// New packets of the runs at a split, and what models predict; medians.
struct AtSplit {
    parts: u16,
    grown: u64,
    counts_acks: u64,
    counts_bytes: u64,
}

/// The growth at each split of these runs, in ascending order. Test S is left out.
fn by_split(runs: &[&Observation]) -> Vec<AtSplit> {
    let split = runs.iter().filter(|run| run.test != Test::Stretch);
    let parts: BTreeSet<u16> = split.map(|run| run.test.parts()).collect();
    let at = |parts: u16| {
        let test = Test::Split(parts);
        let middle = |number: &dyn Fn(&Observation) -> u32| {
            let of_test = runs.iter().filter(|run| run.test == test);
            median(of_test.map(|run| u64::from(number(run))).collect())
        };
        Some(AtSplit {
            parts,
            grown: middle(&|run| run.grown)?,
            counts_acks: middle(&|run| *Model::PerAck.new_packets(run).end())?,
            counts_bytes: middle(&|run| *Model::PerByteUnlimited.new_packets(run).end())?,
        })
    };
    parts.into_iter().filter_map(at).collect()
}

/// New packets at each split, beside what the models predict.
pub(super) fn describe(runs: &[&Observation]) -> String {
    let list = |number: &dyn Fn(&AtSplit) -> u64| {
        let numbers: Vec<String> = by_split(runs).iter().map(|at| number(at).to_string()).collect();
        numbers.join(", ")
    };
    format!(
        "new packets at splits of {}: {} (counting ACKs brings {}, counting bytes {})",
        list(&|at| u64::from(at.parts)),
        list(&|at| at.grown),
        list(&|at| at.counts_acks),
        list(&|at| at.counts_bytes),
    )
}

/// Judges servers that count ACKs and also take a packet off what is in flight for each, however few
/// bytes it acknowledges. An ACK then brings up to two packets, even if it acknowledges no packet. The
/// more ACKs, the further is the growth beyond that of an ACK counter. `free` are the split-ACK runs that
/// met no limit.
pub(super) fn judge_more(baseline: &[&Observation], free: &[&Observation]) -> Option<Ballot> {
    let is_more = |run: &&&Observation| {
        let most = u64::from(run.acks_sent) * 2 * u64::from(run.mss_seen);
        Model::PerAck.is_exceeded_by(run) && run.grown_bytes <= most
    };
    let fit = free.iter().filter(is_more).count() as u32;
    let all: Vec<&Observation> = baseline.iter().chain(free).copied().collect();
    let beyond = by_split(&all)
        .iter()
        .map(|at| at.grown.cast_signed() - at.counts_acks.cast_signed())
        .collect::<Vec<i64>>();
    let rises = beyond.is_sorted() && beyond.first() < beyond.last();
    let of = free.len() as u32;
    (rises && agree(fit, of)).then_some(Ballot { reaction: Reaction::CountsAcksAndMore, of, fit })
}

/// The runs that show whether the first flight was the whole window: those with the fewest ACKs of usual
/// size.
fn with_fewest_acks<'a>(seen: &[&'a Observation]) -> Vec<&'a Observation> {
    let split =
        || seen.iter().copied().filter(|run| run.test != Test::Stretch && !run.acked.is_empty());
    let least = split().map(|run| run.test.parts()).min();
    split().filter(|run| Some(run.test.parts()) == least).collect()
}

/// How many of these runs brought more than any slow start allows, without a loss that explains it.
pub(super) fn beyond_slow_start(seen: &[&Observation]) -> u32 {
    let runs = with_fewest_acks(seen);
    let is_beyond =
        |run: &&&Observation| Model::PerAck.is_exceeded_by(run) && run.missing_after_flight == 0;
    runs.iter().filter(is_beyond).count() as u32
}

/// Whether first flights were less than the window: the fewest ACKs brought more than any slow start
/// allows. Linux keeps the last packets of a flight back while it expects an ACK within a fraction of
/// a millisecond (`tcp_tso_should_defer`).
pub(super) fn was_held_back(seen: &[&Observation]) -> bool {
    let of = with_fewest_acks(seen).len() as u32;
    f64::from(beyond_slow_start(seen)) > (1.0 - AGREEMENT_MIN) * f64::from(of)
}
