//! Work spread over threads, its results in the order of the work.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

/// As many jobs as asked for, or as there are cores.
pub(crate) fn jobs(asked: Option<NonZeroUsize>) -> usize {
    asked.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get)
}

/// Does `work` on each item in `jobs` threads and hands the results to `take`, here and in order,
/// until it breaks.
pub(crate) fn map_in_order<T: Send, R: Send>(
    items: impl Iterator<Item = T> + Send,
    jobs: usize,
    work: impl Fn(T) -> R + Sync,
    mut take: impl FnMut(R) -> ControlFlow<()>,
) {
    let items = Mutex::new(items.enumerate());
    let stopped = AtomicBool::new(false);
    let next = || {
        let mut items = items.lock().unwrap_or_else(PoisonError::into_inner);
        if stopped.load(Ordering::Relaxed) { None } else { items.next() }
    };
    let (sender, results) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                while let Some((index, item)) = next() {
                    if sender.send((index, work(item))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut due = 0;
        for (index, result) in results {
            early.insert(index, result);
            while let Some(result) = early.remove(&due) {
                due += 1;
                if take(result).is_break() {
                    stopped.store(true, Ordering::Relaxed);
                    return;
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_work() {
        let mut taken = Vec::new();
        let work = |n: u64| (0..(50 - n) * 1000).fold(n, |sum, k| sum ^ (k & 1)) & !1 | n;
        map_in_order(0..50, 4, work, |n| {
            taken.push(n >> 1);
            ControlFlow::Continue(())
        });
        assert_eq!(taken, (0..50).map(|n| n >> 1).collect::<Vec<_>>());
    }

    #[test]
    fn a_break_ends_an_endless_supply() {
        let mut taken = 0;
        map_in_order(
            0u64..,
            3,
            |n| n,
            |_| {
                taken += 1;
                if taken == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        assert_eq!(taken, 10);
    }
}
