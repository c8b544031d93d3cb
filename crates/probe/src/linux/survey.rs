//! A survey on Linux: a [`Driver`] makes its connections, threads resolve its names.

use super::Driver;
use super::resolver::Resolver;
use crate::session::Outcome;
use crate::survey::{Action, Survey};
use std::io;
use windlass_base::Span;

/// The longest wait between two checks of whether to stop.
const WAIT_MAX: Span = Span::from_millis(100);
/// The longest wait while names are being resolved: the resolver's threads do not wake the loop.
const WAIT_MAX_RESOLVING: Span = Span::from_millis(5);

/// Names resolved at the same time.
const RESOLVED_AT_ONCE: usize = 16;

/// Receives the results of [`survey`] and decides whether it continues.
pub trait Watcher {
    /// Called when a host is done.
    ///
    /// # Errors
    ///
    /// An error ends the survey.
    fn finished(&mut self, host: &str, outcome: &Outcome) -> io::Result<()>;

    /// Called at least every 100 ms. False ends the survey and resets the open connections.
    ///
    /// # Errors
    ///
    /// An error ends the survey.
    fn go_on(&mut self, survey: &Survey) -> io::Result<bool>;
}

/// Runs a survey to its end. Returns false if the watcher ended it early.
///
/// # Errors
///
/// Errors of the driver and the watcher, or no thread can be started.
pub fn survey(
    driver: &mut Driver,
    survey: &mut Survey,
    watcher: &mut dyn Watcher,
) -> io::Result<bool> {
    let mut resolver = Resolver::start(RESOLVED_AT_ONCE)?;
    while !survey.is_done() {
        act(driver, survey, &mut resolver, watcher)?;
        if !watcher.go_on(survey)? {
            driver.reset_all();
            return Ok(false);
        }
        let wait_max = if resolver.open > 0 { WAIT_MAX_RESOLVING } else { WAIT_MAX };
        let due = survey.poll_timeout().map(|at| at.saturating_since(driver.now()));
        for (host, report) in driver.poll(due.unwrap_or(wait_max).min(wait_max))? {
            survey.handle_report(driver.now(), host as usize, report);
        }
        while let Some((host, addresses)) = resolver.poll() {
            survey.handle_addresses(driver.now(), host, addresses);
        }
    }
    Ok(true)
}

fn act(
    driver: &mut Driver,
    survey: &mut Survey,
    resolver: &mut Resolver,
    watcher: &mut dyn Watcher,
) -> io::Result<()> {
    while let Some(action) = survey.poll_action(driver.now()) {
        match action {
            Action::Resolve { host, name, port } => {
                if let Some((host, addresses)) = resolver.ask(host, name, port) {
                    survey.handle_addresses(driver.now(), host, addresses);
                }
            }
            Action::Connect { host, remote, order } => {
                driver.connect(host as u64, remote, *order)?;
            }
            Action::Finished { host, outcome } => {
                watcher.finished(survey.host(host), &outcome)?;
            }
        }
    }
    Ok(())
}
