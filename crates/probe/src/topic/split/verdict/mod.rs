//! The verdict on a server: a pure function of the runs of all tests.

use super::model::Model;
use super::order::Test;
use super::report::Observation;
use crate::topic::{Ending, Report};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

mod growth;

/// How a server's slow start reacts to split ACKs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Reaction {
    /// Its window grows by a segment for each ACK.
    CountsAcks,
    /// Split ACKs bring more than growth by a segment for each ACK, and the more, the more of them.
    CountsAcksAndMore,
    /// Its window grows with the ACKs, by another number of segments than one for each.
    CountsAcksAtRate {
        /// The segments gained.
        segments: u32,
        /// The ACKs for which it gains them.
        acks: u32,
    },
    /// Its window grows by the bytes acknowledged: splitting gains nothing.
    CountsBytes {
        /// L of RFC 3465 in segments; `None`: not known, because test S did not run or decide it.
        limit: Option<Limit>,
    },
    /// Splitting makes it send less new data, or more retransmissions.
    Negative,
    /// Its window does not grow: it has none, or is in congestion avoidance.
    NoGrowth,
    /// It sends whatever the receive window takes.
    NoCongestionWindow,
    /// None of these reactions fits, or the runs do not suffice.
    Undecided {
        /// The reason, in words for the user.
        why: String,
    },
}

/// The most segments by which one ACK can raise the window: L of RFC 3465.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// One segment, as in RFC 5681.
    One,
    /// Two segments, the most that RFC 3465 permits.
    Two,
    /// No limit, up to the largest ACK that was tried.
    None,
}

/// The initial window.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InitialWindow {
    /// Packets, the median of the runs.
    pub packets: u32,
    /// The same bytes in full-sized segments, rounded up; fewer than `packets` if some are short. This
    /// is the window of a server that counts bytes; `packets` is that of one that counts packets.
    pub segments: u32,
    /// The fewest and the most packets of a run.
    pub spread: (u32, u32),
    /// Bytes, the median of the runs.
    pub bytes: u64,
    /// Whether the window ended the first flight. If false, `segments` and `bytes` are lower bounds.
    pub exact: bool,
}

/// The result of all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The reaction.
    pub reaction: Reaction,
    /// The chance that one more run fits the verdict exactly, by the rule of succession: (runs that do
    /// + 1) / (runs that could decide + 2). Zero if undecided.
    pub confidence: f64,
    /// The runs that could decide between the reactions, and how many of them fit exactly.
    pub runs: (u32, u32),
    /// Data packets at a split over those at the baseline, and which split: 4, or the largest.
    pub gain: Option<(u16, f64)>,
    /// The initial window, if a flight came.
    pub initial_window: Option<InitialWindow>,
    /// Remarks for the user, such as doubts about the measurement.
    pub notes: Vec<String>,
}

impl Verdict {
    /// Whether the reaction is known.
    pub fn is_decided(&self) -> bool {
        !matches!(self.reaction, Reaction::Undecided { .. })
    }
}

/// The share of deciding runs that must fit a verdict, small losses allowed for.
const AGREEMENT_MIN: f64 = 0.8;
/// The share of deciding runs that must fit exactly.
const EXACT_MIN: f64 = 0.5;
/// Packets that loss may take from a run.
const LOST_MAX: u32 = 2;

/// Judges the runs; `https` if they went through TLS.
pub fn classify(reports: &[Report], https: bool) -> Verdict {
    let seen: Vec<&Observation> = reports.iter().flat_map(|r| r.observation.as_ref()).collect();
    let usable: Vec<&Observation> = reports
        .iter()
        .filter(|report| report.ending == Ending::Measured)
        .flat_map(|report| report.observation.as_ref())
        .filter(|run| is_usable(run))
        .collect();
    let ballot = judge(reports, &seen, &usable);
    let at_rate = matches!(ballot.reaction, Reaction::CountsAcksAtRate { .. });
    let decided = !matches!(ballot.reaction, Reaction::Undecided { .. });
    // Laplace's rule of succession.
    let confidence = (f64::from(ballot.fit) + 1.0) / (f64::from(ballot.of) + 2.0);
    Verdict {
        reaction: ballot.reaction,
        confidence: if decided { confidence } else { 0.0 },
        runs: (ballot.of, ballot.fit),
        gain: gain(&usable),
        initial_window: initial_window(&seen, https, at_rate),
        notes: notes(reports, &seen, at_rate),
    }
}

