//! The verdict on all trials of a server.

use super::library::{Identity, Library};
use super::script::Show;
use super::signature::{Part, Signature};
use super::trace::Trace;
use serde::Serialize;
use std::fmt;

/// Which controller a server runs, and how it answers marks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Controller {
    /// What the signature says.
    #[serde(flatten)]
    pub identity: Identity,
    /// The reason why it is unknown, in words for the user.
    pub why: Option<String>,
    /// How it answers marks; `None` without ECN, if the trials ended before, or if the receive window limits the
    /// server.
    pub marks: Option<Marks>,
    /// The mean of the trials, on which the verdict rests.
    pub signature: Signature,
    /// The round-trip time of the script, in milliseconds.
    pub rtt_ms: f64,
    /// Trials, and how many of them showed a signature.
    pub trials: (u32, u32),
    /// Bytes that arrived in all trials.
    pub bytes: u64,
}

/// The answer to CE marks: factors of the window.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Marks {
    /// After one mark.
    pub after_one: f64,
    /// For each round in which a quarter of the packets is marked.
    pub per_round: f64,
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
    /// Its window does not fall.
    None,
    /// Once in a round, however many marks there are (RFC 3168).
    Once,
    /// The less, the fewer the marks (RFC 8257).
    InProportion,
}

/// A window that falls by less has not been reduced.
const FALL_MIN: f64 = 0.03;
/// The share of marked packets where many are. An answer in proportion falls by no more than that: by half of
/// it with DCTCP (RFC 8257 section 3.3).
const SHARE_MARKED: f64 = 0.25;
/// Two trials that differ by more disagree.
const DISAGREE_FROM: f64 = 0.06;

/// Judges the traces of all trials; `None` without a trial.
pub fn judge(traces: &[&Trace], library: &Library) -> Option<Controller> {
    let first = traces.first()?;
    let all = traces;
    // A trial that marks of the path ended counts only if there is no other.
    let unmarked: Vec<&Trace> = all.iter().copied().filter(|trace| !is_marked(trace)).collect();
    let traces = if unmarked.is_empty() { all } else { &unmarked };
    let signatures: Vec<Signature> = traces.iter().map(|trace| Signature::of(trace)).collect();
    let seen: Vec<&Signature> = signatures.iter().filter(|one| !one.parts.is_empty()).collect();
    let signature = mean(&seen);
    let mut identity = library.identify(&signature, first.rtt_ms);
    let why = why_unknown(traces, &seen, &identity);
    if why.is_some() {
        identity.controllers.clear();
        identity.confidence = 0.0;
    }
    Some(Controller {
        identity,
        why,
        marks: marks(&signature, traces),
        signature,
        rtt_ms: first.rtt_ms,
        trials: (all.len() as u32, seen.len() as u32),
        bytes: all.iter().map(|trace| trace.bytes).sum(),
    })
}

/// Marks of the path ended the trial.
pub(crate) fn is_marked(trace: &Trace) -> bool {
    trace.ecn && trace.path_marks > 0 && !trace.complete
}

fn why_unknown(traces: &[&Trace], seen: &[&Signature], identity: &Identity) -> Option<String> {
    if traces.iter().any(|trace| trace.lossy) {
        return Some("the path loses too many packets".to_owned());
    }
    if seen.is_empty() {
        let most = traces.iter().map(|trace| trace.bytes).max().unwrap_or(0);
        if traces.iter().all(|trace| is_marked(trace)) {
            return Some(format!("the path marked packets after {most} bytes"));
        }
        let what = match traces.iter().any(|trace| trace.reset) {
            true => "the server reset the connection",
            false => "the server's data ended, or it fell silent,",
        };
        return Some(format!("{what} after {most} bytes"));
    }
    let differ = seen.windows(2).filter_map(|pair| pair[0].distance(pair[1]));
    let most = differ.fold(0.0, f64::max);
    if identity.controllers.is_empty() && most > DISAGREE_FROM {
        return Some(format!("the trials disagree, by {most:.2}"));
    }
    if identity.controllers.is_empty() {
        return Some(match identity.nearest.first() {
            Some(near) => format!(
                "no known controller is near; the nearest, {}, is {:.2} away, {:.1} times as far as its own \
                 signatures reach",
                near.controller, near.distance, near.score
            ),
            None => "no signature for this round-trip time".to_owned(),
        });
    }
    None
}

