//! Builds the report from the figures of all runs.

use super::{
    CellReport, Counts, CriterionText, FigureReport, PathText, Report, ResultReport, SettingText,
    TrafficReport,
};
use crate::criteria::Criterion;
use crate::evaluation::{Evaluation, Figures};
use crate::interval::Interval;
use crate::plan::Planned;
use crate::settings::{Path, Setting};
use crate::verdict::Verdict;
use std::collections::BTreeMap;

impl Evaluation {
    /// The report on the figures of all runs, in the order of their numbers.
    ///
    /// # Panics
    ///
    /// Figures of a run are missing.
    pub fn report(&self, figures: &[Figures]) -> Report {
        let subjects = self.subjects.iter().map(|&number| self.contenders[number].clone());
        let cells = self.all_cells(figures);
        let count = |number: usize| Counts::of(cells.iter().map(|cell| cell.verdicts[number]));
        Report {
            version: env!("CARGO_PKG_VERSION"),
            quick: self.options.quick,
            seeds: self.options.seeds,
            subjects: subjects.collect(),
            counts: (0..self.subjects.len()).map(count).collect(),
            criteria: self.criteria.iter().map(|criterion| criterion_text(criterion)).collect(),
            settings: self.settings.iter().map(setting_text).collect(),
            cells,
        }
    }

    /// The cells of all paths and criteria in order, those that cannot be tested among them.
    fn all_cells(&self, figures: &[Figures]) -> Vec<CellReport> {
        let mut tested: BTreeMap<(&str, String), CellReport> = BTreeMap::new();
        for (number, cell) in self.cells.iter().enumerate() {
            tested
                .insert((cell.criterion.name, cell.path.name.clone()), self.cell(number, figures));
        }
        let (text, testable): (Vec<&Criterion>, Vec<&Criterion>) =
            self.criteria.iter().partition(|criterion| criterion.traffics.is_empty());
        let mut all = Vec::new();
        for setting in &self.settings {
            for path in paths(setting) {
                for criterion in &testable {
                    let cell = tested.remove(&(criterion.name, path.name.clone()));
                    let reason = || why_not(criterion, setting, &path);
                    all.push(cell.unwrap_or_else(|| {
                        self.untested(criterion, &setting.name, &path.name, reason())
                    }));
                }
            }
        }
        let of_text =
            |criterion: &&Criterion| self.untested(criterion, "", "", criterion.about.to_owned());
        all.extend(text.iter().map(of_text));
        all
    }

    fn untested(
        &self,
        criterion: &Criterion,
        setting: &str,
        path: &str,
        reason: String,
    ) -> CellReport {
        CellReport {
            criterion: criterion.name,
            setting: setting.to_owned(),
            path: path.to_owned(),
            verdicts: vec![Verdict::NotTestable; self.subjects.len()],
            reason: Some(reason),
            traffics: Vec::new(),
        }
    }

    fn cell(&self, number: usize, figures: &[Figures]) -> CellReport {
        let cell = &self.cells[number];
        let of_cell: Vec<usize> =
            (0..self.planned.len()).filter(|&run| self.planned[run].cell == number).collect();
        // The contenders of a traffic follow each other.
        let of_traffics = of_cell.chunks(self.contenders.len());
        let traffics: Vec<TrafficReport> =
            of_traffics.map(|runs| self.traffic(runs[0], figures)).collect();
        let worst = |subject: usize| {
            let figures = traffics.iter().flat_map(|traffic| &traffic.figures);
            let verdicts = figures.map(|figure| figure.results[subject].verdict);
            verdicts.max().unwrap_or(Verdict::NotTestable)
        };
        CellReport {
            criterion: cell.criterion.name,
            setting: self.settings[cell.setting].name.clone(),
            path: cell.path.name.clone(),
            verdicts: (0..self.subjects.len()).map(worst).collect(),
            reason: None,
            traffics,
        }
    }

    /// The traffic whose first contender's runs stand there.
    fn traffic(&self, first: usize, figures: &[Figures]) -> TrafficReport {
        let planned = &self.planned[first..first + self.contenders.len()];
        let traffic = planned[0].traffic;
        let seeds = self.options.seeds as usize;
        let report = |number: usize| {
            let runs = |contender: usize| -> Vec<f64> {
                let begin = (first + contender) * seeds;
                figures[begin..begin + seeds].iter().map(|figures| figures[number]).collect()
            };
            let runs: Vec<Vec<f64>> = (0..self.contenders.len()).map(runs).collect();
            self.figure(&planned[0], number, &runs)
        };
        TrafficReport {
            name: traffic.name,
            about: traffic.about,
            scenario: planned[self.subjects[0]].text.clone(),
            figures: (0..traffic.figures.len()).map(report).collect(),
        }
    }

    /// A figure of a traffic, from its values by contender and seed.
    fn figure(&self, planned: &Planned, number: usize, runs: &[Vec<f64>]) -> FigureReport {
        let path = &self.cells[planned.cell].path;
        let figure = &planned.traffic.figures[number];
        let threshold = &planned.thresholds[number];
        let baselines = [runs[0].as_slice(), runs[1].as_slice()];
        let result = |&subject: &usize| {
            let beyond = threshold.excess(&runs[subject], baselines, path);
            let excess = Interval::of(&beyond.of_runs);
            ResultReport {
                subject: self.contenders[subject].name.clone(),
                interval: Interval::of(&runs[subject]),
                excess,
                verdict: Verdict::of(excess, runs[subject].len()),
            }
        };
        FigureReport {
            name: figure.name,
            title: figure.title,
            unit: figure.unit,
            threshold_words: threshold.words(figure.unit),
            threshold: threshold.clone(),
            limit: threshold.excess(&runs[0], baselines, path).limit,
            reno: Interval::of(&runs[0]),
            cubic: Interval::of(&runs[1]),
            results: self.subjects.iter().map(result).collect(),
        }
    }
}

fn criterion_text(criterion: &Criterion) -> CriterionText {
    let Criterion { name, section, title, about, .. } = *criterion;
    CriterionText { name, section, title, about }
}

fn setting_text(setting: &Setting) -> SettingText {
    let Setting { name, section, title, .. } = setting.clone();
    SettingText { name, section, title, paths: paths(setting) }
}

/// The paths of a setting, or one without a name that says why there are none.
fn paths(setting: &Setting) -> Vec<PathText> {
    let path = |path: &Path| PathText { name: path.name.clone(), about: path.about.clone() };
    let none = |reason: &String| PathText { name: String::new(), about: reason.clone() };
    setting.paths.iter().map(path).chain(setting.untestable.iter().map(none)).collect()
}

/// Why a criterion has no runs on a path.
fn why_not(criterion: &Criterion, setting: &Setting, path: &PathText) -> String {
    let of_path = setting.paths.iter().find(|of_setting| of_setting.name == path.name);
    let reason = of_path.and_then(|path| path.untestable.get(criterion.name));
    reason.unwrap_or(&path.about).clone()
}