/// Whether the run shows slow start.
fn is_usable(run: &Observation) -> bool {
    // A short answer looks like a window that does not grow.
    let ran_out = run.answer_ended && run.grown < *Model::PerAck.new_packets(run).start();
    !run.acked.is_empty() && !run.timeout_before_acks && !run.fills_window && !ran_out
}

/// A reaction, the number of runs that could show it, and the runs that did.
struct Ballot {
    reaction: Reaction,
    of: u32,
    fit: u32,
}

impl Ballot {
    fn undecided(why: impl Into<String>) -> Ballot {
        Ballot { reaction: Reaction::Undecided { why: why.into() }, of: 0, fit: 0 }
    }
}

fn judge(reports: &[Report], seen: &[&Observation], usable: &[&Observation]) -> Ballot {
    if let Some(ballot) = judge_without_window(seen) {
        return ballot;
    }
    if usable.is_empty() {
        return Ballot::undecided(why_unusable(reports, seen));
    }
    let (of_baseline, of_split): (Vec<&Observation>, Vec<&Observation>) = usable
        .iter()
        .filter(|run| run.test != Test::Stretch)
        .partition(|run| run.test.parts() == 1);
    // With short segments an ACK may free as much as byte counting adds: such a run decides nothing.
    let stands =
        |run: &&&Observation| Model::NoGrowth.fits(run) && !Model::PerByteUnlimited.fits(run);
    let standing_of = |runs: &[&Observation]| runs.iter().filter(stands).count() as u32;
    let baseline = of_baseline.len() as u32;
    let in_slow_start = Votes::of(Model::PerByteUnlimited, &of_baseline);
    let standing = standing_of(&of_baseline) + standing_of(&of_split);
    let grows = in_slow_start.carry(baseline);
    // RFC 5681 section 3.1: in slow start each ACK of new data opens the window. Here none does.
    if baseline > 0 && !grows && agree(standing, baseline + of_split.len() as u32) {
        if growth::may_have_left_slow_start(&of_baseline) {
            return Ballot::undecided(
                "its window stands still, but it grew before: segments that precede the answer were acknowledged, \
                 and the server may have left slow start then",
            );
        }
        let of = baseline + of_split.len() as u32;
        return Ballot { reaction: Reaction::NoGrowth, of, fit: standing };
    }
    if baseline == 0 {
        return Ballot::undecided("no run of the baseline (test A) came to its end");
    }
    // RFC 5681 section 3.1: test A acknowledges each segment once, which doubles the window in slow start. Without
    // that, split ACKs have nothing to compare with.
    if !grows {
        if let Some(ballot) = growth::judge_rate(usable) {
            return ballot;
        }
        let exact = in_slow_start.exact;
        let what = growth::why_not_slow_start(&of_baseline, usable);
        return Ballot::undecided(format!(
            "{what}: only {exact} of {baseline} runs of test A brought two new packets for each \
             segment acknowledged; {}",
            growth::describe(usable)
        ));
    }
    if of_split.is_empty() {
        return Ballot::undecided("no run with split ACKs came to its end");
    }
    judge_split(&of_baseline, &of_split, usable)
}

fn agree(fit: u32, of: u32) -> bool {
    of > 0 && f64::from(fit) >= AGREEMENT_MIN * f64::from(of)
}

/// Runs for a model.
#[derive(Copy, Clone)]
struct Votes {
    exact: u32,
    /// Runs that fit but for a few packets: a lost ACK frees nothing, and a packet lost at the end
    /// leaves no hole.
    near: u32,
}

impl Votes {
    fn of(model: Model, runs: &[&Observation]) -> Votes {
        let exact = runs.iter().filter(|run| model.fits(run)).count() as u32;
        let near = runs.iter().filter(|run| is_near(model, run)).count() as u32;
        Votes { exact, near }
    }

    fn carry(self, of: u32) -> bool {
        agree(self.exact + self.near, of) && f64::from(self.exact) > EXACT_MIN * f64::from(of)
    }
}