/// The mean of signatures, stage by stage.
fn mean(signatures: &[&Signature]) -> Signature {
    let Some(first) = signatures.first() else { return Signature::default() };
    let of_stage = |part: &Part| {
        let same = |one: &&Signature| {
            one.parts.iter().find(|each| each.show == part.show).map(|each| each.logs.clone())
        };
        let all: Vec<Vec<Option<f64>>> = signatures.iter().filter_map(same).collect();
        let logs = (0..part.logs.len()).map(|round| {
            let seen: Vec<f64> =
                all.iter().filter_map(|logs| logs.get(round).copied().flatten()).collect();
            (!seen.is_empty()).then(|| seen.iter().sum::<f64>() / seen.len() as f64)
        });
        Part { show: part.show, logs: logs.collect() }
    };
    Signature { parts: first.parts.iter().map(of_stage).collect() }
}

/// A congestion window that is larger is not seen, in segments.
const WINDOW_SEEN_MAX: f64 = 500.0;
/// The rounds with a quarter marked that count: at a few segments the window falls no more.
const ROUNDS_OF_MARKS: usize = 3;

fn marks(signature: &Signature, traces: &[&Trace]) -> Option<Marks> {
    let part = |show| signature.parts.iter().find(|part| part.show == show);
    if traces.iter().any(|trace| hides_falls(trace)) {
        return None;
    }
    let after_one = (*part(Show::Mark)?.logs.first()?)?.exp();
    let many = part(Show::Marks)?;
    let rounds = ROUNDS_OF_MARKS.min(many.logs.len());
    let last = (*many.logs.get(rounds.checked_sub(1)?)?)?;
    let per_round = (last / rounds as f64).exp();
    // A window that was smaller before, and stays, has another reason: BBR's varies by itself.
    let falls_on = many.logs.iter().flatten().next().is_some_and(|first| last < *first);
    let accurate = traces.iter().all(|trace| trace.accurate);
    let answer = match (1.0 - after_one, 1.0 - per_round) {
        (one, many) if one < FALL_MIN && many < FALL_MIN / 3.0 => Answer::None,
        (one, _) if one < FALL_MIN && !falls_on => Answer::None,
        // CDG tolerates one mark.
        (_, many) if many > SHARE_MARKED => Answer::Once,
        (one, _) if one < FALL_MIN => Answer::InProportion,
        // More marks, a deeper fall.
        (one, many) if accurate && many > one * 2.0 => Answer::InProportion,
        // Without AccECN the one mark has been fed back for a round, as if all packets were marked.
        (one, many) if !accurate && many < one * 0.5 => Answer::InProportion,
        _ => Answer::Once,
    };
    let marks_per_round = marks_per_round(traces);
    Some(Marks { after_one, per_round, answer, accurate, marks_per_round })
}

/// Whether the receive window, of 512 segments, limits the server at the first mark: a smaller congestion window
/// may then be as much as before.
fn hides_falls(trace: &Trace) -> bool {
    trace
        .windows(Show::Mark)
        .first()
        .is_some_and(|first| first.is_some_and(|window| window >= WINDOW_SEEN_MAX))
}

fn marks_per_round(traces: &[&Trace]) -> f64 {
    let of_trace = |trace: &&Trace| {
        let rounds = trace.rounds.iter().filter(|round| round.show == Show::Marks);
        rounds.take(ROUNDS_OF_MARKS).map(|round| round.marks).collect::<Vec<u32>>()
    };
    let marks: Vec<u32> = traces.iter().flat_map(of_trace).collect();
    f64::from(marks.iter().sum::<u32>()) / marks.len().max(1) as f64
}

impl Controller {
    /// Its name in tables: those that it may be, or `unknown`.
    pub fn names(&self) -> String {
        match self.why {
            Some(_) => "unknown".to_owned(),
            None => self.identity.controllers.join(" or "),
        }
    }
}

impl Answer {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Answer::None => "none",
            Answer::Once => "once",
            Answer::InProportion => "in-proportion",
        }
    }
}

