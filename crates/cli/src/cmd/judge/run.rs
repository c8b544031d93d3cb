//! Judges, and prints and writes what was found.

use super::args::{Judge, NamedKernel};
use super::built::{Crate, repeated};
use super::subject::{Subject, own_name};
use super::{bcp, kernel, print, written};
use crate::envelope::Document;
use crate::failure::Failure;
use crate::{interrupt, parallel, progress_bar, stacks_program, stdout};
use std::process::ExitCode;
use windlass_judge::Subject as Judged;
use windlass_judge::report::{self, Chosen, Keep, Report};
use windlass_judge::suites::Suite;
use windlass_tcp::Profile;

/// Runs `windlass judge`; returns the exit status.
pub(crate) fn main(args: &Judge) -> Result<ExitCode, Failure> {
    if args.bcp.bcp {
        return evaluate(args);
    }
    if let Some(stack) = &args.stack {
        return judge_stack(args, stack);
    }
    let is_table = args.list || args.coverage;
    if is_table && args.subject.is_none() && args.kernel.is_none() {
        return table(args, None).map(|()| ExitCode::SUCCESS);
    }
    match Subject::find(args)? {
        Subject::Crate(built) => built.judge(args),
        Subject::Kernel(kernel) if is_table => {
            table(args, Some(&kernel.controller)).map(|()| ExitCode::SUCCESS)
        }
        Subject::Kernel(NamedKernel { version: Some(version), controller }) => {
            kernel::in_machine(args, &version, &controller)
        }
        Subject::Kernel(named) => judge(args, &kernel::running(&named.controller)?, None),
        Subject::Here(sender, _) if is_table => {
            table(args, Some(&sender.controller())).map(|()| ExitCode::SUCCESS)
        }
        Subject::Here(sender, profile) => judge(args, &*sender, profile),
    }
}

/// By the program that has other people's stacks.
fn judge_stack(args: &Judge, stack: &str) -> Result<ExitCode, Failure> {
    let mut words = vec!["judge".into(), stack.into()];
    words.extend(repeated(args));
    words.extend(args.jobs.map(|jobs| format!("--jobs={jobs}").into()));
    stacks_program::run(&format!("--stack {stack}"), &words)
}

/// By the criteria of RFC 9743.
fn evaluate(args: &Judge) -> Result<ExitCode, Failure> {
    let subjects = match args.subject.as_deref() {
        Some(text) => match Crate::find(text, args)? {
            Some(built) => return built.judge(args),
            None => text,
        },
        None => own_name()?,
    };
    let subjects: Vec<&str> = subjects.split(',').collect();
    bcp::run::main(&args.bcp, &subjects, args.jobs, args.json)
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
fn table(args: &Judge, controller: Option<&str>) -> Result<(), Failure> {
    let cases = chosen(args, controller)?;
    let mut suites: Vec<&'static Suite> = cases.iter().map(|one| one.suite).collect();
    suites.dedup_by_key(|suite| suite.name);
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

fn judge(
    args: &Judge,
    sender: &(dyn Judged + Sync),
    profile: Option<Profile>,
) -> Result<ExitCode, Failure> {
    let cases = chosen(args, Some(&sender.controller()))?;
    interrupt::watch();
    let output = written::Output::create(args)?;
    let bar = progress_bar::bar(cases.len() as u64, "cases");
    let keep =
        Keep { series: args.page.is_some(), qlog: args.qlog.is_some(), pcap: args.pcap.is_some() };
    let progress = |done: usize| bar.set_position(done as u64);
    let examined = report::examine(&cases, sender, keep, parallel::jobs(args.jobs), &progress);
    bar.finish_and_clear();
    let report = Report {
        subject: sender.name(),
        profile: profile.map(|profile| profile.name().to_owned()),
        command: command(args, sender, profile),
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
fn command(args: &Judge, sender: &dyn Judged, profile: Option<Profile>) -> String {
    if let Some(kernel) = &args.kernel {
        let kernel = args.replay_as.clone().unwrap_or_else(|| kernel.to_string());
        return format!("windlass judge --kernel {}", quoted(&kernel));
    }
    let subject = args.replay_as.clone().or_else(|| args.subject.clone());
    let subject = quoted(&subject.unwrap_or_else(|| sender.name()));
    match profile {
        None | Some(Profile::Linux) => format!("windlass judge {subject}"),
        Some(profile) => format!("windlass judge {subject} --profile {}", profile.name()),
    }
}

/// A word of a shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@".contains(c);
    match text.chars().all(plain) && !text.is_empty() {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
