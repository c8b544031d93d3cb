//! How a server answers CE marks, by the dose: its window without marks, with a quarter of its packets marked,
//! and with all of them marked.
//!
//! Some windows vary by themselves: BBR's follows its estimates of the path, and it answers no mark. So a fall
//! under marks counts only where it is deeper than the falls without marks. Such a window can still fall by
//! chance where the marks are. So one trial suffices only if the window did not fall at all without marks;
//! otherwise each of two must show the answer.

use super::script::Show;
use super::signature::log_of;
use super::trace::Trace;
use serde::Serialize;
use std::fmt;

/// The answer to CE marks: factors of the window.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Marks {
    /// After one mark.
    pub after_one: f64,
    /// For each round in which a quarter of the packets is marked.
    pub per_round: f64,
    /// For each round in which all packets are marked.
    pub per_round_all: f64,
    /// The deepest fall within three rounds without a mark: the control.
    pub without: f64,
    /// In words.
    pub answer: Answer,
    /// The feedback was that of AccECN (RFC 9768): after one mark there was one, and each of the others was
    /// counted. Otherwise ECE went on for a round after the first mark, and came with each of the others.
    pub accurate: bool,
    /// Marks in each of the rounds with a quarter marked, the mean of the first three.
    pub marks_per_round: f64,
}

/// How a server answers CE marks.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Its window falls no more with marks than without.
    None,
    /// Once in a round, however many marks there are (RFC 3168).
    Once,
    /// The less, the fewer the marks (RFC 8257).
    InProportion,
    /// Its window falls with some shares of marks and not with others, or not in their order, or hardly more than
    /// without marks; or one trial whose window falls without marks too is all there is, or not each of two
    /// shows the same answer.
    Unclear,
}

/// A window that falls by less has not been reduced.
const FALL_MIN: f64 = 0.03;
/// A fall under marks is an answer if it is so many times as deep, in logarithms, as those without.
const OVER_CONTROL: f64 = 2.0;
/// The deepest fall without marks, in logarithms, beside which the absence of an answer means something: half of
/// the window is log 0.69.
const CONTROL_MIN: f64 = -0.5;
/// The share of marked packets where some are. An answer in proportion falls by no more than that: by half of
/// it with DCTCP (RFC 8257 section 3.3).
const SHARE_MARKED: f64 = 0.25;
/// A congestion window that is larger is not seen, in segments.
const WINDOW_SEEN_MAX: f64 = 500.0;
/// The rounds with marks that count: at a few segments the window falls no more.
const ROUNDS: usize = 3;
/// The rounds after the marks end that still show the answer to them.
const ROUNDS_OF_ANSWER: usize = 2;

/// Judges the answer; `None` without ECN, if no trial came to the end of the script, or if the receive window
/// limits the server.
pub(super) fn judge(traces: &[&Trace]) -> Option<Marks> {
    if traces.iter().any(|trace| hides_falls(trace)) {
        return None;
    }
    let seen: Vec<Seen> = traces.iter().filter_map(|trace| Seen::of(trace)).collect();
    let mean = |log: fn(&Seen) -> f64| seen.iter().map(log).sum::<f64>() / seen.len() as f64;
    let whole = Seen {
        after_one: mean(|seen| seen.after_one),
        quarter: Dose {
            per_round: mean(|s| s.quarter.per_round),
            stays: mean(|s| s.quarter.stays),
        },
        all: Dose { per_round: mean(|s| s.all.per_round), stays: mean(|s| s.all.stays) },
        without: seen.iter().map(|seen| seen.without).reduce(f64::min)?,
    };
    let accurate = traces.iter().all(|trace| trace.accurate);
    let answer = whole.answer(accurate);
    let shown_by_each = seen.iter().all(|one| one.answer(accurate) == answer);
    let may_be_chance = match seen.len() {
        1 => whole.falls_without(),
        _ => !shown_by_each,
    };
    Some(Marks {
        after_one: whole.after_one.exp(),
        per_round: whole.quarter.per_round.exp(),
        per_round_all: whole.all.per_round.exp(),
        without: whole.without.exp(),
        answer: if answer.is_some_fall() && may_be_chance { Answer::Unclear } else { answer },
        accurate,
        marks_per_round: marks_per_round(traces),
    })
}

/// Changes of a trace's window with and without marks, as logarithms of factors.
struct Seen {
    after_one: f64,
    quarter: Dose,
    all: Dose,
    /// The deepest fall without marks.
    without: f64,
}

/// The answer to a share of marked packets.
#[derive(Copy, Clone)]
struct Dose {
    /// For each of the first rounds.
    per_round: f64,
    /// The least of the falls, once the first rounds are over.
    stays: f64,
}

impl Seen {
    fn of(trace: &Trace) -> Option<Seen> {
        if !trace.ecn || !trace.complete {
            return None;
        }
        let last = |show| trace.windows(show).into_iter().flatten().next_back();
        let mark = trace.windows(Show::Mark);
        Some(Seen {
            // The round in which marks begin is the answer to none.
            after_one: log_of((*mark.get(1)?)?, last(Show::Relief)?),
            quarter: Dose::of(&trace.windows(Show::Marks), last(Show::Mark)?)?,
            all: Dose::of(&trace.windows(Show::MarksAll), last(Show::Calm)?)?,
            without: deepest_fall(trace),
        })
    }

