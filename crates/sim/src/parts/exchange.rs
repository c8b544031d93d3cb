//! The exchange between parts at the end of each window: logs, packets, and the time of the next event.

use super::order::Log;
use crate::network::Export;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use windlass_base::Time;

/// The record of a window that a part shows to the others.
#[derive(Debug, Default)]
pub(crate) struct Parcel {
    pub(crate) log: Log,
    /// Packets, by part that they go to.
    pub(crate) exports: Vec<Vec<Export>>,
    /// Of its events and its packets: the first time; `None` if there are none.
    pub(crate) next: Option<Time>,
    /// The orders of its pending events, if they are to be renumbered.
    pub(crate) orders: Vec<u32>,
}

/// Where the parts meet.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// Two of each part, which take turns: while one is filled, others may still read the other.
    parcels: [Vec<RwLock<Parcel>>; 2],
    barrier: Barrier,
}

impl Exchange {
    pub(crate) fn new(parts: usize) -> Exchange {
        let parcels = || {
            let exports = || vec![Vec::new(); parts];
            let parcel = |_| RwLock::new(Parcel { exports: exports(), ..Parcel::default() });
            (0..parts).map(parcel).collect()
        };
        Exchange { parcels: [parcels(), parcels()], barrier: Barrier::new(parts) }
    }

    /// Swaps a part's parcel with the one of the window before last, waits for all parts, and returns all parcels
    /// of this window; `None` if another part has given up.
    pub(crate) fn meet(
        &self,
        window: usize,
        part: usize,
        parcel: &mut Parcel,
    ) -> Option<Vec<RwLockReadGuard<'_, Parcel>>> {
        let parcels = &self.parcels[window % 2];
        let mut shown = parcels[part].write().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *shown, parcel);
        drop(shown);
        if !self.barrier.wait() {
            return None;
        }
        let read = |one| RwLock::read(one).unwrap_or_else(PoisonError::into_inner);
        Some(parcels.iter().map(read).collect())
    }

    /// A guard that makes the others give up if its thread panics.
    pub(crate) fn guard(&self) -> GivesUp<'_> {
        GivesUp(&self.barrier)
    }
}

/// Makes all parts give up when its thread panics: they would wait forever.
pub(crate) struct GivesUp<'a>(&'a Barrier);

impl Drop for GivesUp<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
        }
    }
}

/// A barrier for short waits: windows of some microseconds come in the hundred thousands, and a thread that sleeps
/// takes longer than that to wake up.
#[derive(Debug)]
struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
}

/// Turns that a thread waits before it lets others have its processor.
const SPINS: u32 = 2_000;

impl Barrier {
    fn new(threads: usize) -> Barrier {
        Barrier {
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits for all threads; false if one has given up.
    fn wait(&self) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Release);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            return true;
        }
        let mut turns = 0;
        while self.round.load(Ordering::Acquire) == round {
            if self.broken.load(Ordering::Acquire) {
                return false;
            }
            turns += 1;
            if turns < SPINS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time_of(window: u64, part: usize) -> Option<Time> {
        Some(Time::from_nanos(window * 3 + part as u64))
    }

    #[test]
    fn every_part_sees_the_parcels_of_the_window() {
        let exchange = Exchange::new(3);
        std::thread::scope(|scope| {
            for part in 0..3 {
                let exchange = &exchange;
                scope.spawn(move || {
                    let mut parcel = Parcel::default();
                    for window in 0..1_000_u64 {
                        parcel.next = time_of(window, part);
                        let all =
                            exchange.meet(window as usize, part, &mut parcel).expect("all meet");
                        let seen: Vec<_> = all.iter().map(|parcel| parcel.next).collect();
                        assert_eq!(seen, [0, 1, 2].map(|part| time_of(window, part)));
                    }
                });
            }
        });
    }

    #[test]
    fn a_part_that_panics_makes_the_others_give_up() {
        let exchange = Exchange::new(2);
        std::thread::scope(|scope| {
            let fails = scope.spawn(|| {
                let _guard = exchange.guard();
                panic!("a part fails");
            });
            assert!(exchange.meet(0, 1, &mut Parcel::default()).is_none());
            assert!(fails.join().is_err());
        });
    }
}