/// Whether the run brought fewer packets than the model predicts, by no more than loss explains, and
/// is closer to this model than to the next one.
fn is_near(model: Model, run: &Observation) -> bool {
    let least = *model.new_packets(run).start();
    let others = [Model::PerAck, Model::PerByteUnlimited, Model::NoGrowth];
    let others = others.into_iter().map(|other| *other.new_packets(run).end());
    let next = others.filter(|other| *other < least).max();
    let slack = next.map_or(0, |next| ((least - next - 1) / 2).min(LOST_MAX));
    // Short packets are counted by their bytes.
    !run.grew_in_short_packets() && (least - slack.min(least)..least).contains(&run.grown)
}

/// Judges servers whose flights fill the receive window, whatever its size.
fn judge_without_window(seen: &[&Observation]) -> Option<Ballot> {
    let fit = seen.iter().filter(|run| run.fills_window).count() as u32;
    let of = seen.len() as u32;
    if !agree(fit, of) {
        return None;
    }
    let windows = seen.iter().filter(|run| run.fills_window).map(|run| run.window);
    let windows: std::collections::BTreeSet<u32> = windows.collect();
    Some(match windows.len() {
        1 => Ballot::undecided("the first flight fills the receive window, of one size only"),
        _ => Ballot { reaction: Reaction::NoCongestionWindow, of, fit },
    })
}

fn judge_split(
    baseline: &[&Observation],
    split: &[&Observation],
    usable: &[&Observation],
) -> Ballot {
    let per_byte = Model::PerByteUnlimited;
    // For a segment as short as a lone HTTP head both models may predict the same.
    let tells = |run: &&Observation| !(Model::PerAck.fits(run) && per_byte.fits(run));
    let telling: Vec<&Observation> = split.iter().copied().filter(tells).collect();
    let of = telling.len() as u32;
    if of == 0 {
        return Ballot::undecided("the segments are so short that both models say the same");
    }
    // A run whose growth met a limit does not show its full growth.
    let free: Vec<&Observation> =
        telling.iter().copied().filter(|run| !meets_a_limit(run, split)).collect();
    let acks = Votes::of(Model::PerAck, &free);
    let not_per_ack: Vec<&Observation> =
        telling.iter().copied().filter(|run| !Model::PerAck.fits(run)).collect();
    let bytes = Votes::of(per_byte, &not_per_ack);
    let less = split.iter().filter(|run| per_byte.exceeds(run)).count() as u32;
    let again = more_retransmissions(baseline, split);
    // Before RFC 3465, each ACK added a segment (RFC 2581 section 3.1), however little it acknowledged.
    if acks.carry(free.len() as u32) {
        return Ballot { reaction: Reaction::CountsAcks, of: free.len() as u32, fit: acks.exact };
    }
    if let Some(ballot) = growth::judge_more(baseline, &free) {
        return ballot;
    }
    // From a window of one segment, counting bytes is also a segment for three ACKs.
    if let Some(ballot) = growth::judge_rate(usable).filter(|_| !bytes.carry(of)) {
        return ballot;
    }
    // The server takes split ACKs for an attack or a loss: it sends less, or again.
    if agree(less.max(again), split.len() as u32) {
        let of = split.len() as u32;
        return Ballot { reaction: Reaction::Negative, of, fit: less.max(again) };
    }
    // RFC 3465 section 2.2, RFC 5681 section 3.1, equation 2: the window grows by the bytes acknowledged.
    if bytes.carry(of) {
        let limit = limit(usable);
        return Ballot { reaction: Reaction::CountsBytes { limit }, of, fit: bytes.exact };
    }
    let (acks, bytes) = (acks.exact, bytes.exact);
    Ballot::undecided(format!(
        "of {of} runs with split ACKs {acks} look like counting ACKs, {bytes} like counting bytes, \
         {less} brought less than without; {}",
        growth::describe(usable)
    ))
}

/// Whether a limit hid part of the growth: a receive window, a send buffer or a limit of the server. The
/// run brought more packets than byte counting predicts and fewer than ACK counting. It left as many
/// packets in flight as the highest of all runs, which at least one other run reached too.
fn meets_a_limit(run: &Observation, split: &[&Observation]) -> bool {
    let cut = |run: &Observation| {
        run.grown < *Model::PerAck.new_packets(run).start()
            && run.grown > *Model::PerByteUnlimited.new_packets(run).end()
            && !run.grew_in_short_packets()
    };
    let most = split.iter().map(|run| run.flight_after()).max().unwrap_or(0);
    let as_many = split.iter().filter(|run| cut(run) && run.flight_after() == most).count();
    cut(run) && run.flight_after() == most && as_many > 1
}

