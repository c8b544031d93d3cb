//! The verdict on all trials of a server.

use super::library::{Identity, Library};
use super::marks::{self, Marks};
use super::script::PACKETS_PER_S;
use super::signature::{Part, Signature};
use super::trace::Trace;
use serde::Serialize;
use std::fmt;

/// Which controller a server runs, and how it answers marks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Controller {
    /// The controllers that the signature fits.
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
    let lossy = traces.iter().any(|trace| trace.lossy);
    let delays = delays_of_path(traces);
    let why = match why_unknown(traces, &seen, &identity) {
        Some(why) => {
            let losses = losses_of_path(traces).filter(|_| !lossy);
            let trouble = [Some(why), rate_of_path(traces), delays, losses];
            Some(trouble.into_iter().flatten().collect::<Vec<_>>().join("; "))
        }
        // The library is of paths that add no delay to the script's. Elsewhere a signature may lie near another's.
        None => delays,
    };
    // A signature of a disturbed path names no controller, even if it lies near one.
    if why.is_some() {
        identity.controllers.clear();
        identity.confidence = 0.0;
    }
    Some(Controller {
        identity,
        why,
        marks: marks::judge(traces),
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
    // The trials repeat one script, so signatures far apart show the path or a random part of the controller.
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

/// A round that lasts longer than the script makes it by this share of the round-trip time was held up elsewhere.
const HELD_UP_MIN: f64 = 0.15;
/// A share of packets that the path treats so, from which it is a reason.
const TROUBLE_MIN: f64 = 0.001;

/// Delays that the path adds to the script's, if they change the windows of rounds.
fn delays_of_path(traces: &[&Trace]) -> Option<String> {
    let rtt_ms = traces.first()?.rtt_ms;
    let most = |of: fn(&Trace) -> f64| traces.iter().map(|trace| of(trace)).fold(0.0, f64::max);
    let (held_up, queued) = (most(Trace::held_up_ms), most(|trace| trace.queued_ms));
    let counts = |ms: f64| ms > HELD_UP_MIN * rtt_ms;
    match (counts(held_up), counts(queued)) {
        (true, _) => Some(format!(
            "the path held up rounds of {rtt_ms:.0} ms by {held_up:.0} ms: it is slower than the probe's own \
             bottleneck, or carries other traffic"
        )),
        (false, true) => Some(format!(
            "a handshake took {queued:.0} ms longer than another one: the path carries other traffic"
        )),
        (false, false) => None,
    }
}

/// How fast packets came, if that held the server.
fn rate_of_path(traces: &[&Trace]) -> Option<String> {
    let slow = traces.iter().filter(|trace| trace.is_slow());
    let slowest = slow.min_by(|a, b| a.packets_per_s.total_cmp(&b.packets_per_s))?;
    let mbit_per_s = slowest.packets_per_s * f64::from(slowest.mss) * 8.0 / 1e6;
    Some(format!(
        "at most {:.0} packets a second came ({mbit_per_s:.2} Mbit/s of data), for whole rounds: the path or the \
         server is slower than the probe's own bottleneck of {PACKETS_PER_S}",
        slowest.packets_per_s
    ))
}

/// Losses and other disturbances of the path, in words, if they may be the reason why the server is
/// unknown.
fn losses_of_path(traces: &[&Trace]) -> Option<String> {
    let packets: f64 = traces.iter().map(|trace| trace.packets()).sum();
    let share = |count: fn(&Trace) -> u32| {
        let count: u32 = traces.iter().map(|trace| count(trace)).sum();
        (f64::from(count) > TROUBLE_MIN * packets).then_some(count)
    };
    let mut all = Vec::new();
    let counts = [
        (share(|trace| trace.path_losses), "lost"),
        (share(|trace| trace.reordered), "reordered"),
        (share(|trace| trace.duplicated + trace.repeated), "repeated"),
    ];
    for (count, what) in counts {
        all.extend(
            count.map(|count| format!("{count} of {packets:.0} packets were {what} on the path")),
        );
    }
    (!all.is_empty()).then(|| all.join("; "))
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

impl Controller {
    /// Its name in tables: those that it may be, or `unknown`.
    pub fn names(&self) -> String {
        match self.why {
            Some(_) => "unknown".to_owned(),
            None => self.identity.controllers.join(" or "),
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

#[cfg(test)]
mod tests {
    use super::*;

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
