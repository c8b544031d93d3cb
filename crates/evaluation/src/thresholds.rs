//! The thresholds of the figures, from `thresholds.toml`.

use crate::error::Error;
use crate::settings::Path;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const FILE: &str = include_str!("../thresholds.toml");

/// The thresholds by criterion and figure.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Thresholds(BTreeMap<String, BTreeMap<String, Threshold>>);

/// The threshold of a figure.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// The most that the figure may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Bound>,
    /// The least that it may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Bound>,
    /// Why there.
    pub reason: String,
    /// The date, if the threshold was set after a result had been seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_after_result: Option<String>,
    /// Other thresholds on some paths.
    #[serde(default, skip_serializing)]
    on: BTreeMap<String, Threshold>,
}

/// A bound: a number, or relative to the baselines.
#[derive(Copy, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Bound {
    /// In the figure's unit.
    Absolute(f64),
    /// Relative to the worse of Reno and CUBIC.
    Relative(Relative),
}

/// A multiple of the worse of Reno and CUBIC, and an allowance beyond it.
#[derive(Copy, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Relative {
    /// The multiple.
    pub times: f64,
    /// The allowance in the figure's unit.
    #[serde(default)]
    pub plus: f64,
    /// The allowance in round-trip times of the path, for figures in milliseconds.
    #[serde(default)]
    pub plus_rtts: f64,
}

impl Thresholds {
    /// Reads the crate's file.
    pub(crate) fn read() -> Result<Thresholds, Error> {
        toml::from_str(FILE)
            .map_err(|error| Error::Data("thresholds.toml".into(), error.to_string()))
    }

    /// The threshold of a figure on a path.
    pub(crate) fn of(
        &self,
        criterion: &str,
        figure: &str,
        path: &str,
    ) -> Result<&Threshold, Error> {
        let threshold = self.0.get(criterion).and_then(|figures| figures.get(figure));
        let threshold = threshold.map(|threshold| threshold.on.get(path).unwrap_or(threshold));
        threshold.ok_or_else(|| {
            let problem = format!("no threshold of {criterion}.{figure}");
            Error::Data("thresholds.toml".into(), problem)
        })
    }
}

impl Threshold {
    /// How far each run is beyond the threshold, by which a negative number keeps it, and the mean of the
    /// thresholds. Runs and baselines have the same seeds.
    pub(crate) fn excess(&self, runs: &[f64], baselines: [&[f64]; 2], path: &Path) -> Excess {
        let limits = self.limits(baselines, path);
        let sign = if self.at_most.is_some() { 1.0 } else { -1.0 };
        let beyond = runs.iter().zip(&limits).map(|(run, limit)| sign * (run - limit)).collect();
        Excess { limit: mean(&limits), of_runs: beyond }
    }

    fn limits(&self, baselines: [&[f64]; 2], path: &Path) -> Vec<f64> {
        let worse = self.worse(baselines);
        match self.bound() {
            Bound::Absolute(limit) => vec![limit; worse.len()],
            Bound::Relative(Relative { times, plus, plus_rtts }) => {
                let allowance = plus + plus_rtts * path.rtt_ms;
                worse.iter().map(|figure| times * figure + allowance).collect()
            }
        }
    }

    /// The baseline whose mean is worse: the larger one of a figure with an upper bound.
    fn worse<'a>(&self, [first, second]: [&'a [f64]; 2]) -> &'a [f64] {
        let larger = mean(first) >= mean(second);
        if larger == self.at_most.is_some() { first } else { second }
    }

    fn bound(&self) -> Bound {
        self.at_most.or(self.at_least).unwrap_or(Bound::Absolute(0.0))
    }

    /// The threshold in words.
    pub(crate) fn words(&self, unit: &str) -> String {
        let side = if self.at_most.is_some() { "at most" } else { "at least" };
        match self.bound() {
            Bound::Absolute(limit) => format!("{side} {limit} {unit}").trim_end().to_owned(),
            Bound::Relative(Relative { times, plus, plus_rtts }) => {
                let mut words = format!("{side} {times} times the worse of Reno and CUBIC");
                if plus > 0.0 {
                    words += format!(" and {plus} {unit}").trim_end();
                }
                if plus_rtts > 0.0 {
                    words += &format!(" and {plus_rtts} RTT");
                }
                words
            }
        }
    }
}

/// The distance of runs from their threshold.
pub(crate) struct Excess {
    /// The mean of the thresholds of all seeds.
    pub(crate) limit: f64,
    /// By seed, how far the run is beyond.
    pub(crate) of_runs: Vec<f64>,
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criteria::CRITERIA;
    use crate::settings;

    fn all(thresholds: &Thresholds) -> Vec<(String, &Threshold)> {
        let figures = |(criterion, figures)| {
            let named = move |(figure, threshold)| (format!("{criterion}.{figure}"), threshold);
            BTreeMap::iter(figures).map(named)
        };
        let own: Vec<(String, &Threshold)> = thresholds.0.iter().flat_map(figures).collect();
        let special = own.iter().flat_map(|(name, threshold)| {
            let named = move |(path, threshold)| (format!("{name}.on.{path}"), threshold);
            threshold.on.iter().map(named)
        });
        own.iter().cloned().chain(special).collect()
    }

    #[test]
    fn each_threshold_has_one_side_and_a_reason() {
        for (name, threshold) in all(&Thresholds::read().expect("valid")) {
            assert!(threshold.at_most.is_some() != threshold.at_least.is_some(), "{name}");
            assert!(threshold.reason.len() > 40, "{name}");
        }
    }

    #[test]
    fn each_threshold_belongs_to_a_figure_and_a_path() {
        let thresholds = Thresholds::read().expect("valid");
        let settings = settings::read().expect("valid");
        let paths = settings.iter().flat_map(|setting| &setting.paths);
        let paths: Vec<&str> = paths.map(|path| path.name.as_str()).collect();
        for (criterion, figures) in &thresholds.0 {
            let known = CRITERIA.iter().find(|known| known.name == criterion).expect(criterion);
            for (figure, threshold) in figures {
                assert!(known.figures().any(|known| known.name == figure), "{criterion}.{figure}");
                assert!(threshold.on.keys().all(|on| paths.contains(&on.as_str())), "{figure}");
            }
        }
    }

    #[test]
    fn the_bound_is_a_multiple_of_the_worse_baseline_with_the_same_seed() {
        let text = "at_most = { times = 1.5, plus = 1.0 }\nreason = 'r'";
        let threshold: Threshold = toml::from_str(text).expect("valid");
        let path = settings::read().expect("valid").remove(0).paths.remove(0);
        let excess = threshold.excess(&[5.0, 8.0], [&[2.0, 4.0], &[1.0, 1.0]], &path);
        assert_eq!((excess.limit, excess.of_runs), (5.5, vec![1.0, 1.0]));
        let least: Threshold =
            toml::from_str("at_least = { times = 0.5 }\nreason = 'r'").expect("valid");
        let excess = least.excess(&[5.0, 8.0], [&[2.0, 4.0], &[1.0, 1.0]], &path);
        assert_eq!((excess.limit, excess.of_runs), (0.5, vec![-4.5, -7.5]));
    }
}