    /// Whether its window falls without marks too, be it little.
    fn falls_without(&self) -> bool {
        self.without < 0.0
    }

    fn answer(&self, accurate: bool) -> Answer {
        let least = (self.without * OVER_CONTROL).min((1.0 - FALL_MIN).ln());
        let doses = [self.quarter.stays, self.all.stays];
        let falls = doses.iter().all(|stays| *stays < least);
        let stays = doses.iter().all(|stays| *stays >= self.without.min((1.0 - FALL_MIN).ln()));
        match (falls, stays) {
            // Without marks the window falls so far that an answer could not be seen.
            _ if self.without < CONTROL_MIN => return Answer::Unclear,
            (true, _) => {}
            (false, true) => return Answer::None,
            (false, false) => return Answer::Unclear,
        }
        let (one, many) = (1.0 - self.after_one.exp(), 1.0 - self.quarter.per_round.exp());
        let in_proportion = match (one, many) {
            // CDG tolerates one mark.
            (_, many) if many > SHARE_MARKED => false,
            (one, _) if one < FALL_MIN => true,
            // More marks, a deeper fall.
            (one, many) if accurate => many > one * 2.0,
            // Without AccECN the one mark has been fed back for a round, as if all packets were marked.
            (one, many) => many < one * 0.5,
        };
        match in_proportion {
            false => Answer::Once,
            true if self.all.per_round < self.quarter.per_round => Answer::InProportion,
            true => Answer::Unclear,
        }
    }
}

impl Dose {
    /// The answer in the steady windows of a stage, the first of which shows none, from the window before.
    fn of(windows: &[Option<f64>], before: f64) -> Option<Dose> {
        let logs: Vec<Option<f64>> = windows
            .iter()
            .skip(1)
            .map(|window| window.map(|window| log_of(window, before)))
            .collect();
        let (round, first) = logs
            .iter()
            .enumerate()
            .skip(ROUNDS - 1)
            .find_map(|(at, log)| Some((at + 1, (*log)?)))?;
        let stays = logs[round - 1..].iter().flatten().copied().fold(first, f64::max);
        Some(Dose { per_round: first / round as f64, stays })
    }
}

/// The deepest fall within three rounds of a stage without marks, at most 0. It lasts for two rounds: a single one may
/// be a burst that came late. Stages with a changed delay are left out, which some controllers answer.
fn deepest_fall(trace: &Trace) -> f64 {
    let stages = [
        (Show::Loss, 0),
        (Show::Relief, 0),
        (Show::Mark, 1 + ROUNDS_OF_ANSWER),
        (Show::Calm, ROUNDS_OF_ANSWER),
    ];
    let of_stage = |(show, from): (Show, usize)| {
        let windows = trace.windows(show);
        let windows: Vec<f64> = windows.into_iter().skip(from).flatten().collect();
        let falls_from = |at: usize| {
            let after = windows[at + 1..].windows(2).take(ROUNDS - 1);
            after.map(|pair| log_of(pair[0].max(pair[1]), windows[at])).fold(0.0, f64::min)
        };
        (0..windows.len()).map(falls_from).fold(0.0, f64::min)
    };
    stages.into_iter().map(of_stage).fold(0.0, f64::min)
}

/// Whether the receive window, of 512 segments, limits the server at the first mark: a smaller congestion window
/// may then be as much as before.
fn hides_falls(trace: &Trace) -> bool {
    let first = trace.windows(Show::Mark).first().copied().flatten();
    first.is_some_and(|window| window >= WINDOW_SEEN_MAX)
}

fn marks_per_round(traces: &[&Trace]) -> f64 {
    let of_trace = |trace: &&Trace| {
        let rounds = trace.rounds.iter().filter(|round| round.show == Show::Marks);
        rounds.take(ROUNDS).map(|round| round.marks).collect::<Vec<u32>>()
    };
    let marks: Vec<u32> = traces.iter().flat_map(of_trace).collect();
    f64::from(marks.iter().sum::<u32>()) / marks.len().max(1) as f64
}

impl Answer {
    /// Whether the window falls under marks.
    fn is_some_fall(self) -> bool {
        matches!(self, Answer::Once | Answer::InProportion)
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Answer::None => "none",
            Answer::Once => "once",
            Answer::InProportion => "in-proportion",
            Answer::Unclear => "unclear",
        }
    }
}

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self.answer {
            Answer::None => "does not answer marks",
            Answer::Once => "answers marks once in a round",
            Answer::InProportion => "answers marks in proportion",
            Answer::Unclear => {
                "unclear, the window does not follow the share of marks, or not in each trial"
            }
        };
        let feedback = if self.accurate { "AccECN: " } else { "" };
        write!(
            f,
            "{words} ({feedback}window times {:.2} after one, {:.2} a round if a quarter is marked, {:.2} if all \
             are; without marks at least {:.2})",
            self.after_one, self.per_round, self.per_round_all, self.without
        )
    }
}

#[cfg(test)]
mod tests;
