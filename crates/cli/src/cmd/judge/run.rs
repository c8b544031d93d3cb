//! Judges, and prints and writes what was found.

use super::args::Judge;
use super::subject::Subject;
use super::{print, written};
use crate::envelope::Document;
use crate::failure::Failure;
use crate::{interrupt, parallel, progress_bar, stdout};
use std::process::ExitCode;
use windlass_judge::report::{self, Chosen, Keep, Report};
use windlass_judge::suites::{SUITES, Suite};
use windlass_judge::{Engine, Subject as _};
use windlass_tcp::Profile;

/// Runs `windlass judge`; returns the exit status.
pub(crate) fn main(args: &Judge) -> Result<ExitCode, Failure> {
    let is_table = args.list || args.coverage;
    if is_table && args.subject.is_none() {
        return table(args, None).map(|()| ExitCode::SUCCESS);
    }
    match Subject::find(args.subject.as_deref(), args.profile)? {
        Subject::Crate(built) => built.judge(args),
        Subject::Here(engine) if is_table => table(args, Some(&engine)).map(|()| ExitCode::SUCCESS),
        Subject::Here(engine) => judge(args, &engine),
    }
}

fn chosen(args: &Judge, controller: Option<&str>) -> Result<Vec<Chosen>, Failure> {
    let cases = report::choose(&args.suites, controller, args.case.as_deref());
    match &args.case {
        _ if !cases.is_empty() => Ok(cases),
        Some(glob) => Err(Failure::Input(format!("--case {glob}: no case has such a name"))),
        None => Err(Failure::Input("no case concerns it; choose a suite with --suite".to_owned())),
    }
}

/// The cases or the clauses, without a judgement.
fn table(args: &Judge, engine: Option<&Engine>) -> Result<(), Failure> {
    let controller = engine.map(|engine| engine.controller());
    let cases = chosen(args, controller.as_deref())?;
    let suites: Vec<&'static Suite> = SUITES
        .into_iter()
        .filter(|suite| cases.iter().any(|one| one.suite.name == suite.name))
        .collect();
    let text = match (args.coverage, args.json) {
        (true, true) => {
            let body = report::clauses_document(&suites).map_err(Failure::Work)?;
            Document::new("judge.coverage", body).pretty()
        }
        (true, false) => print::coverage(&suites).map_err(Failure::Work)?,
        (false, true) => Document::new("judge.list", report::list_document(&cases)).pretty(),
        (false, false) => print::list(&cases),
    };
    stdout::line(&text)
}

fn judge(args: &Judge, engine: &Engine) -> Result<ExitCode, Failure> {
    let cases = chosen(args, Some(&engine.controller()))?;
    interrupt::watch();
    let output = written::Output::create(args)?;
    let bar = progress_bar::bar(cases.len() as u64, "cases");
    let keep = Keep { series: args.page.is_some(), qlog: args.qlog.is_some() };
    let progress = |done: usize| bar.set_position(done as u64);
    let examined = report::examine(&cases, engine, keep, parallel::jobs(args.jobs), &progress);
    bar.finish_and_clear();
    let report = Report {
        subject: engine.name(),
        profile: Some(args.profile.name().to_owned()),
        command: command(args, engine),
        examined,
    };
    output.write(&report)?;
    if args.json {
        let body = report.document().map_err(Failure::Work)?;
        stdout::line(&Document::new("judge", body).pretty())?;
    } else {
        stdout::line(&print::text(&report))?;
    }
    Ok(ExitCode::from(u8::from(report.counts().failed > 0)))
}

/// The command that judges the same subject.
fn command(args: &Judge, engine: &Engine) -> String {
    let subject = args.replay_as.clone().or_else(|| args.subject.clone());
    let subject = subject.unwrap_or_else(|| engine.name());
    let profile = match args.profile {
        Profile::Linux => String::new(),
        profile => format!(" --profile {}", profile.name()),
    };
    format!("windlass judge {}{profile}", quoted(&subject))
}

/// A word of a shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@".contains(c);
    match text.chars().all(plain) && !text.is_empty() {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
