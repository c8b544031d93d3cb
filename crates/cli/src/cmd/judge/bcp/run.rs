//! Evaluates, and prints and writes the report.

use super::args::Bcp;
use super::print;
use crate::envelope::Document;
use crate::failure::Failure;
use crate::output_file::OutputFile;
use crate::registry::registry;
use crate::{interrupt, parallel, progress_bar, stdout};
use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use windlass_evaluation::{Error, Evaluation, Figures, Options, Report};

/// Runs `windlass judge --bcp`; returns the exit status.
pub(in super::super) fn main(
    args: &Bcp,
    subjects: &[&str],
    jobs: Option<NonZeroUsize>,
    json: bool,
) -> Result<ExitCode, Failure> {
    let evaluation = Evaluation::new(subjects, options(args), registry()).map_err(failure)?;
    let file = args.report.as_deref().map(create).transpose()?;
    interrupt::watch();
    let report = evaluation.report(&figures(&evaluation, parallel::jobs(jobs))?);
    if let (Some(file), Some(path)) = (file, &args.report) {
        write(file, path, &report)?;
    }
    match json {
        true => stdout::line(&Document::new("judge.bcp", &report).pretty())?,
        false => stdout::line(&print::text(&report))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn options(args: &Bcp) -> Options {
    let options = if args.quick { Options::quick() } else { Options::default() };
    Options {
        seeds: args.seeds.map_or(options.seeds, |seeds| seeds.get()),
        criteria: args.criteria.clone(),
        settings: args.settings.clone(),
        ..options
    }
}

fn figures(evaluation: &Evaluation, jobs: usize) -> Result<Vec<Figures>, Failure> {
    let bar = progress_bar::bar(evaluation.runs() as u64, "runs");
    let mut all = Ok(Vec::new());
    let work = |number| evaluation.run(number);
    parallel::map_in_order(0..evaluation.runs(), jobs, work, |figures| {
        bar.inc(1);
        match (&mut all, figures) {
            (Ok(all), Ok(figures)) => all.push(figures),
            (_, Err(error)) => {
                all = Err(Failure::Work(error.to_string()));
                return ControlFlow::Break(());
            }
            (Err(_), Ok(_)) => {}
        }
        ControlFlow::Continue(())
    });
    bar.finish_and_clear();
    all
}

fn failure(error: Error) -> Failure {
    match error {
        Error::Data(..) => Failure::Work(error.to_string()),
        _ => Failure::Input(error.to_string()),
    }
}

fn create(path: &Path) -> Result<OutputFile, Failure> {
    OutputFile::replace(path).map_err(|error| {
        Failure::Input(format!("--report {}: cannot be written: {error}", path.display()))
    })
}

fn write(mut file: OutputFile, path: &Path, report: &Report) -> Result<(), Failure> {
    let page = report.html().map_err(|error| Failure::Work(format!("the page: {error}")))?;
    let written = file.write_all(page.as_bytes()).and_then(|()| file.finish());
    written.map_err(|error| Failure::io(path.display(), &error))
}
