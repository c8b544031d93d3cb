//! The report of an evaluation: plain data, which JSON, the table and the page derive from.

mod build;
mod html;
mod plot;

use crate::contender::Contender;
use crate::interval::Interval;
use crate::thresholds::Threshold;
use crate::verdict::Verdict;
use serde::Serialize;

/// The result of an evaluation. The same subjects and options give the same report, byte for byte.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The version of Windlass.
    pub version: &'static str,
    /// Whether runs had half their length.
    pub quick: bool,
    /// Runs of each traffic with each controller, with the seeds from 1 on.
    pub seeds: u64,
    /// The controllers that are judged.
    pub subjects: Vec<Contender>,
    /// The verdicts of each subject, in numbers.
    pub counts: Vec<Counts>,
    /// The criteria.
    pub criteria: Vec<CriterionText>,
    /// The settings.
    pub settings: Vec<SettingText>,
    /// The cells, setting by setting; then those of the criteria about text, without setting and path.
    pub cells: Vec<CellReport>,
}

/// The number of cells with each verdict.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Cells that are [`Verdict::Met`].
    pub met: usize,
    /// Cells that are [`Verdict::NotMet`].
    pub not_met: usize,
    /// Cells that are [`Verdict::NotDecided`].
    pub not_decided: usize,
    /// Cells that are [`Verdict::NotTestable`].
    pub not_testable: usize,
}

impl Counts {
    /// The numbers of these verdicts.
    pub fn of(verdicts: impl IntoIterator<Item = Verdict>) -> Counts {
        let mut counts = Counts::default();
        for verdict in verdicts {
            *match verdict {
                Verdict::Met => &mut counts.met,
                Verdict::NotMet => &mut counts.not_met,
                Verdict::NotDecided => &mut counts.not_decided,
                Verdict::NotTestable => &mut counts.not_testable,
            } += 1;
        }
        counts
    }
}

/// A criterion in the report.
#[derive(Clone, Debug, Serialize)]
pub struct CriterionText {
    /// Its name.
    pub name: &'static str,
    /// Its section of RFC 9743.
    pub section: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// How it is answered.
    pub about: &'static str,
}

/// A setting in the report.
#[derive(Clone, Debug, Serialize)]
pub struct SettingText {
    /// Its name.
    pub name: String,
    /// Its section of RFC 9743.
    pub section: String,
    /// Its heading.
    pub title: String,
    /// The paths that stand for it; a setting that cannot be tested has one without a name.
    pub paths: Vec<PathText>,
}

/// A path in the report.
#[derive(Clone, Debug, Serialize)]
pub struct PathText {
    /// Its name; empty if the setting cannot be tested.
    pub name: String,
    /// A description.
    pub about: String,
}

/// A criterion on a path.
#[derive(Clone, Debug, Serialize)]
pub struct CellReport {
    /// The criterion's name.
    pub criterion: &'static str,
    /// The setting's name; empty for a criterion about text.
    pub setting: String,
    /// The path's name; empty also if the setting cannot be tested.
    pub path: String,
    /// The verdict on each subject: the worst of its figures.
    pub verdicts: Vec<Verdict>,
    /// Why it cannot be tested here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The traffics.
    pub traffics: Vec<TrafficReport>,
}

/// A traffic of a cell.
#[derive(Clone, Debug, Serialize)]
pub struct TrafficReport {
    /// Its name.
    pub name: &'static str,
    /// A description.
    pub about: &'static str,
    /// The scenario with the first subject. For another one its keys take the place of the first one's.
    pub scenario: String,
    /// The figures.
    pub figures: Vec<FigureReport>,
}

/// A figure of a cell.
#[derive(Clone, Debug, Serialize)]
pub struct FigureReport {
    /// Its name.
    pub name: &'static str,
    /// A description.
    pub title: &'static str,
    /// Its unit; empty for a ratio.
    pub unit: &'static str,
    /// Its threshold.
    pub threshold: Threshold,
    /// The threshold in words.
    pub threshold_words: String,
    /// The threshold in the figure's unit: the mean over the seeds.
    pub limit: f64,
    /// Reno in the subject's place.
    pub reno: Interval,
    /// CUBIC in the subject's place.
    pub cubic: Interval,
    /// The subjects.
    pub results: Vec<ResultReport>,
}

/// A figure of a subject.
#[derive(Clone, Debug, Serialize)]
pub struct ResultReport {
    /// The subject's name.
    pub subject: String,
    /// The figure over the seeds.
    #[serde(flatten)]
    pub interval: Interval,
    /// How far it is beyond the threshold, compared seed by seed: the verdict is on this interval.
    pub excess: Interval,
    /// The verdict.
    pub verdict: Verdict,
}
