//! Who writes without a pause takes what has come, too, and the thread sleeps meanwhile: to wake it for each
//! ACK costs two switches of threads, and it finds the port's lock taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use windlass_base::{Span, Time};

/// A longer pause ends a streak.
const PAUSE: Span = Span::from_micros(500);

/// Bytes that make a streak, of which one call counts for [`LOOK_BYTES`] at most: messages, and their
/// answers, are none.
const STREAK_BYTES: u64 = 1 << 20;

/// Bytes from one look at what has come to the next.
const LOOK_BYTES: u64 = 64 << 10;

/// When the writer of a port looked last, in nanoseconds; 0: the thread is to look.
#[derive(Debug, Default)]
pub(super) struct Looked(AtomicU64);

impl Looked {
    /// Whether the writer will look again before long.
    pub(super) fn recently(&self, now: Time) -> bool {
        let looked = self.0.load(Ordering::SeqCst);
        looked != 0 && now.as_nanos() < looked + PAUSE.as_nanos()
    }
}

/// What was written to a port without a pause.
#[derive(Debug, Default)]
pub(super) struct Streak {
    last: Time,
    bytes: u64,
    /// Of them since the last look.
    unlooked: u64,
    pub(super) looked: Arc<Looked>,
}

impl Streak {
    /// Something was written. Whether its writer is to look now.
    pub(super) fn add(&mut self, now: Time, bytes: usize) -> bool {
        if now.saturating_since(self.last) > PAUSE {
            (self.bytes, self.unlooked) = (0, 0);
        }
        self.last = now;
        self.bytes += (bytes as u64).min(LOOK_BYTES);
        self.unlooked += bytes as u64;
        if self.bytes < STREAK_BYTES || self.unlooked < LOOK_BYTES {
            return false;
        }
        self.unlooked = 0;
        self.looked.0.store(now.as_nanos(), Ordering::SeqCst);
        true
    }

    /// Somebody waits for what comes. Whether the thread may not know.
    pub(super) fn end(&mut self) -> bool {
        (self.bytes, self.unlooked) = (0, 0);
        self.looked.0.swap(0, Ordering::SeqCst) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    /// Writes of 64 KiB, 50 microseconds apart; how many before the first look.
    fn writes_before_a_look(streak: &mut Streak, from: u64) -> usize {
        (0..100).take_while(|i| !streak.add(at(from + 50 * i), 64 << 10)).count()
    }

    #[test]
    fn who_writes_a_mebibyte_without_a_pause_looks_with_each_64_kib() {
        let mut streak = Streak::default();
        assert_eq!(writes_before_a_look(&mut streak, 1_000), 15);
        assert!(streak.looked.recently(at(2_000)) && !streak.looked.recently(at(3_000)));
        assert!(!streak.add(at(1_800), 63 << 10));
        assert!(streak.add(at(1_850), 1 << 10));
        assert!(!streak.add(at(2_400), 64 << 10), "a pause");
        assert_eq!(writes_before_a_look(&mut streak, 2_450), 14);
    }

    #[test]
    fn a_large_message_is_no_streak() {
        let mut streak = Streak::default();
        assert!((0..15).all(|_| !streak.add(at(1_000), 4 << 20)));
        assert!(streak.add(at(1_000), 4 << 20));
    }

    #[test]
    fn the_thread_is_told_once_that_somebody_waits() {
        let mut streak = Streak::default();
        assert!(!streak.end(), "it looks");
        writes_before_a_look(&mut streak, 1_000);
        assert!(streak.end() && !streak.end());
        assert!(!streak.looked.recently(at(1_800)));
        assert_eq!(writes_before_a_look(&mut streak, 1_800), 15);
    }
}
