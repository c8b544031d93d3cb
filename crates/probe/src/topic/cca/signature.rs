//! The signature of a controller, whatever its window was: how much smaller the window is after a
//! loss or a mark, and how it grows between.

use super::script::Show;
use super::trace::Trace;
use serde::{Deserialize, Serialize};

/// A part of a signature: the windows of a stage, relative to the window before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The stage.
    pub show: Show,
    /// Natural logarithms of window over window before, one for each round, both with
    /// 8 more segments. `None` for a round in a dip.
    pub logs: Vec<Option<f64>>,
}

/// The signature of a trace.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Signature {
    /// The stages, in their order.
    pub parts: Vec<Part>,
}

/// Added to each window, so that one segment more or less says little where there are few.
pub(crate) const SEGMENTS_ADDED: f64 = 8.0;

/// The logarithm of a window over the one before, both with [`SEGMENTS_ADDED`] more.
pub(super) fn log_of(window: f64, before: f64) -> f64 {
    ((window + SEGMENTS_ADDED) / (before + SEGMENTS_ADDED)).ln()
}

/// The stages of a signature, and how many rounds of each it has.
const STAGES: [(Show, usize); 6] = [
    (Show::Loss, 14),
    (Show::Delay, 9),
    (Show::LossAtDelay, 2),
    (Show::Relief, 9),
    (Show::Mark, 5),
    (Show::Marks, 6),
];

impl Signature {
    /// The signature of a trace: the stages that were seen whole. Without ECN those of marks are missing.
    pub fn of(trace: &Trace) -> Signature {
        let mut parts = Vec::new();
        let mut losses = trace.losses.iter().copied();
        let mut before = None;
        for (show, rounds) in STAGES {
            let windows = steady(trace, show);
            // A loss is answered from the window at which it happened; other stages follow the one before.
            let reference = match show {
                Show::Loss | Show::LossAtDelay => losses.next(),
                _ => before,
            };
            before = windows.iter().flatten().last().copied().or(before);
            let Some(reference) = reference.filter(|window| *window >= 1.0) else { continue };
            // A stage that the transfer did not fill would be compared over its first rounds only.
            let is_mark = matches!(show, Show::Mark | Show::Marks);
            if windows.len() < rounds || is_mark && !trace.ecn {
                continue;
            }
            let log = |window: Option<f64>| window.map(|window| log_of(window, reference));
            let logs = windows.into_iter().take(rounds).map(log);
            parts.push(Part { show, logs: logs.collect() });
        }
        Signature { parts }
    }

    /// The distance to another signature: the mean over the stages that both have, of the root mean square
    /// difference of the logarithms. A stage counts if both have at least half of its rounds. `None` if
    /// there is no such stage.
    pub fn distance(&self, other: &Signature) -> Option<f64> {
        let of_part = |part: &Part| {
            let same = other.parts.iter().find(|each| each.show == part.show)?;
            let pairs = part.logs.iter().zip(&same.logs).filter_map(|(a, b)| Some(((*a)?, (*b)?)));
            // Root mean square of ln(window / before) over the rounds that neither trace has in a dip.
            let squares: Vec<f64> = pairs.map(|(a, b)| (a - b) * (a - b)).collect();
            let count = squares.len();
            let mean = squares.iter().sum::<f64>() / count as f64;
            (count > 0 && count * 2 >= part.logs.len()).then(|| mean.sqrt())
        };
        let distances: Vec<f64> = self.parts.iter().filter_map(of_part).collect();
        // Each stage counts alike, however many rounds it has.
        let mean = distances.iter().sum::<f64>() / distances.len() as f64;
        (!distances.is_empty()).then_some(mean)
    }
}

/// The windows of the steady rounds of a stage. The round in which marks begin is the answer to none.
fn steady(trace: &Trace, show: Show) -> Vec<Option<f64>> {
    let mut windows = trace.windows(show);
    if matches!(show, Show::Mark | Show::Marks) && !windows.is_empty() {
        windows.remove(0);
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topic::cca::Round;

    fn trace(windows: &[(Show, &[f64])]) -> Trace {
        let round = |show, window| Round {
            show,
            at_ms: 0.0,
            window,
            recovering: false,
            marked: false,
            marks: 0,
        };
        let rounds = windows
            .iter()
            .flat_map(|(show, windows)| windows.iter().map(|window| round(*show, *window)));
        Trace { losses: vec![100.0], rounds: rounds.collect(), ..Trace::default() }
    }

    #[test]
    fn a_signature_hardly_depends_on_the_window() {
        let half: Vec<f64> = (0..14).map(|_| 50.0).collect();
        let signature = Signature::of(&trace(&[(Show::Loss, &half)]));
        assert_eq!(signature.parts.len(), 1);
        assert!(signature.parts[0].logs.iter().flatten().all(|log| (log + 0.62).abs() < 0.01));
        let mut double = trace(&[(Show::Loss, &half)]);
        double.losses[0] *= 2.0;
        double.rounds.iter_mut().for_each(|round| round.window *= 2.0);
        let distance = signature.distance(&Signature::of(&double));
        assert!(distance.is_some_and(|distance| distance < 0.05), "{distance:?}");
    }

    #[test]
    fn rounds_in_a_dip_count_for_no_distance() {
        let steady = [100.0; 14];
        let mut dips = steady;
        (dips[6], dips[7]) = (4.0, 4.0);
        let [steady, dips] =
            [steady, dips].map(|windows| Signature::of(&trace(&[(Show::Loss, &windows)])));
        assert_eq!(dips.parts[0].logs.iter().filter(|log| log.is_none()).count(), 2);
        assert_eq!(steady.distance(&dips), Some(0.0));
    }

    #[test]
    fn stages_that_were_not_seen_whole_are_left_out() {
        let few: Vec<f64> = (0..13).map(|_| 50.0).collect();
        let signature = Signature::of(&trace(&[(Show::Loss, &few)]));
        assert_eq!(signature.parts, []);
        assert_eq!(signature.distance(&signature), None);
    }
}
