//! Growth beyond that of an ACK counter, and growth in words.

use super::{AGREEMENT_MIN, Ballot, Reaction, agree, median};
use crate::topic::split::{Model, Observation, Test};
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

/// The rates at which a server may gain segments for ACKs, other than one for one: segments, ACKs. No rate is
/// below one for three, where congestion avoidance with a small window begins.
const RATES: [(u32, u32); 6] = [(1, 3), (1, 2), (3, 2), (2, 1), (3, 1), (4, 1)];

/// Judges servers that gain another number of segments than one for each ACK. A single split could show that by
/// chance, or by packets that the server held back, so that two or more must fit. A rate below one is undecided
/// unless [`gains_nothing_by_a_lone_ack`].
pub(super) fn judge_rate(usable: &[&Observation]) -> Option<Ballot> {
    let runs: Vec<&Observation> =
        usable.iter().copied().filter(|run| run.test != Test::Stretch).collect();
    let splits: BTreeSet<u16> = runs.iter().map(|run| run.test.parts()).collect();
    let fits = |(segments, acks): (u32, u32), parts: Option<u16>| {
        let model = Model::PerAcks { segments, acks };
        let of = runs.iter().filter(|run| parts.is_none_or(|parts| run.test.parts() == parts));
        let (of, fit) =
            of.fold((0, 0), |(of, fit), run| (of + 1, fit + u32::from(model.fits(run))));
        (of, fit)
    };
    let found = RATES.into_iter().find(|rate| {
        let each = |parts: &u16| {
            let (of, fit) = fits(*rate, Some(*parts));
            agree(fit, of)
        };
        splits.len() > 1 && splits.iter().all(each)
    })?;
    let ((of, fit), (segments, acks)) = (fits(found, None), found);
    if segments < acks && !gains_nothing_by_a_lone_ack(usable) {
        return Some(Ballot::undecided(format!(
            "it gains {segments} segment for every {acks} ACKs: the server counts only one ACK of {acks}, or it \
             counts each and the path loses or thins out ACKs; {}",
            describe(usable)
        )));
    }
    Some(Ballot { reaction: Reaction::CountsAcksAtRate { segments, acks }, of, fit })
}

/// Whether test S shows that the server, and not the path, leaves ACKs uncounted. Its one ACK has arrived if it
/// frees segments. A server that counts each ACK gains one more then, whatever the path does to other ACKs.
fn gains_nothing_by_a_lone_ack(usable: &[&Observation]) -> bool {
    let lone = usable.iter().filter(|run| run.test == Test::Stretch);
    let (of, fit) = lone.fold((0, 0), |(of, fit), run| {
        let nothing = Model::NoGrowth.fits(run) && !Model::PerAck.fits(run);
        (of + 1, fit + u32::from(nothing))
    });
    agree(fit, of)
}

/// Why the baseline is no slow start of a known kind, in words for the user.
pub(super) fn why_not_slow_start(
    baseline: &[&Observation],
    usable: &[&Observation],
) -> &'static str {
    let between = |run: &&&Observation| {
        Model::NoGrowth.is_exceeded_by(run) && Model::PerByteUnlimited.exceeds(run)
    };
    if was_held_back(baseline) {
        return match is_ack_counter_beyond(usable) {
            true => "its first flight was less than its window",
            false => {
                "its first flight was less than its window, or it gains more than a segment for each acknowledged"
            }
        };
    }
    match agree(baseline.iter().filter(between).count() as u32, baseline.len() as u32) {
        true => "it grows by less than slow start does",
        false => "not in slow start",
    }
}

/// Whether each ACK more brings one packet more, beside a number that is the same at each split: what the server
/// had held back.
fn is_ack_counter_beyond(usable: &[&Observation]) -> bool {
    let beyond: BTreeSet<i64> = by_split(usable)
        .iter()
        .map(|at| at.grown.cast_signed() - at.counts_acks.cast_signed())
        .collect();
    beyond.len() == 1 && by_split(usable).len() > 1
}

/// The window at which HyStart may end Linux's slow start, in segments (`hystart_low_window` of tcp_cubic.c). It
/// takes the time that the probe holds ACKs back for a queue.
const HYSTART_WINDOW_MIN: u32 = 16;

/// Whether ACKs before the measured flight may have ended slow start.
pub(super) fn may_have_left_slow_start(baseline: &[&Observation]) -> bool {
    let has_grown = |run: &&&Observation| {
        run.exchanged.is_some_and(|exchanged| exchanged.acked_segments > 0)
            && run.flight.sent() >= HYSTART_WINDOW_MIN
    };
    agree(baseline.iter().filter(has_grown).count() as u32, baseline.len() as u32)
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
