//! Signatures of known controllers, and the verdict on a signature.

use super::signature::Signature;
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
    #[serde(flatten)]
    pub signature: Signature,
}

/// Signatures of known controllers.
#[derive(Clone, Debug, Default)]
pub struct Library {
    samples: Vec<Sample>,
    /// How far a signature may be from a controller's samples of one script: their spread with the script of
    /// 320 ms says nothing of that with 160 ms.
    reach: BTreeMap<(String, ScriptMs), f64>,
}

/// A script, by its round-trip time in whole milliseconds.
type ScriptMs = u64;

/// The controllers whose signatures are nearest to a measured one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Identity {
    /// The controllers that it may be, the likeliest first; none: unknown. More than one if the path shows
    /// no difference between them.
    pub controllers: Vec<String>,
    /// How far the next controller is, beside this one: 1 if this one is exact, 0.5 if both are as near.
    /// Zero if it is unknown.
    pub confidence: f64,
    /// The nearest controllers of the library.
    pub nearest: Vec<Near>,
}

/// A controller of the library, and how near its nearest sample is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Near {
    /// Its name.
    pub controller: String,
    /// The distance of [`Signature::distance`].
    pub distance: f64,
    /// That distance in units of how much the controller's own samples differ; above 1 it is another one.
    pub score: f64,
}

/// A controller's signatures reach as far as its samples lie apart, times this.
const REACH_FACTOR: f64 = 1.3;
/// The least reach, and the greatest: samples of controllers that draw at random lie far apart.
const REACH_MIN: f64 = 0.04;
const REACH_MAX: f64 = 0.2;
/// Scores that differ by less name two controllers.
const SAME_WITHIN: f64 = 0.2;
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
        Ok(Library::of(samples?))
    }

    /// A library of these samples.
    pub fn of(samples: Vec<Sample>) -> Library {
        let mut reach = BTreeMap::new();
        for sample in &samples {
            let others = samples.iter().filter(|other| {
                other.controller == sample.controller
                    && other.rtt_ms == sample.rtt_ms
                    && !std::ptr::eq(*other, sample)
            });
            let nearest = others.filter_map(|other| sample.signature.distance(&other.signature));
            let nearest = nearest.min_by(f64::total_cmp).unwrap_or(0.0) * REACH_FACTOR;
            let key = (sample.controller.clone(), sample.rtt_ms.round() as ScriptMs);
            let widest = reach.entry(key).or_insert(REACH_MIN);
            *widest = nearest.clamp(*widest, REACH_MAX);
        }
        Library { samples, reach }
    }

    /// The controllers whose signatures are near this one; `rtt_ms` is the script's round-trip time.
    pub(crate) fn identify(&self, signature: &Signature, rtt_ms: f64) -> Identity {
        let mut distances = BTreeMap::<&str, f64>::new();
        for sample in self.samples.iter().filter(|sample| sample.rtt_ms == rtt_ms) {
            let Some(distance) = signature.distance(&sample.signature) else { continue };
            let best = distances.entry(&sample.controller).or_insert(distance);
            *best = best.min(distance);
        }
        let near = |(name, distance): (&str, f64)| {
            let key = (name.to_owned(), rtt_ms.round() as ScriptMs);
            let reach = self.reach.get(&key).copied().unwrap_or(REACH_MIN);
            Near { controller: name.to_owned(), distance, score: distance / reach }
        };
        let mut nearest: Vec<Near> = distances.into_iter().map(near).collect();
        nearest.sort_by(|a, b| a.score.total_cmp(&b.score));
        let mut identity = judge(nearest);
        identity.nearest.truncate(NEAREST.max(identity.controllers.len()));
        identity
    }
}

fn judge(nearest: Vec<Near>) -> Identity {
    let best = nearest.first().map(|near| near.score).filter(|score| *score <= 1.0);
    let Some(best) = best else {
        return Identity { controllers: Vec::new(), confidence: 0.0, nearest };
    };
    let same = |near: &&Near| near.score <= 1.0 && near.score - best < SAME_WITHIN;
    let controllers: Vec<String> =
        nearest.iter().filter(same).map(|near| near.controller.clone()).collect();
    // Nothing else within reach, in a library of few controllers: as far as one just out of reach.
    let next = nearest.get(controllers.len()).map_or(1.0, |near| near.score);
    let confidence = next / (next + best).max(f64::MIN_POSITIVE);
    Identity { controllers, confidence, nearest }
}

