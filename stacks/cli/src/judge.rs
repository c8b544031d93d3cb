//! `windlass-stacks judge`: the suites of the judge on a stack.

use crate::args::{Files, Judge};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::thread::available_parallelism;
use windlass_judge::report::{Examined, Keep, Report, choose, examine};
use windlass_judge::suites::{self, Suite};
use windlass_judge::{Outcome, Subject};
use windlass_stacks_controllers::{OfStack, STACKS};
use windlass_stacks_smoltcp::{Control, Judged};

/// Returns exit status 1 if a case failed.
pub(crate) fn main(args: &Judge) -> Result<ExitCode, String> {
    let subject = subject(&args.stack)?;
    let suites = args.suite.iter().map(|name| suites::parse(name));
    let suites: Vec<&'static Suite> = suites.collect::<Result<_, _>>()?;
    let cases = choose(&suites, Some(&subject.controller()), args.case.as_deref());
    if cases.is_empty() {
        return Err("no case has such a name".to_owned());
    }
    let files = &args.files;
    let keep = Keep {
        series: files.page.is_some(),
        qlog: files.qlog.is_some(),
        pcap: files.pcap.is_some(),
    };
    let jobs = args.jobs.or_else(|| available_parallelism().ok()).map_or(1, |jobs| jobs.get());
    let report = Report {
        subject: subject.name(),
        profile: None,
        command: format!("windlass judge --stack {}", args.stack),
        examined: examine(&cases, &*subject, keep, jobs, &|_| ()),
    };
    write_files(files, &report)?;
    match args.json {
        true => println!("{:#}", report.document()?),
        false => print!("{}", text(&report)),
    }
    Ok(ExitCode::from(u8::from(report.counts().failed > 0)))
}

/// The sender that `STACK[:CONTROLLER]` names.
pub(crate) fn subject(text: &str) -> Result<Box<dyn Subject + Sync>, String> {
    let (stack, controller) = match text.split_once(':') {
        Some((stack, controller)) => (stack, Some(controller)),
        None => (text, None),
    };
    if STACKS.contains(&stack) {
        return Ok(Box::new(OfStack::named(stack, controller)?));
    }
    let timestamps = stack == "smoltcp+timestamps";
    if stack == "smoltcp" || timestamps {
        let control: Control = controller.unwrap_or("cubic").parse()?;
        return Ok(Box::new(Judged { control, timestamps }));
    }
    let names = STACKS.join(", ");
    Err(format!("no stack is named {stack}: expected smoltcp, smoltcp+timestamps, {names}"))
}

/// The verdicts, the reasons of failures, and the sum.
fn text(report: &Report) -> String {
    let mut text = String::new();
    for (suite, cases) in report.suites() {
        let _ = writeln!(text, "{}: {} ({})", suite.name, suite.title, suite.document());
        for one in cases {
            let _ = writeln!(text, "  {:<14} {}", one.outcome.name(), one.case.name);
        }
    }
    for one in report.failures() {
        let (case, seen) = (one.case, one.outcome.reason().unwrap_or_default());
        let _ = write!(
            text,
            "\nFAILED: {} by {}\n  demanded: {}\n  seen:     {seen}\n  replay:   {}\n",
            case.name,
            case.clause,
            case.demanded,
            report.replay(one)
        );
    }
    let counts = report.counts();
    let _ = writeln!(
        text,
        "\n{}: {} cases: {} passed, {} failed, {} not observable",
        report.subject,
        report.examined.len(),
        counts.passed,
        counts.failed,
        counts.not_observable
    );
    text
}

fn write_files(files: &Files, report: &Report) -> Result<(), String> {
    if let Some(path) = &files.junit {
        write(path, report.junit()?.as_bytes())?;
    }
    if let Some(path) = &files.page {
        write(path, report.page()?.as_bytes())?;
    }
    traces(files.qlog.as_deref(), "sqlog", report, |one| one.qlog.as_deref())?;
    traces(files.pcap.as_deref(), "pcapng", report, |one| one.pcap.as_deref())
}

/// A file for each failed case.
fn traces(
    folder: Option<&Path>,
    extension: &str,
    report: &Report,
    trace: fn(&Examined) -> Option<&[u8]>,
) -> Result<(), String> {
    let Some(folder) = folder else { return Ok(()) };
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let failed = |one: &&Examined| matches!(one.outcome, Outcome::Failed(_));
    for one in report.examined.iter().filter(failed) {
        if let Some(bytes) = trace(one) {
            let name = format!("{}-{}.{extension}", one.suite.name, one.case.name);
            write(&folder.join(name), bytes)?;
        }
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_named_with_its_controller_or_without() {
        let name = |text: &str| subject(text).map(|subject| subject.name());
        assert_eq!(name("noq").as_deref(), Ok("noq cubic"));
        assert_eq!(name("quinn:newreno").as_deref(), Ok("quinn newreno"));
        assert_eq!(name("smoltcp:reno").as_deref(), Ok("smoltcp reno"));
        assert!(name("smoltcp:bbr").is_err_and(|why| why.contains("reno")));
        assert!(name("s2n:vegas").is_err_and(|why| why.contains("cubic, bbr")));
        assert!(name("lwip").is_err_and(|why| why.contains("smoltcp")));
    }
}
