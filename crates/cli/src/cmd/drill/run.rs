//! Runs scripts, and prints and writes what became of them.

use super::args::{Drill, ENGINE};
use super::kernel::{self, Running};
use super::written::Output;
use super::{print, scripts, stacks};
use crate::envelope::Document;
use crate::failure::Failure;
use crate::{interrupt, parallel, stdout};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use windlass_base::text_file;
use windlass_drill::engine::Engine;
use windlass_drill::report::{Played, Report};
use windlass_drill::script::{Error, Position};
use windlass_drill::{Choice, Plan, Subject};

/// Larger than any script.
const SCRIPT_BYTES_MAX: u64 = 1 << 20;

/// The subjects that this command has itself.
enum Own {
    Engine,
    Kernel(Running),
}

impl Own {
    fn name(&self) -> String {
        match self {
            Own::Engine => Engine.name(),
            Own::Kernel(running) => running.name(),
        }
    }

    fn subject(&self, script: &Path) -> Box<dyn Subject> {
        match self {
            Own::Engine => Box::new(Engine),
            Own::Kernel(running) => running.subject(script),
        }
    }

    /// How many scripts run at a time. A kernel has one clock, and scripts beside each other would be late.
    fn jobs(&self, asked: Option<NonZeroUsize>) -> usize {
        match (self, asked) {
            (Own::Kernel(_), None) => 1,
            _ => parallel::jobs(asked),
        }
    }
}

/// Runs `windlass drill`; returns the exit status.
pub(crate) fn main(args: &Drill) -> Result<ExitCode, Failure> {
    let own = match &args.kernel {
        Some(Some(version)) => return kernel::in_machine(args, version),
        Some(None) => Own::Kernel(Running::find()?),
        None if args.subject == ENGINE => Own::Engine,
        None => return stacks::run(args, &args.subject),
    };
    let scripts = scripts::find(&args.scripts)?;
    interrupt::watch();
    let output = Output::create(args, scripts.len())?;
    let report = play(args, &own, scripts)?;
    output.write(&report)?;
    if args.json {
        stdout::line(&Document::new("drill", report.document()).pretty())?;
    } else {
        stdout::line(&print::sum(&report))?;
    }
    let counts = report.counts();
    Ok(ExitCode::from(match (counts.invalid, counts.failed) {
        (0, 0) => 0,
        (0, _) => 1,
        _ => 2,
    }))
}

/// Runs the scripts, and prints each as soon as those before it are done.
fn play(args: &Drill, own: &Own, scripts: Vec<PathBuf>) -> Result<Report, Failure> {
    let choice = args.choice();
    let mut report = Report { subject: own.name(), scripts: Vec::new() };
    let mut printed = Ok(());
    let work = |path: PathBuf| one(&path, own, &choice);
    parallel::map_in_order(scripts.into_iter(), own.jobs(args.jobs), work, |played| {
        if !args.json {
            printed = stdout::line(&print::script(&played));
        }
        report.scripts.push(played);
        if printed.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    printed.map(|()| report)
}

fn one(path: &Path, own: &Own, choice: &Choice) -> Played {
    let plan = text_file::read_at_most(path, SCRIPT_BYTES_MAX)
        .map_err(|error| Error {
            position: Position { line: 1, column: 1 },
            message: error.to_string(),
        })
        .and_then(|text| Plan::new(&text, choice));
    let run = plan.map(|plan| windlass_drill::run(&plan, &*own.subject(path)));
    Played { name: path.display().to_string(), run }
}