#[cfg(test)]
mod tests {
    use super::super::script::Show;
    use super::super::signature::Part;
    use super::*;
    use std::collections::BTreeSet;

    fn sample(controller: &str, log: f64) -> Sample {
        let part = Part { show: Show::Loss, logs: vec![Some(log); 14] };
        Sample {
            controller: controller.into(),
            rtt_ms: 160.0,
            source: "a test".into(),
            signature: Signature { parts: vec![part] },
        }
    }

    fn identify(log: f64) -> Identity {
        let samples = vec![sample("half", -0.69), sample("most", -0.13), sample("twin", -0.135)];
        Library::of(samples).identify(&sample("", log).signature, 160.0)
    }

    #[test]
    fn the_nearest_controller_wins_unless_it_is_far() {
        let half = identify(-0.70);
        assert_eq!(half.controllers, ["half"]);
        assert!(half.confidence > 0.9, "{half:?}");
        let unknown = identify(-0.4);
        assert_eq!((unknown.controllers.len(), unknown.confidence), (0, 0.0));
        assert_eq!(unknown.nearest[0].controller, "twin");
    }

    #[test]
    fn controllers_that_coincide_are_named_together() {
        assert_eq!(identify(-0.131).controllers, ["most", "twin"]);
    }

    #[test]
    fn samples_of_another_script_widen_nothing() {
        let far = |log| Sample { rtt_ms: 320.0, ..sample("a", log) };
        let library = Library::of(vec![sample("a", -0.69), far(-0.69), far(-0.55)]);
        let found = |rtt_ms| library.identify(&sample("", -0.8).signature, rtt_ms).controllers;
        assert_eq!((found(160.0), found(320.0)), (vec![], vec!["a".to_owned()]));
    }

    #[test]
    fn all_controllers_that_coincide_are_named() {
        let names = ["a", "b", "c", "d", "e"];
        let library = Library::of(names.map(|name| sample(name, -0.69)).into());
        let signature = sample("", -0.69).signature;
        assert_eq!(library.identify(&signature, 160.0).controllers, names);
    }

    /// Kernels' samples that are known, and those taken for another controller, each by a library without it.
    fn known_and_wrong(samples: &[Sample]) -> (usize, usize) {
        let (mut known, mut wrong) = (0, 0);
        for (index, sample) in samples.iter().enumerate() {
            if is_engine(sample) {
                continue;
            }
            let mut others = samples.to_vec();
            others.remove(index);
            let found = Library::of(others).identify(&sample.signature, sample.rtt_ms).controllers;
            let right = found.contains(&sample.controller);
            known += usize::from(right);
            wrong += usize::from(!right && !found.is_empty());
        }
        (known, wrong)
    }

    fn is_engine(sample: &Sample) -> bool {
        sample.controller.starts_with("windlass ")
    }

    #[test]
    fn the_engines_samples_make_no_kernel_harder_to_know() {
        let lines = MEASURED.lines().map(serde_json::from_str);
        let all: Vec<Sample> = lines.collect::<Result<_, _>>().expect("samples");
        let kernels: Vec<Sample> =
            all.iter().filter(|sample| !is_engine(sample)).cloned().collect();
        let (with, without) = (known_and_wrong(&all), known_and_wrong(&kernels));
        println!("of {}: known, wrong: {with:?} with, {without:?} without", kernels.len());
        assert!(kernels.len() < all.len(), "no samples of the engine");
        assert!(with.0 >= without.0 && with.1 <= without.1, "{with:?} {without:?}");
    }

    #[test]
    fn the_library_of_this_version_can_be_read() {
        let library = Library::measured().expect("sound");
        let names: BTreeSet<&str> =
            library.samples.iter().map(|sample| sample.controller.as_str()).collect();
        assert!(names.len() >= 16);
    }
}
