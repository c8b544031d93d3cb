//! `windlass probe survey`: measures the servers of a list, and writes their rows to a directory.

mod os;
mod plan;
mod results;
mod summary;

use super::args::Survey as Args;
use super::settings::settings;
use crate::envelope::Document;
use crate::failure::{self, Failure};
use crate::progress::Progress;
use crate::{interrupt, stdout};
use os::Guesser;
use results::Results;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use summary::Summary;
use windlass_base::text_file;
use windlass_probe::linux::{Driver, Watcher, survey};
use windlass_probe::session::Outcome;
use windlass_probe::survey::{Exclusions, HostRow, Pace, RunRow, Survey, hosts};
use windlass_probe::{Settings, http};

/// Default of `--under-way`: the hosts that get a connection within this time, in seconds.
const UNDER_WAY_S: f64 = 10.0;
/// Hosts under way at once with --cca: each may send 5 Mbit/s.
const UNDER_WAY_CCA: f64 = 30.0;
const INTERRUPTED: u8 = 130;

/// Runs `windlass probe survey`; returns the exit status.
pub(crate) fn main(args: Args) -> Result<ExitCode, Failure> {
    let settings = Settings { find_object: args.find_object, ..settings(&args.tests, &args.how)? };
    let settings = with_contact(settings, args.contact.as_deref());
    let list = hosts::parse(&read(&args.file)?, settings.scheme)
        .map_err(|why| Failure::Input(format!("{}: {why}", args.file.display())))?;
    let exclusions = read_exclusions(&args)?;
    let pace = pace(&args);
    if args.os {
        os::check().map_err(Failure::Input)?;
    }
    let manifest = results::Manifest::of(&settings, args.os, list.len());
    let results = match &args.out {
        Some(out) if args.resume => Some(Results::resume(out, &manifest, &list, args.dry_run)?),
        _ => None,
    };
    if args.dry_run {
        let done = results.as_ref().map_or(0, |results| results.done().len());
        return stdout::line(&plan::text(&list, done, &settings, &pace, &exclusions))
            .map(|()| ExitCode::SUCCESS);
    }
    let work = |error: io::Error| Failure::Work(format!("probe survey: {error}"));
    // Before anything is written.
    let driver = Driver::open().map_err(work)?;
    let results = match (results, &args.out) {
        (Some(results), _) => results,
        (None, Some(out)) => Results::create(out, &manifest, &list)?,
        (None, None) => return Err(Failure::Input("--out DIR: where results go".to_owned())),
    };
    if args.contact.is_none() && args.how.user_agent == http::USER_AGENT {
        eprintln!("note: without --contact the owners of servers cannot tell whom to ask");
    }
    run(&args, driver, settings, pace, exclusions, list, results)
}

fn run(
    args: &Args,
    mut driver: Driver,
    settings: Settings,
    pace: Pace,
    exclusions: Exclusions,
    list: Vec<String>,
    results: Results,
) -> Result<ExitCode, Failure> {
    let work = |error: io::Error| Failure::Work(format!("probe survey: {error}"));
    let begun = Instant::now();
    let count = list.len();
    let done: BTreeSet<&str> = results.done().iter().map(|row| row.host.as_str()).collect();
    let mut todo = Survey::new(list, &done, settings, pace, Arc::new(exclusions));
    drop(done);
    let mut keeper = Keeper {
        progress: Progress::new("probe survey", results.done().len()),
        count,
        results,
        guesser: args.os.then(Guesser::start).transpose().map_err(work)?,
        stop: interrupt::flag(),
        shown: Instant::now(),
    };
    let complete = survey(&mut driver, &mut todo, &mut keeper).map_err(work)?;
    keeper.finish(complete).map_err(work)?;
    let rows = keeper.results.done();
    let summary = Summary::of(rows, count, todo.connections(), driver.dropped(), begun.elapsed());
    if args.json {
        stdout::line(&Document::new("probe.survey", &summary).line())?;
    } else {
        stdout::line(&summary.text())?;
    }
    if rows.len() == count {
        return Ok(ExitCode::SUCCESS);
    }
    failure::error(format!(
        "interrupted: {} of {count} hosts are done; --resume goes on",
        rows.len()
    ));
    Ok(ExitCode::from(INTERRUPTED))
}

/// Stores results as they arrive, and shows the progress.
struct Keeper {
    results: Results,
    guesser: Option<Guesser>,
    progress: Progress,
    /// Hosts of the list.
    count: usize,
    stop: Arc<AtomicBool>,
    shown: Instant,
}

impl Keeper {
    /// Writes the rows that wait for nmap; after an interrupt without its guesses.
    fn finish(&mut self, complete: bool) -> io::Result<()> {
        if let Some(guesser) = self.guesser.take() {
            let wait = || complete && !self.stop.load(Ordering::Relaxed);
            for (row, runs) in guesser.finish(wait) {
                self.results.add(row, &runs)?;
            }
        }
        self.progress.finish();
        Ok(())
    }

    fn show(&mut self, survey: &Survey) {
        if self.shown.elapsed() >= Duration::from_millis(200) {
            self.shown = Instant::now();
            let (done, count, under_way) = (self.results.done().len(), self.count, survey.left().1);
            self.progress
                .show(done, count, || format!("{done} of {count} hosts, {under_way} under way"));
        }
    }
}

impl Watcher for Keeper {
    fn finished(&mut self, host: &str, outcome: &Outcome) -> io::Result<()> {
        let (row, runs) = (HostRow::of(host, outcome), RunRow::all(host, outcome));
        match &mut self.guesser {
            Some(guesser) if !row.address.is_empty() => guesser.ask(row, runs),
            _ => self.results.add(row, &runs)?,
        }
        Ok(())
    }

    fn go_on(&mut self, survey: &Survey) -> io::Result<bool> {
        while let Some((row, runs)) = self.guesser.as_mut().and_then(Guesser::poll) {
            self.results.add(row, &runs)?;
        }
        self.show(survey);
        Ok(!self.stop.load(Ordering::Relaxed))
    }
}

fn with_contact(mut settings: Settings, contact: Option<&str>) -> Settings {
    if let Some(contact) = contact {
        settings.user_agent = format!("{} ({contact})", settings.user_agent);
    }
    settings
}

fn pace(args: &Args) -> Pace {
    let by_rate = (args.rate * UNDER_WAY_S).ceil();
    let usual = if args.how.cca { by_rate.min(UNDER_WAY_CCA) } else { by_rate };
    let under_way = args.under_way.map_or(usual, f64::from);
    Pace { rate: args.rate, under_way_max: (under_way as usize).max(1), pause: args.pause }
}

fn read_exclusions(args: &Args) -> Result<Exclusions, Failure> {
    let mut all = String::new();
    for path in &args.exclude {
        let text = read(path)?;
        Exclusions::parse(&text)
            .map_err(|why| Failure::Input(format!("{}: {why}", path.display())))?;
        all.push_str(text.trim_start_matches('\u{feff}'));
        all.push('\n');
    }
    Exclusions::parse(&all).map_err(Failure::Input)
}

fn read(path: &Path) -> Result<String, Failure> {
    let failure = |error: io::Error| Failure::Input(format!("{}: {error}", path.display()));
    text_file::read(path).map_err(failure)
}
