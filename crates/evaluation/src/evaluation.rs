//! An evaluation: its runs, in any order, and the report of their figures.

use crate::contender::{BASELINES, Contender};
use crate::criteria::Criterion;
use crate::error::Error;
use crate::plan::{self, Cell, Options, Planned};
use crate::settings::{self, Setting};
use crate::traffic::{Seen, late_s};
use windlass_base::{Span, Time};
use windlass_scenario::Registry;
use windlass_sim::Recorder;
use windlass_tcp::TraceEvent;

/// The cells of one or more subjects, ready to run.
///
/// Its runs are independent of each other. A caller runs each number below [`Evaluation::runs`] once, in any order
/// and on any threads, and hands their figures in the order of the numbers to [`Evaluation::report`].
///
/// [`Evaluation::report`]: crate::Evaluation::report
#[derive(Debug)]
pub struct Evaluation {
    pub(crate) options: Options,
    pub(crate) criteria: Vec<&'static Criterion>,
    pub(crate) settings: Vec<Setting>,
    pub(crate) cells: Vec<Cell>,
    /// Reno, CUBIC, and the subjects that are neither.
    pub(crate) contenders: Vec<Contender>,
    /// Positions of the subjects among the contenders.
    pub(crate) subjects: Vec<usize>,
    pub(crate) planned: Vec<Planned>,
}

/// The figures of a run, in the order of its traffic's.
pub type Figures = Vec<f64>;

impl Evaluation {
    /// Plans the runs of `subjects`, which are controllers of Windlass or of `registry`.
    ///
    /// # Errors
    ///
    /// No subject or no seeds, or a name that there is not.
    pub fn new(
        subjects: &[&str],
        options: Options,
        registry: &Registry,
    ) -> Result<Evaluation, Error> {
        if subjects.is_empty() || options.seeds == 0 {
            return Err(Error::Nothing("a controller and a seed"));
        }
        let mut names = BASELINES.to_vec();
        names.extend(subjects.iter().filter(|name| !BASELINES.contains(name)));
        let contenders = names.iter().map(|name| Contender::new(name, registry));
        let contenders = contenders.collect::<Result<Vec<Contender>, Error>>()?;
        let position = |subject| names.iter().position(|name| name == subject);
        let criteria = plan::criteria(&options)?;
        let settings = plan::settings(&options, settings::read()?)?;
        let cells = plan::cells(&criteria, &settings);
        let planned = plan::runs(&cells, &contenders, &options, registry)?;
        Ok(Evaluation {
            subjects: subjects.iter().filter_map(position).collect(),
            options,
            criteria,
            settings,
            cells,
            contenders,
            planned,
        })
    }

    /// The number of runs.
    pub fn runs(&self) -> usize {
        self.planned.len() * self.options.seeds as usize
    }

    /// Does a run. The same number gives the same figures.
    ///
    /// # Errors
    ///
    /// No network can be built from a scenario, which is a mistake of this crate.
    ///
    /// # Panics
    ///
    /// `number` is not below [`Evaluation::runs`].
    pub fn run(&self, number: usize) -> Result<Figures, Error> {
        let seeds = self.options.seeds as usize;
        let planned = &self.planned[number / seeds];
        let seed = (number % seeds) as u64 + 1;
        let cell = &self.cells[planned.cell];
        let late = late_s(&cell.path, self.options.duration_s(&cell.path));
        let mut repeated = Repeated { from: Time::ZERO + seconds(late), bytes: 0 };
        let summary = windlass_sim::run_recorded(&planned.scenario, seed, &mut repeated)
            .map_err(|error| plan::data_error(cell, planned.traffic, &error.to_string()))?;
        let mss = f64::from(planned.scenario.flows[0].sender.mss);
        let repeated_late = repeated.bytes as f64 / mss;
        let seen = Seen { path: &cell.path, summary, repeated_late };
        Ok(planned.traffic.figures.iter().map(|figure| (figure.of)(&seen)).collect())
    }

    /// Does all runs here, one after the other.
    ///
    /// # Errors
    ///
    /// As [`Evaluation::run`].
    pub fn run_all(&self) -> Result<Vec<Figures>, Error> {
        (0..self.runs()).map(|number| self.run(number)).collect()
    }
}

fn seconds(seconds: f64) -> Span {
    Span::from_nanos((seconds * 1e9) as u64)
}

/// Counts the payload that senders send again from a time on.
struct Repeated {
    from: Time,
    bytes: u64,
}

impl Recorder for Repeated {
    fn flow_event(&mut self, now: Time, _: usize, event: TraceEvent) {
        if let TraceEvent::Retransmit { len, .. } = event
            && now >= self.from
        {
            self.bytes += u64::from(len);
        }
    }
}
