//! The cells of an evaluation, and the scenario of each run.

use crate::contender::Contender;
use crate::criteria::{CRITERIA, Criterion};
use crate::error::Error;
use crate::settings::{Path, Setting};
use crate::thresholds::{Threshold, Thresholds};
use crate::traffic::{Figure, Scene, Traffic};
use windlass_scenario::Registry;
use windlass_sim::Scenario;

/// The part of a run before its steady window.
const START: f64 = 0.25;
/// Length of a quick run beside a whole one.
const QUICK: f64 = 0.5;

/// The choice of cells, and how thoroughly they are run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Runs of each traffic, with the seeds from 1 on.
    pub seeds: u64,
    /// Runs of half the length.
    pub quick: bool,
    /// The names of the criteria; all if empty.
    pub criteria: Vec<String>,
    /// The names of settings and of paths; all if empty.
    pub settings: Vec<String>,
}

impl Default for Options {
    /// All cells with ten seeds.
    fn default() -> Options {
        Options { seeds: 10, quick: false, criteria: Vec::new(), settings: Vec::new() }
    }
}

impl Options {
    /// Three seeds and half the time.
    #[must_use]
    pub fn quick() -> Options {
        Options { seeds: 3, quick: true, ..Options::default() }
    }

    /// The simulated length of a run on a path in seconds.
    pub(crate) fn duration_s(&self, path: &Path) -> f64 {
        path.duration_s * if self.quick { QUICK } else { 1.0 }
    }
}

/// A criterion on a path.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) criterion: &'static Criterion,
    /// Its setting, by position.
    pub(crate) setting: usize,
    pub(crate) path: Path,
}

/// The runs of a traffic on a path with one controller, which differ in their seeds.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) cell: usize,
    pub(crate) traffic: &'static Traffic,
    pub(crate) text: String,
    pub(crate) scenario: Scenario,
    /// Of each figure.
    pub(crate) thresholds: Vec<Threshold>,
}

/// The criteria that the options name.
pub(crate) fn criteria(options: &Options) -> Result<Vec<&'static Criterion>, Error> {
    known(&options.criteria, &CRITERIA.each_ref().map(|criterion| criterion.name))?;
    let chosen = |criterion: &&Criterion| {
        options.criteria.is_empty() || options.criteria.iter().any(|name| name == criterion.name)
    };
    Ok(CRITERIA.iter().filter(chosen).collect())
}

/// The settings that the options name, with those of their paths.
pub(crate) fn settings(options: &Options, all: Vec<Setting>) -> Result<Vec<Setting>, Error> {
    let paths = |setting: &Setting| -> Vec<String> {
        setting.paths.iter().map(|path| path.name.clone()).collect()
    };
    let names =
        all.iter().flat_map(|setting| [vec![setting.name.clone()], paths(setting)].concat());
    let names: Vec<String> = names.collect();
    known(&options.settings, &names.iter().map(String::as_str).collect::<Vec<&str>>())?;
    if options.settings.is_empty() {
        return Ok(all);
    }
    let named = |name: &String| options.settings.contains(name);
    let chosen = |mut setting: Setting| {
        if !named(&setting.name) {
            setting.paths.retain(|path| named(&path.name));
            setting.untestable = None;
        }
        (setting.untestable.is_some() || !setting.paths.is_empty()).then_some(setting)
    };
    Ok(all.into_iter().filter_map(chosen).collect())
}

fn known(asked: &[String], names: &[&str]) -> Result<(), Error> {
    let unknown = asked.iter().find(|name| !names.contains(&name.as_str()));
    unknown.map_or(Ok(()), |name| {
        let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        names.dedup();
        Err(Error::Unknown(name.clone(), names))
    })
}

/// The cells that can be tested.
pub(crate) fn cells(criteria: &[&'static Criterion], settings: &[Setting]) -> Vec<Cell> {
    let on_path = |setting: usize, path: &Path| -> Vec<Cell> {
        let testable = |criterion: &&&'static Criterion| {
            !criterion.traffics.is_empty() && !path.untestable.contains_key(criterion.name)
        };
        let cell = |criterion: &&'static Criterion| Cell { criterion, setting, path: path.clone() };
        criteria.iter().filter(testable).map(cell).collect()
    };
    let paths = settings
        .iter()
        .enumerate()
        .flat_map(|(number, setting)| setting.paths.iter().map(move |path| (number, path)));
    paths.flat_map(|(setting, path)| on_path(setting, path)).collect()
}

