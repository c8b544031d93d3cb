//! Signatures of known controllers, and the verdict on a signature.

use super::signature::{Part, Signature};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Signatures that were measured, one JSON object a line.
const MEASURED: &str = include_str!("library.jsonl");

/// A signature of a known controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The controller's name.
    pub controller: String,
    /// The round-trip time of the script, in milliseconds.
    pub rtt_ms: f64,
    /// Where it was measured: a kernel or the simulator, and the path.
    pub source: String,
    /// Its signature.
    pub parts: Vec<Part>,
}

/// Signatures of known controllers.
#[derive(Clone, Debug, Default)]
pub struct Library {
    samples: Vec<Sample>,
}

/// What a signature says of the controller.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Identity {
    /// The controllers that it may be, the likeliest first; none: unknown. More than one if the path shows
    /// no difference between them.
    pub controllers: Vec<String>,
    /// How far the next controller is, beside this one: 1 if this one is exact, 0.5 if both are as near.
    /// Zero if it is unknown.
    pub confidence: f64,
    /// The nearest controllers of the library, and the distance of each.
    pub nearest: Vec<(String, f64)>,
}

/// A signature that is further from all samples belongs to no known controller.
const UNKNOWN_FROM: f64 = 0.06;
/// Two controllers coincide if the further one is nearer than this, and not much further than the nearer.
const SAME_WITHIN: f64 = 0.015;
/// Entries of [`Identity::nearest`].
const NEAREST: usize = 3;

impl Library {
    /// The library of this version.
    ///
    /// # Errors
    ///
    /// A line is not a sample: the build is broken.
    pub fn measured() -> Result<Library, serde_json::Error> {
        Library::read(MEASURED)
    }

    /// Reads samples, one JSON object a line.
    ///
    /// # Errors
    ///
    /// A line is not a sample.
    pub fn read(text: &str) -> Result<Library, serde_json::Error> {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let samples: Result<Vec<Sample>, _> = lines.map(serde_json::from_str).collect();
        Ok(Library { samples: samples? })
    }

    /// A library of these samples.
    pub fn of(samples: Vec<Sample>) -> Library {
        Library { samples }
    }

    /// The controllers of the library.
    pub fn controllers(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.samples.iter().map(|sample| sample.controller.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The controllers whose signatures are near this one; `rtt_ms` is the script's round-trip time.
    pub fn identify(&self, signature: &Signature, rtt_ms: f64) -> Identity {
        let mut nearest = BTreeMap::<&str, f64>::new();
        for sample in self.samples.iter().filter(|sample| sample.rtt_ms == rtt_ms) {
            let known = Signature { parts: sample.parts.clone() };
            let Some(distance) = signature.distance(&known) else { continue };
            let best = nearest.entry(&sample.controller).or_insert(distance);
            *best = best.min(distance);
        }
        let mut nearest: Vec<(String, f64)> =
            nearest.into_iter().map(|(name, distance)| (name.to_owned(), distance)).collect();
        nearest.sort_by(|a, b| a.1.total_cmp(&b.1));
        nearest.truncate(NEAREST);
        judge(nearest)
    }
}

fn judge(nearest: Vec<(String, f64)>) -> Identity {
    let Some(best) = nearest.first().map(|(_, distance)| *distance) else {
        return Identity { controllers: Vec::new(), confidence: 0.0, nearest };
    };
    let known = best < UNKNOWN_FROM;
    let same =
        |(_, distance): &&(String, f64)| known && (*distance == best || *distance < SAME_WITHIN);
    let controllers: Vec<String> =
        nearest.iter().filter(same).map(|(name, _)| name.clone()).collect();
    let next = nearest.get(controllers.len().max(1)).map_or(1.0, |(_, distance)| *distance);
    let confidence = if known { next / (next + best).max(f64::MIN_POSITIVE) } else { 0.0 };
    Identity { controllers, confidence, nearest }
}

#[cfg(test)]
mod tests {
    use super::super::script::Show;
    use super::*;

    fn sample(controller: &str, log: f64) -> Sample {
        let part = Part { show: Show::Loss, logs: vec![log; 14] };
        Sample {
            controller: controller.into(),
            rtt_ms: 160.0,
            source: "a test".into(),
            parts: vec![part],
        }
    }

    fn identify(log: f64) -> Identity {
        let samples = vec![sample("half", -0.69), sample("most", -0.13), sample("twin", -0.135)];
        let signature = Signature { parts: sample("", log).parts };
        Library { samples }.identify(&signature, 160.0)
    }

    #[test]
    fn the_nearest_controller_wins_unless_it_is_far() {
        let half = identify(-0.70);
        assert_eq!(half.controllers, ["half"]);
        assert!(half.confidence > 0.9, "{half:?}");
        let unknown = identify(-0.4);
        assert_eq!((unknown.controllers.len(), unknown.confidence), (0, 0.0));
        assert_eq!(unknown.nearest[0].0, "twin");
    }

    #[test]
    fn controllers_that_coincide_are_named_together() {
        assert_eq!(identify(-0.131).controllers, ["most", "twin"]);
    }

    #[test]
    fn the_library_of_this_version_can_be_read() {
        assert!(!Library::measured().expect("sound").controllers().is_empty());
    }
}
