//! One run of a scenario, in steps.

use crate::flows::FlowRecords;
use crate::outcome::{self, Outcome, Resolution};
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;
use windlass_base::{Span, Time};
use windlass_scenario::Problem;
use windlass_sim::series::columns::ColumnSeries;
use windlass_sim::series::csv::CsvSeries;
use windlass_sim::{Scenario, Simulation, summary};

/// The name by which messages refer to the text.
const ORIGIN: &str = "scenario.toml";

/// A run of a scenario.
#[derive(Debug)]
pub struct Session {
    simulation: Simulation<Arc<Scenario>>,
    recorder: (ColumnSeries, (FlowRecords, Option<CsvSeries<Shared>>)),
    files: Vec<(String, Shared)>,
    duration: Span,
    /// Where the last step ended.
    reached: Time,
}

/// Names and contents of the files that `windlass sim run --out` writes: `summary.json`, then a series for
/// each flow and reported queue.
pub type Files = Vec<(String, String)>;

impl Session {
    /// A run of the scenario that `text` describes in TOML, at its beginning. With `with_files` the run also
    /// keeps what [`finish_with_files`](Session::finish_with_files) returns.
    ///
    /// # Errors
    ///
    /// The problems of the text, at least one.
    pub fn new(text: &str, with_files: bool) -> Result<Session, Vec<Problem>> {
        let document = windlass_scenario::from_toml(ORIGIN, text, &[])
            .map_err(|problems| problems.list().to_vec())?;
        let scenario = Arc::new(document.scenario);
        let problem = |message: String| {
            vec![Problem {
                position: ORIGIN.to_owned(),
                key: String::new(),
                message: message.into(),
            }]
        };
        let simulation = Simulation::new(scenario.clone(), document.seed)
            .map_err(|error| problem(error.to_string()))?;
        let mut files = Vec::new();
        let mut open = |name: &str| {
            let contents = Shared::default();
            files.push((format!("{name}.csv"), contents.clone()));
            Ok(contents)
        };
        let written = with_files.then(|| CsvSeries::new(&scenario, &mut open)).transpose();
        let written = written.map_err(|error| problem(error.to_string()))?;
        let flows = FlowRecords::new(&scenario);
        Ok(Session {
            simulation,
            recorder: (ColumnSeries::in_memory(&scenario, true), (flows, written)),
            files,
            duration: scenario.duration,
            reached: Time::ZERO,
        })
    }

    /// Runs on for `step` of the scenario's duration, or to the end. Returns the part of the duration that is
    /// over, from 0 to 1, and 1 only at the end.
    pub fn advance(&mut self, step: f64) -> f64 {
        let duration_s = self.duration.as_secs_f64();
        self.reached += Span::from_secs_f64(duration_s * step);
        self.simulation.advance(self.reached, &mut self.recorder, || false);
        match self.simulation.is_over() {
            true => 1.0,
            false => ((self.reached - Time::ZERO).as_secs_f64() / duration_s).min(0.999),
        }
    }

    /// The results, plotted with up to `curve_spans` pixels of width, and rates as means over `rate_spans`
    /// parts of the time.
    pub fn finish(mut self, curve_spans: usize, rate_spans: usize) -> Outcome {
        let summary = self.simulation.finish(&mut self.recorder);
        let (series, (flows, _)) = self.recorder;
        let flows = flows.finish(Time::ZERO + Span::from_secs_f64(summary.duration_s));
        let resolution = Resolution { curve_spans, rate_spans };
        outcome::outcome(summary, &series.into_tables(), &flows, resolution)
    }

    /// The files of the run; without `with_files` the summary alone.
    ///
    /// # Errors
    ///
    /// A series could not be written.
    pub fn finish_with_files(mut self) -> io::Result<Files> {
        let summary = self.simulation.finish(&mut self.recorder);
        let (_, (_, written)) = self.recorder;
        written.map_or(Ok(()), CsvSeries::finish)?;
        let summary = summary::pretty(&serde_json::to_value(summary)?) + "\n";
        let mut files = vec![("summary.json".to_owned(), summary)];
        for (name, contents) in self.files {
            let text = String::from_utf8(contents.0.take()).map_err(io::Error::other)?;
            files.push((name, text));
        }
        Ok(files)
    }
}

/// A file in memory.
#[derive(Clone, Debug, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