/// The number of split-ACK runs with more retransmissions than any baseline run has: by more than half,
/// and by at least two.
fn more_retransmissions(baseline: &[&Observation], split: &[&Observation]) -> u32 {
    let most = baseline.iter().map(|run| run.retransmissions).max().unwrap_or(0);
    let bound = most + (most / 2).max(1);
    split.iter().filter(|run| run.retransmissions > bound).count() as u32
}

/// L, from the runs of test S that fit exactly one value.
fn limit(usable: &[&Observation]) -> Option<Limit> {
    let runs: Vec<&&Observation> = usable.iter().filter(|run| run.test == Test::Stretch).collect();
    let models = [
        (Limit::One, Model::PerByte { limit: 1 }),
        (Limit::Two, Model::PerByte { limit: 2 }),
        (Limit::None, Model::PerByteUnlimited),
    ];
    let only_fit = |run: &&&Observation| {
        let mut fitting = models.iter().filter(|(_, model)| model.fits(run));
        fitting.next().filter(|_| fitting.next().is_none()).map(|(limit, _)| *limit)
    };
    let limits: Vec<Limit> = runs.iter().filter_map(only_fit).collect();
    let of = runs.len() as u32;
    let count = |limit: Limit| limits.iter().filter(|each| **each == limit).count() as u32;
    models.map(|(limit, _)| limit).into_iter().find(|limit| agree(count(*limit), of))
}

