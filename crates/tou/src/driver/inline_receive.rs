//! Receiving in the thread that writes. A thread that writes continuously also processes incoming
//! ACKs, and the I/O thread sleeps meanwhile. Waking the I/O thread for each ACK would cost two
//! context switches, and it would find the port's lock taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use windlass_base::{Span, Time};

/// The longest pause between two writes that count as continuous.
const MAX_PAUSE: Span = Span::from_micros(500);

/// Bytes of continuous writes after which the writer begins to receive. One call counts for at most
/// [`POLL_BYTES`], so that request and response traffic does not qualify.
const START_BYTES: u64 = 1 << 20;

/// Bytes written between two polls of the socket.
const POLL_BYTES: u64 = 64 << 10;

/// When the writer of a port last polled the socket, in nanoseconds. 0: the I/O thread receives.
#[derive(Debug, Default)]
pub(super) struct LastInlinePoll(AtomicU64);

impl LastInlinePoll {
    /// Whether the writer is expected to poll again before long.
    pub(super) fn is_recent(&self, now: Time) -> bool {
        let polled = self.0.load(Ordering::SeqCst);
        polled != 0 && now.as_nanos() < polled + MAX_PAUSE.as_nanos()
    }
}

/// Counts what was written to a port without a pause, and decides when the writer polls.
#[derive(Debug, Default)]
pub(super) struct InlineReceive {
    last_write: Time,
    bytes: u64,
    bytes_since_poll: u64,
    pub(super) last_poll: Arc<LastInlinePoll>,
}

impl InlineReceive {
    /// Counts a write of `bytes` bytes. True if its thread is to poll the socket now.
    pub(super) fn note_write(&mut self, now: Time, bytes: usize) -> bool {
        if now.saturating_since(self.last_write) > MAX_PAUSE {
            (self.bytes, self.bytes_since_poll) = (0, 0);
        }
        self.last_write = now;
        self.bytes += (bytes as u64).min(POLL_BYTES);
        self.bytes_since_poll += bytes as u64;
        if self.bytes < START_BYTES || self.bytes_since_poll < POLL_BYTES {
            return false;
        }
        self.bytes_since_poll = 0;
        self.last_poll.0.store(now.as_nanos(), Ordering::SeqCst);
        true
    }

    /// Hands receiving back to the I/O thread, because an application thread waits for data. True
    /// if the I/O thread may have to be woken for it.
    pub(super) fn stop(&mut self) -> bool {
        (self.bytes, self.bytes_since_poll) = (0, 0);
        self.last_poll.0.swap(0, Ordering::SeqCst) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    /// Writes 64 KiB every 50 microseconds and returns the number of writes before the first poll.
    fn writes_before_a_poll(inline: &mut InlineReceive, from: u64) -> usize {
        (0..100).take_while(|i| !inline.note_write(at(from + 50 * i), 64 << 10)).count()
    }

    #[test]
    fn after_a_mebibyte_without_a_pause_the_writer_polls_every_64_kib() {
        let mut inline = InlineReceive::default();
        assert_eq!(writes_before_a_poll(&mut inline, 1_000), 15);
        assert!(inline.last_poll.is_recent(at(2_000)) && !inline.last_poll.is_recent(at(3_000)));
        assert!(!inline.note_write(at(1_800), 63 << 10));
        assert!(inline.note_write(at(1_850), 1 << 10));
        assert!(!inline.note_write(at(2_400), 64 << 10), "after a pause");
        assert_eq!(writes_before_a_poll(&mut inline, 2_450), 14);
    }

    #[test]
    fn a_few_large_writes_do_not_count_as_continuous() {
        let mut inline = InlineReceive::default();
        assert!((0..15).all(|_| !inline.note_write(at(1_000), 4 << 20)));
        assert!(inline.note_write(at(1_000), 4 << 20));
    }

    #[test]
    fn stopping_asks_for_the_io_thread_once() {
        let mut inline = InlineReceive::default();
        assert!(!inline.stop(), "the I/O thread receives already");
        writes_before_a_poll(&mut inline, 1_000);
        assert!(inline.stop() && !inline.stop());
        assert!(!inline.last_poll.is_recent(at(1_800)));
        assert_eq!(writes_before_a_poll(&mut inline, 1_800), 15);
    }
}
