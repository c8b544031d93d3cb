//! `windlass-stacks drill`: packetdrill's scripts on a stack.

use crate::args::Drill;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use windlass_base::Span;
use windlass_drill::report::{Played, Report, capture, divergence, line, qlog};
use windlass_drill::{Choice, Plan, Run, Subject, run};
use windlass_stacks_smoltcp::{Control, Drilled};

/// Returns exit status 1 if a script failed, 2 if one is none.
pub(crate) fn main(args: &Drill) -> Result<ExitCode, String> {
    let subject = subject(&args.subject)?;
    let mut files = Vec::new();
    for path in &args.scripts {
        collect(path, &mut files)?;
    }
    let choice = choice(args)?;
    let played = files.iter().map(|path| play(path, &subject, &choice));
    let report =
        Report { subject: subject.name(), scripts: played.collect::<Result<_, String>>()? };
    if let Some(path) = &args.junit {
        let written = fs::write(path, report.junit()?);
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    traces(args, &report)?;
    match args.json {
        true => println!("{:#}", report.document()),
        false => print(&report),
    }
    let counts = report.counts();
    Ok(match (counts.failed, counts.invalid) {
        (0, 0) => ExitCode::SUCCESS,
        (_, 0) => ExitCode::from(1),
        _ => ExitCode::from(2),
    })
}

/// The host that `STACK[:CONTROLLER]` names.
fn subject(text: &str) -> Result<Drilled, String> {
    let (stack, controller) = text.split_once(':').unwrap_or((text, "cubic"));
    match stack {
        "smoltcp" => Ok(Drilled { control: controller.parse::<Control>()? }),
        _ => Err(format!("{stack} is no subject of the drill: expected smoltcp")),
    }
}

/// A script, or those of a folder and below it, in order.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let failure = |error: std::io::Error| format!("{}: {error}", path.display());
    if !fs::metadata(path).map_err(failure)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let entries = fs::read_dir(path).map_err(failure)?;
    let entries = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut entries: Vec<PathBuf> = entries.collect::<Result<_, _>>().map_err(failure)?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() || entry.extension().is_some_and(|extension| extension == "pkt") {
            collect(&entry, files)?;
        }
    }
    Ok(())
}

/// The settings for scripts that name none.
fn choice(args: &Drill) -> Result<Choice, String> {
    let pair = |text: &String| {
        let pair = text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        pair.ok_or_else(|| format!("-D {text}: expected NAME=VALUE"))
    };
    Ok(Choice {
        ip_version: args.ip_version,
        tolerance: args.tolerance_usecs.map(Span::from_micros),
        definitions: args.definitions.iter().map(pair).collect::<Result<_, _>>()?,
    })
}

/// The packets of a script as files, if they are asked for.
fn traces(args: &Drill, report: &Report) -> Result<(), String> {
    let files = [(&args.capture, capture as fn(&str, &Run) -> Vec<u8>), (&args.qlog, qlog)];
    for (path, write) in files {
        let Some(path) = path else { continue };
        let [Played { name, run: Ok(run) }] = &report.scripts[..] else {
            return Err("--capture and --qlog are for one script".to_owned());
        };
        let written = fs::write(path, write(name, run));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

fn play(path: &Path, subject: &dyn Subject, choice: &Choice) -> Result<Played, String> {
    let name = path.display().to_string();
    let source = fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
    let run = Plan::new(&source, choice).map(|plan| run(&plan, subject));
    Ok(Played { name, run })
}

fn print(report: &Report) {
    for played in &report.scripts {
        println!("{}", line(played));
        if let Some(text) = divergence(played) {
            println!("{text}");
        }
    }
    let counts = report.counts();
    println!(
        "{}: {} scripts: {} passed, {} failed, {} skipped, {} invalid",
        report.subject,
        report.scripts.len(),
        counts.passed,
        counts.failed,
        counts.skipped,
        counts.invalid
    );
}