/// The most frequent reason why a run shows no slow start.
fn why_unusable(reports: &[Report], seen: &[&Observation]) -> String {
    let why = |report: &Report| match &report.observation {
        _ if report.ending != Ending::Measured => report.ending.to_string(),
        Some(run) if run.timeout_before_acks => {
            "the server's retransmission timer runs out before its first flight is in".to_owned()
        }
        Some(run) if run.acked.is_empty() => {
            "the first packet of the flight was lost, so there was nothing to acknowledge"
                .to_owned()
        }
        Some(run) if run.fills_window => "the first flight fills the receive window".to_owned(),
        _ => Ending::TooShort.to_string(),
    };
    if seen.is_empty() && reports.iter().all(|report| report.ending == Ending::Measured) {
        return "nothing was measured".into();
    }
    let mut counts = BTreeMap::<String, u32>::new();
    for report in reports {
        *counts.entry(why(report)).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map_or_else(String::new, |(why, _)| why)
}

fn gain(usable: &[&Observation]) -> Option<(u16, f64)> {
    let packets = |test: Test| {
        let runs = usable.iter().filter(|run| run.test == test);
        median(runs.map(|run| u64::from(run.data_packets)).collect())
    };
    let largest = usable.iter().map(|run| run.test.parts()).max().filter(|parts| *parts > 1)?;
    let (parts, at_split) = packets(Test::Split(4))
        .map(|at| (4, at))
        .or_else(|| packets(Test::Split(largest)).map(|at| (largest, at)))?;
    let baseline = packets(Test::BASELINE).filter(|packets| *packets > 0)?;
    Some((parts, at_split as f64 / baseline as f64))
}

fn initial_window(seen: &[&Observation], https: bool, at_rate: bool) -> Option<InitialWindow> {
    // A window of bytes depends on the MSS.
    let largest = seen.iter().map(|run| run.mss_offered).max()?;
    let seen: Vec<&Observation> =
        seen.iter().copied().filter(|run| run.mss_offered == largest).collect();
    let packets: Vec<u32> = seen.iter().map(|run| run.first_flight.sent()).collect();
    let spread = (*packets.iter().min()?, *packets.iter().max()?);
    let exact = seen.iter().filter(|run| is_full(run, https)).count() as u32;
    let segments =
        |run: &&Observation| run.first_flight.sent_bytes().div_ceil(u64::from(run.mss_seen.max(1)));
    Some(InitialWindow {
        segments: median(seen.iter().map(segments).collect())? as u32,
        packets: median(packets.iter().map(|packets| u64::from(*packets)).collect())? as u32,
        spread,
        bytes: median(seen.iter().map(|run| run.first_flight.sent_bytes()).collect())?,
        // A server that gains more for each ACK held nothing back.
        exact: agree(exact, seen.len() as u32) && (at_rate || !growth::was_held_back(&seen)),
    })
}

/// Whether the window ended the first flight: only the ACKs brought more packets, and none before them
/// may have been lost at the end of the flight. With TLS every packet must be full. Otherwise the server may have written its records one by one, or waited for the client
/// in the handshake, with room left in the window.
fn is_full(run: &Observation, https: bool) -> bool {
    let waited = run.grown > 0 || run.packets_before > run.first_flight.sent();
    let flight = &run.first_flight;
    let whole = flight.bytes == u64::from(flight.packets) * u64::from(run.mss_seen);
    let complete = run.missing_after_flight == 0;
    // Nagle's algorithm holds back the short end of an answer, whatever the window.
    let held = run.exchanged.is_some_and(|exchanged| !exchanged.window_ended_flight);
    waited
        && complete
        && !held
        && (whole || !https)
        && !run.timeout_before_acks
        && !run.fills_window
}

fn notes(reports: &[Report], seen: &[&Observation], at_rate: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let mut tell = |count: usize, what: &str| {
        if count > 0 {
            notes.push(format!("{count} of {} runs: {what}", reports.len()));
        }
    };
    let syns = |report: &&Report| report.syn_ack.is_some_and(|syn_ack| syn_ack.syns > 1);
    let some = |test: &dyn Fn(&Observation) -> bool| seen.iter().filter(|run| test(run)).count();
    let not_measured = |report: &&Report| report.ending != Ending::Measured;
    tell(reports.iter().filter(not_measured).count(), "not measured");
    tell(reports.iter().filter(syns).count(), "the SYN had to be sent again");
    tell(some(&|run| run.first_flight.missing > 0), "packets of the first flight were lost");
    tell(
        some(&|run| run.missing_after_flight > 0),
        "packets were lost at the end of the first flight or after it",
    );
    tell(
        if at_rate { 0 } else { growth::beyond_slow_start(seen) as usize },
        "more new packets than slow start allows: the first flight was less than the window, or an ACK gains more",
    );
    tell(some(&|run| run.first_flight.short_packets > 0), "short packets in the first flight");
    tell(
        some(&|run| run.grew_in_short_packets()),
        "new packets shorter than they could be: their bytes count, not their number",
    );
    let split: Vec<&Observation> =
        seen.iter().copied().filter(|run| run.test.parts() > 1).collect();
    tell(
        split.iter().filter(|run| meets_a_limit(run, &split)).count(),
        "growth up to a limit of the data in flight, and no more",
    );
    tell(
        some(&|run| run.duplicated > 0),
        "the path made copies of packets, which count for nothing",
    );
    tell(some(&|run| run.beyond_window > 0), "packets beyond the receive window");
    tell(some(&|run| run.damaged > 0), "packets with wrong checksums or options");
    tell(some(&|run| run.answer_ended), "the answer came to its end");
    notes
}

/// The median; of an even count the lower of the two in the middle.
pub(crate) fn median(mut numbers: Vec<u64>) -> Option<u64> {
    numbers.sort_unstable();
    numbers.get(numbers.len().saturating_sub(1) / 2).copied()
}

impl fmt::Display for Reaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = |limit: &Option<Limit>| match limit {
            Some(Limit::One) => ", at most one segment an ACK (L = 1)",
            Some(Limit::Two) => ", at most two segments an ACK (L = 2)",
            Some(Limit::None) => ", without a limit",
            None => "",
        };
        match self {
            Reaction::CountsAcks => f.write_str("counts ACKs"),
            Reaction::CountsAcksAndMore => f.write_str(
                "counts ACKs, and more: split ACKs bring more packets than slow start allows",
            ),
            Reaction::CountsAcksAtRate { segments, acks } => match acks {
                1 => write!(f, "counts ACKs, and gains {segments} segments for each"),
                _ => write!(f, "counts ACKs, and gains {segments} for every {acks} of them"),
            },
            Reaction::CountsBytes { limit: known } => write!(f, "counts bytes{}", limit(known)),
            Reaction::Negative => f.write_str("negative"),
            Reaction::NoGrowth => {
                f.write_str("no growth: no congestion window, or one that stands still")
            }
            Reaction::NoCongestionWindow => {
                f.write_str("no congestion window: it fills the receive window")
            }
            Reaction::Undecided { why } => write!(f, "undecided: {why}"),
        }
    }
}

#[cfg(test)]
mod tests;
