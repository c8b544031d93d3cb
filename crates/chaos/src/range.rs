//! Runs many seeds on several threads, and adds up their results. [`traversal`](crate::traversal)
//! uses the same loop.

use crate::{Features, Summary, run_seed};
use core::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Seeds that a thread takes at a time.
const BATCH: u64 = 64;

/// Runs all of `seeds`, with these options of TCP, on `jobs` threads (one at least). `progress` is
/// called now and then with the number of seeds that are done, from any of the threads.
pub fn run_range(
    seeds: Range<u64>,
    features: &Features,
    jobs: usize,
    progress: &(dyn Fn(u64) + Sync),
) -> Summary {
    let add = |sum: &mut Summary, seed| sum.add(run_seed(seed, features));
    sum(seeds, jobs, progress, &add, &Summary::merge)
}

/// Adds all of `seeds` up on `jobs` threads, each with a sum of its own.
pub(crate) fn sum<S: Default + Send>(
    seeds: Range<u64>,
    jobs: usize,
    progress: &(dyn Fn(u64) + Sync),
    add: &(dyn Fn(&mut S, u64) + Sync),
    merge: &(dyn Fn(&mut S, S) + Sync),
) -> S {
    let next = AtomicU64::new(seeds.start);
    let done = AtomicU64::new(0);
    let total = Mutex::new(S::default());
    let work = || {
        let mut sum = S::default();
        loop {
            let first = next.fetch_add(BATCH, Ordering::Relaxed);
            if first >= seeds.end {
                break;
            }
            let last = first.saturating_add(BATCH).min(seeds.end);
            (first..last).for_each(|seed| add(&mut sum, seed));
            progress(done.fetch_add(last - first, Ordering::Relaxed) + last - first);
        }
        // A thread that panicked left the sum as it was.
        merge(&mut total.lock().unwrap_or_else(PoisonError::into_inner), sum);
    };
    std::thread::scope(|scope| {
        (1..jobs).for_each(|_| {
            scope.spawn(work);
        });
        work();
    });
    total.into_inner().unwrap_or_else(PoisonError::into_inner)
}
