//! Deterministic simulation testing of the TCP engine.
//!
//! A seed stands for a random path (losses, bursts of them, duplicates, reordering, corruption,
//! ECN marks, changes of delay, jitter of Wi-Fi, blackouts, a slow link), two ends with random options, controllers
//! and buffers, and two applications that write, read, stall, close and abort. While the
//! connection lives, everything that TCP promises is checked; a seed that breaks a promise breaks
//! it again, exactly, whenever it is run.
//!
//! With [`Features::ecn_proxy`] an ECN proxy stands before one end or before each, with legs of the path
//! on both sides, and there are marks in place of losses. Checked besides: the end that is served sees no
//! ECN that it did not ask for, and no ACK, SACK block or window that the other has not sent; data are
//! dropped only by the policy that says so; what is not for the proxy is not touched.
//!
//! With the feature `traversal`, `run_traversal_range` draws another kind of run: sessions of ToU between two hosts
//! behind NATs, with a rendezvous.
//!
//! The ends may use AccECN, on paths that also clear the ECN field or remove its option. No byte may
//! be reported as marked that did not arrive so, and where nothing is lost every mark must be reported.
//!
//! Without a proxy a lost retransmission must reduce the window within two round trips or an RTO, and
//! SND.UNA must follow one that arrives within two.
//!
//! After a time the path is calm: it only delays. From there on a connection has a stated bound to
//! come to its end, so that a stall is found as well.
//!
//! # Example
//!
//! ```
//! use windlass_chaos::{Features, replay, run_range};
//!
//! let summary = run_range(0..20, &Features::default(), 1, &|_| {});
//! assert!(summary.failures.is_empty());
//!
//! // One of the seeds again, with everything that happens.
//! let mut lines = Vec::new();
//! replay(7, &Features::default(), &mut |line| lines.push(line.to_owned()))?;
//! assert!(lines.len() > 10);
//! # Ok::<(), windlass_chaos::Failure>(())
//! ```

mod accurate;
mod app;
mod bound;
mod coalesce;
mod congestion;
mod echo;
mod end;
mod ensure;
mod log;
mod network;
mod path;
mod proxy;
mod range;
mod repair;
mod report;
mod setup;
#[cfg(feature = "traversal")]
mod traversal;
mod watch;
mod world;

pub use range::run_range;
pub use report::{Ending, Failure, ProxySums, Report, Summary};
pub use setup::Features;
#[cfg(feature = "traversal")]
pub use traversal::{TraversalReport, TraversalSummary, replay_traversal, run_traversal_range};

use log::Log;
use setup::Setup;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use windlass_base::Time;
use world::World;

/// Lines of the log that a [`Failure`] shows.
const LAST_EVENTS: usize = 60;

/// Runs a seed, with these options of TCP.
///
/// # Errors
/// As [`replay`]. For the last events the seed is run a second time.
pub(crate) fn run_seed(seed: u64, features: &Features) -> Result<Report, Failure> {
    let setup = Setup::draw(seed, features);
    run(seed, &setup, None).map_err(|(at, what)| {
        let mut last_events = VecDeque::new();
        let _ = run(seed, &setup, Some(&mut |line: &str| remember(&mut last_events, line)));
        Failure { seed, at, what, setup: describe(&setup), last_events: last_events.into() }
    })
}

/// Runs a seed and tells `line` everything that happens.
///
/// # Errors
/// The first invariant that breaks, a panic of the engine included, with the last events.
pub fn replay(
    seed: u64,
    features: &Features,
    line: &mut dyn FnMut(&str),
) -> Result<Report, Failure> {
    let setup = Setup::draw(seed, features);
    let setup_lines = describe(&setup);
    setup_lines.lines().for_each(&mut *line);
    let mut last_events = VecDeque::new();
    let mut sink = |text: &str| {
        remember(&mut last_events, text);
        line(text);
    };
    let result = run(seed, &setup, Some(&mut sink));
    result.map_err(|(at, what)| Failure {
        seed,
        at,
        what,
        setup: setup_lines,
        last_events: last_events.into(),
    })
}

fn run<'a>(
    seed: u64,
    setup: &'a Setup,
    sink: Option<&'a mut (dyn FnMut(&str) + 'a)>,
) -> Result<Report, (Time, String)> {
    let mut world = World::new(seed, setup, Log::new(sink));
    let result = guard(|| world.run());
    let at = world.now();
    result.map_err(|what| (at, what))
}

/// Runs a world. A panic is a finding like any other; nothing of the world but its time is used after
/// it.
fn guard<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result,
        Err(panic) => Err(format!("panicked: {}", panic_text(&*panic))),
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text")
}

fn remember(last: &mut VecDeque<String>, line: &str) {
    if last.len() == LAST_EVENTS {
        last.pop_front();
    }
    last.push_back(line.to_owned());
}

fn describe(setup: &Setup) -> String {
    let Setup { start, calm, opening, ends: [a, b], proxies, legs } = setup;
    let deadline = bound::deadline(setup);
    let mut text = format!("{opening:?} at {start}, calm from {calm}, to be over by {deadline}\n");
    for [forth, back] in legs {
        text += &format!("path A to B: {forth:?}\npath B to A: {back:?}\n");
    }
    for proxy in proxies {
        text += &format!("proxy: {proxy:?}\n");
    }
    text + &format!("end A: {a:?}\nend B: {b:?}")
}

#[cfg(test)]
mod tests;
