//! Cases judged, several at a time.

use super::{Chosen, Series, qlog};
use crate::bed::Check;
use crate::case::{Case, Judgement, Outcome};
use crate::packets::capture;
use crate::subject::Subject;
use crate::suites::Suite;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The records that a report keeps beside outcomes and comparisons.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The points of plots, of each case.
    pub series: bool,
    /// The packets as qlog, of each case that failed.
    pub qlog: bool,
    /// The same packets as pcapng.
    pub pcap: bool,
}

/// A case, and how a subject did in it.
#[derive(Debug)]
pub struct Examined {
    /// The suite.
    pub suite: &'static Suite,
    /// The case.
    pub case: &'static Case,
    /// The outcome.
    pub outcome: Outcome,
    /// Why the subject fails the case on purpose.
    pub explained: Option<&'static str>,
    /// The comparisons, in order of time.
    pub checks: Vec<Check>,
    /// The points of its plots, if they are kept.
    pub series: Option<Series>,
    /// A file of qlog, if it is kept.
    pub qlog: Option<Vec<u8>>,
    /// A file of pcapng, if it is kept.
    pub pcap: Option<Vec<u8>>,
}

/// Judges a subject by these cases, `jobs` at a time. The results have the order of the cases, whatever `jobs` is.
/// `progress` gets the number of cases that are done.
pub fn examine(
    cases: &[Chosen],
    subject: &(dyn Subject + Sync),
    keep: Keep,
    jobs: usize,
    progress: &(dyn Fn(usize) + Sync),
) -> Vec<Examined> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut found = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(chosen) = cases.get(index) else { return found };
            found.push((index, one(*chosen, subject, keep)));
            progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    let mut found: Vec<(usize, Examined)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, examined)| examined).collect()
}

fn one(Chosen { suite, case }: Chosen, subject: &dyn Subject, keep: Keep) -> Examined {
    let Judgement { outcome, checks, wire } = judge(case, subject);
    let is_failure = matches!(outcome, Outcome::Failed(_));
    let title = format!("{} {}: {}", subject.name(), case.name, outcome.name());
    let failed = wire.as_ref().filter(|_| is_failure);
    Examined {
        suite,
        case,
        checks,
        qlog: failed.filter(|_| keep.qlog).map(|wire| qlog::file(&title, wire)),
        pcap: failed.filter(|_| keep.pcap).map(|wire| capture(case.name, wire)),
        explained: subject.explains(case.name).filter(|_| is_failure),
        series: wire.as_ref().filter(|_| keep.series).map(Series::new),
        outcome,
    }
}

/// A controller of another crate may panic: its case has failed then, and the others are judged.
fn judge(case: &Case, subject: &dyn Subject) -> Judgement {
    catch_unwind(AssertUnwindSafe(|| case.judge(subject))).unwrap_or_else(|panic| Judgement {
        outcome: Outcome::Failed(format!("the sender panicked: {}", message(&*panic))),
        checks: Vec::new(),
        wire: None,
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}
