//! A machine that stands still for a while makes real timeouts: the retransmission timer is looked
//! at before the ACKs that wait. A run in which that happened says nothing of the proxy.

use rustix::thread::{CpuSet, sched_setaffinity};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{available_parallelism, scope, sleep};
use std::time::{Duration, Instant};

/// A third of Linux's least retransmission timeout (TCP_RTO_MIN, 200 ms).
const STILL: Duration = Duration::from_millis(66);
const ATTEMPTS: usize = 4;

/// Runs `test`, and again if it fails while a processor stood still.
pub(crate) fn steady(mut test: impl FnMut()) {
    for attempt in 1..=ATTEMPTS {
        let (result, still) = watched(|| catch_unwind(AssertUnwindSafe(&mut test)));
        match result {
            Ok(()) => return,
            Err(_) if still > STILL && attempt < ATTEMPTS => {
                eprintln!("a processor stood still for {still:?}: once more");
            }
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// The longest time for which a processor did not come to a thread that only watches the clock.
fn watched<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let done = AtomicBool::new(false);
    let processors = available_parallelism().map_or(1, usize::from);
    scope(|scope| {
        let watch = |processor| {
            let done = &done;
            scope.spawn(move || watch(processor, done))
        };
        let watchers: Vec<_> = (0..processors).map(watch).collect();
        let result = work();
        done.store(true, Ordering::Relaxed);
        let gaps = watchers.into_iter().map(|watcher| watcher.join().expect("no panic"));
        (result, gaps.max().unwrap_or_default())
    })
}

fn watch(processor: usize, done: &AtomicBool) -> Duration {
    let mut only = CpuSet::new();
    only.set(processor);
    // Where that is not allowed it watches whichever it is given.
    let _ = sched_setaffinity(None, &only);
    let mut longest = Duration::ZERO;
    while !done.load(Ordering::Relaxed) {
        let before = Instant::now();
        sleep(Duration::from_millis(5));
        longest = longest.max(before.elapsed());
    }
    longest
}
