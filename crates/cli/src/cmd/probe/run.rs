//! The measurements of `windlass probe`, and their exit statuses. The subcommands are in files of their own.

use super::args::{Probe, ProbeCommand};
use super::settings::settings;
use super::{judge, print, serve, survey};
use crate::failure::{self, Failure};
use crate::progress::Progress;
use crate::{interrupt, stdout};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use windlass_probe::linux::{Driver, measure};
use windlass_probe::session::{BurstOutcome, Outcome, Runs};
use windlass_probe::{Session, Settings, Target};

/// Exit status: measured, but undecided.
const UNDECIDED: u8 = 3;
/// Exit status: the server was not measured.
const NOT_MEASURED: u8 = 4;
/// Exit status: ended by Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Runs `windlass probe` or its subcommand; returns the exit status.
pub(crate) fn main(args: Probe) -> Result<ExitCode, Failure> {
    match args.command {
        Some(ProbeCommand::Survey(args)) => return survey::main(*args),
        Some(ProbeCommand::Serve(args)) => return serve::main(&args),
        Some(ProbeCommand::Judge(args)) => return judge::main(&args),
        Some(ProbeCommand::Population(args)) => return serve::population(&args),
        None => {}
    }
    let settings = Settings {
        bursts: sizes(&args.burst),
        find_object: !args.no_search,
        ..settings(&args.tests, &args.how)?
    };
    let is_burst = !settings.bursts.is_empty();
    let Some(target) = args.target else {
        return Err(Failure::Input("HOST|URL: which server?".to_owned()));
    };
    let target = Target::parse_as(&target.text, settings.scheme).map_err(Failure::Input)?;
    // Targets `tcp` and `tls` take the exchange of --send and --until. Others have a protocol of their own.
    let takes_exchange = target.candidates.iter().all(|url| matches!(url.scheme(), "tcp" | "tls"));
    if !takes_exchange && (args.how.send.is_some() || args.how.until.is_some()) {
        let what = "--send, --until: they are for tcp://HOST:PORT and tls://HOST:PORT";
        return Err(Failure::Input(what.to_owned()));
    }
    let work = |error: io::Error| Failure::Work(format!("probe: {error}"));
    let mut driver = Driver::open().map_err(work)?;
    let session =
        run(&mut driver, Session::new(target, settings.clone()), &settings).map_err(work)?;
    if is_burst {
        let outcome = session.burst_outcome();
        tell(args.json, &outcome, print::burst)?;
        return Ok(interrupted(outcome.interrupted).unwrap_or_else(|| burst_exit_code(&outcome)));
    }
    let outcome = session.outcome();
    tell(args.json, &outcome, print::text)?;
    Ok(interrupted(outcome.interrupted).unwrap_or_else(|| exit_code(&outcome)))
}

/// Runs the session to its end, or until Ctrl-C.
fn run(driver: &mut Driver, mut session: Session, settings: &Settings) -> io::Result<Session> {
    let stop = interrupt::flag();
    let mut progress = Progress::new("probe", 0);
    measure(driver, &mut session, |session| {
        let (done, most) = session.progress();
        progress.show(done, most, || progress_text(session, settings));
        !stop.load(Ordering::Relaxed)
    })?;
    progress.finish();
    Ok(session)
}

/// The exit status after Ctrl-C.
fn interrupted(was: bool) -> Option<ExitCode> {
    was.then(|| {
        failure::error("interrupted");
        ExitCode::from(INTERRUPTED)
    })
}

fn tell<T: Serialize>(json: bool, outcome: &T, text: fn(&T) -> String) -> Result<(), Failure> {
    match json {
        true => {
            let text = serde_json::to_string(outcome);
            stdout::line(&text.map_err(|error| Failure::Work(error.to_string()))?)
        }
        false => stdout::line(&text(outcome)),
    }
}

/// The sizes of bursts in ascending order, each once.
fn sizes(asked: &[u16]) -> Vec<u16> {
    let sizes: BTreeSet<u16> = asked.iter().copied().collect();
    sizes.into_iter().collect()
}

fn burst_exit_code(outcome: &BurstOutcome) -> ExitCode {
    match (&outcome.verdict.difference, outcome.runs.is_empty()) {
        (Some(_), _) => ExitCode::SUCCESS,
        (None, false) => ExitCode::from(UNDECIDED),
        (None, true) => ExitCode::from(NOT_MEASURED),
    }
}

fn exit_code(outcome: &Outcome) -> ExitCode {
    if let Some(controller) = &outcome.controller {
        let is_unknown = controller.why.is_some();
        return if is_unknown { ExitCode::from(UNDECIDED) } else { ExitCode::SUCCESS };
    }
    match &outcome.verdict {
        Some(verdict) if verdict.is_decided() => ExitCode::SUCCESS,
        Some(_) => ExitCode::from(UNDECIDED),
        None => ExitCode::from(NOT_MEASURED),
    }
}

/// The progress of a session, in words.
fn progress_text(session: &Session, settings: &Settings) -> String {
    let (done, most) = session.progress();
    match (&settings.controllers, settings.runs) {
        (Some(_), _) => format!("{done} of at most {most} trials"),
        (None, Runs::UntilCertain { .. }) if settings.bursts.is_empty() => {
            format!("{done} of at most {most} runs")
        }
        (None, _) => format!("{done} of {most} runs"),
    }
}