impl fmt::Display for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Some(why) => write!(f, "unknown: {why}"),
            None => {
                write!(f, "{}, confidence {:.2}", self.names(), self.identity.confidence)
            }
        }
    }
}

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self.answer {
            Answer::None => "does not answer marks",
            Answer::Once => "answers marks once in a round",
            Answer::InProportion => "answers marks in proportion",
        };
        let (one, many) = (self.after_one, self.per_round);
        let feedback = if self.accurate { "AccECN: " } else { "" };
        write!(
            f,
            "{words} ({feedback}window times {one:.2} after one, {many:.2} a round if a quarter is marked)"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::trace::Round;
    use super::*;

    fn answer(one: f64, many: f64, accurate: bool) -> Option<Answer> {
        let marks_of =
            |show, logs: Vec<f64>| Part { show, logs: logs.into_iter().map(Some).collect() };
        let logs = (1..=6).map(|round| many.ln() * f64::from(round)).collect();
        let parts = vec![marks_of(Show::Mark, vec![one.ln(); 5]), marks_of(Show::Marks, logs)];
        let trace = Trace { accurate, ..Trace::default() };
        marks(&Signature { parts }, &[&trace]).map(|marks| marks.answer)
    }

    #[test]
    fn reno_answers_marks_once_dctcp_in_proportion_and_bbr_not_at_all() {
        for accurate in [false, true] {
            assert_eq!(answer(0.5, 0.5, accurate), Some(Answer::Once));
            assert_eq!(answer(0.7, 0.7, accurate), Some(Answer::Once));
            assert_eq!(answer(0.99, 0.97, accurate), Some(Answer::InProportion));
            assert_eq!(answer(1.0, 1.0, accurate), Some(Answer::None));
        }
        assert_eq!(marks(&Signature::default(), &[]), None);
    }

    #[test]
    fn a_window_that_the_receive_window_limits_does_not_show_the_answer() {
        let round = |window| Round {
            show: Show::Mark,
            at_ms: 0.0,
            window,
            recovering: false,
            marked: true,
            marks: 1,
        };
        let part = |show| Part { show, logs: vec![Some(0.0); 6] };
        let signature = Signature { parts: vec![part(Show::Mark), part(Show::Marks)] };
        let answer = |window| {
            let trace = Trace { rounds: vec![round(window)], ..Trace::default() };
            marks(&signature, &[&trace]).map(|marks| marks.answer)
        };
        assert_eq!(answer(511.0), None);
        assert_eq!(answer(400.0), Some(Answer::None));
    }

    #[test]
    fn a_window_that_does_not_fall_on_while_marks_go_on_is_no_answer() {
        let part =
            |show, logs: &[f64]| Part { show, logs: logs.iter().copied().map(Some).collect() };
        let answer = |logs: &[f64]| {
            let parts = vec![part(Show::Mark, &[-0.01; 5]), part(Show::Marks, logs)];
            marks(&Signature { parts }, &[]).map(|marks| marks.answer)
        };
        // BBR of Linux 7.3, whose window was small for a moment when the marks began; DCTCP.
        assert_eq!(answer(&[-0.49, -0.2, -0.2, -0.2, -0.2, -0.2]), Some(Answer::None));
        assert_eq!(answer(&[-0.034, -0.034, -0.045, -0.07, -0.1]), Some(Answer::InProportion));
    }

    #[test]
    fn one_mark_alone_falls_less_in_proportion_and_a_round_of_them_more() {
        // With AccECN there is one mark; without, a whole round of echoes.
        assert_eq!(answer(0.92, 0.8, true), Some(Answer::InProportion));
        assert_eq!(answer(0.92, 0.8, false), Some(Answer::Once));
        // Illinois, which falls by less where it grows fast.
        assert_eq!(answer(0.928, 0.886, true), Some(Answer::Once));
        assert_eq!(answer(0.5, 0.9, true), Some(Answer::Once));
        // CDG, which tolerates one mark.
        assert_eq!(answer(1.0, 0.64, true), Some(Answer::Once));
        assert_eq!(answer(0.5, 0.9, false), Some(Answer::InProportion));
    }

    #[test]
    fn without_data_it_is_unknown_and_says_why() {
        let trace = Trace { rtt_ms: 160.0, bytes: 700, ..Trace::default() };
        let verdict = judge(&[&trace], &Library::default()).expect("a trial");
        assert!(verdict.identity.controllers.is_empty());
        assert_eq!(
            verdict.to_string(),
            "unknown: the server's data ended, or it fell silent, after 700 bytes"
        );
    }
}