/// The runs of all cells with all controllers: those of a traffic follow each other, in the order of the controllers.
pub(crate) fn runs(
    cells: &[Cell],
    contenders: &[Contender],
    options: &Options,
    registry: &Registry,
) -> Result<Vec<Planned>, Error> {
    let thresholds = Thresholds::read()?;
    let mut planned = Vec::new();
    for (number, cell) in cells.iter().enumerate() {
        for traffic in cell.criterion.traffics {
            let of_figure = |figure: &Figure| {
                thresholds.of(cell.criterion.name, figure.name, &cell.path.name).cloned()
            };
            let thresholds: Vec<Threshold> =
                traffic.figures.iter().map(of_figure).collect::<Result<_, Error>>()?;
            for Contender { keys, .. } in contenders {
                let text = scenario(cell, traffic, keys, options);
                let document = registry.read_toml(traffic.name, &text, &[]);
                let scenario = document
                    .map_err(|problems| data_error(cell, traffic, &problems.to_string()))?
                    .scenario;
                let thresholds = thresholds.clone();
                planned.push(Planned { cell: number, traffic, text, scenario, thresholds });
            }
        }
    }
    Ok(planned)
}

pub(crate) fn data_error(cell: &Cell, traffic: &Traffic, problem: &str) -> Error {
    let place = format!("{} on {}, {}", cell.criterion.name, cell.path.name, traffic.name);
    Error::Data(place, problem.to_owned())
}

/// The scenario of a traffic on a path as TOML, for flows of the subject with these keys.
fn scenario(cell: &Cell, traffic: &Traffic, keys: &str, options: &Options) -> String {
    let Cell { criterion, path, .. } = cell;
    let duration_s = options.duration_s(path);
    let subject = format!("{keys}\n{}", path.subject);
    let scene = Scene { path, subject: subject.trim_end(), duration_s };
    let tables = (traffic.tables)(&scene);
    // Seeds differ in the starts of flows too, where nothing on the path is random.
    format!(
        "schema = 2\nname = \"{}-{}-{}\"\ndescription = \"{} {}: {}\"\n\
         duration = \"{duration_s}s\"\nsteady_from = \"{}s\"\njitter = \"{}ms\"\n\n{tables}\n{}",
        criterion.name,
        path.name,
        traffic.name,
        criterion.section,
        criterion.title,
        traffic.about,
        duration_s * START,
        path.rtt_ms,
        path.scenario,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings;

    #[test]
    fn every_scenario_is_valid_for_whole_and_quick_runs() {
        let registry = Registry::default();
        let contenders = ["reno", "prague", "new-ecn"].map(|name| Contender::new(name, &registry));
        let contenders: Vec<Contender> =
            contenders.into_iter().map(|contender| contender.expect("known")).collect();
        for options in [Options::default(), Options::quick()] {
            let criteria = criteria(&options).expect("valid");
            let settings =
                super::settings(&options, settings::read().expect("valid")).expect("valid");
            let cells = cells(&criteria, &settings);
            let planned = runs(&cells, &contenders, &options, &registry).expect("valid");
            let traffics: usize = cells.iter().map(|cell| cell.criterion.traffics.len()).sum();
            assert_eq!(planned.len(), 3 * traffics);
            for Planned { scenario, text, .. } in &planned {
                windlass_sim::Simulation::new(scenario, 1).expect(text);
            }
        }
    }

    #[test]
    fn a_name_chooses_a_setting_or_one_of_its_paths() {
        let chosen = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let options = Options { settings: names, ..Options::default() };
            let settings = super::settings(&options, settings::read().expect("valid"))?;
            let paths = settings.into_iter().flat_map(|setting| setting.paths);
            Ok::<Vec<String>, Error>(paths.map(|path| path.name).collect())
        };
        assert_eq!(chosen(&["tunnel"]).expect("valid"), ["tunnel-one-flow", "tunnel-marks-lost"]);
        assert_eq!(chosen(&["pie", "wired"]).expect("valid"), ["wired", "pie"]);
        let error = chosen(&["wird"]).expect_err("refused");
        assert!(error.to_string().contains("wired"), "{error}");
    }
}
