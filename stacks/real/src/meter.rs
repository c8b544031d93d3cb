//! Counts the bytes that a receiver reads.

use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The steady window, from the beginning of the connection.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Window {
    from: Duration,
    until: Duration,
}

impl Window {
    pub(crate) fn new(from_s: f64, until_s: f64) -> Window {
        Window { from: Duration::from_secs_f64(from_s), until: Duration::from_secs_f64(until_s) }
    }
}

/// Bytes read so far.
#[derive(Debug)]
pub(crate) struct Meter {
    window: Window,
    begun: Instant,
    bytes: u64,
    steady_bytes: u64,
}

impl Meter {
    /// The connection begins now.
    pub(crate) fn begin(window: Window) -> Meter {
        Meter { window, begun: Instant::now(), bytes: 0, steady_bytes: 0 }
    }

    /// The time until the window ends.
    pub(crate) fn left(&self) -> Duration {
        self.window.until.saturating_sub(self.begun.elapsed())
    }

    pub(crate) fn add(&mut self, bytes: usize) {
        let at = self.begun.elapsed();
        if at < self.window.until {
            self.bytes += bytes as u64;
            self.steady_bytes += if at >= self.window.from { bytes as u64 } else { 0 };
        }
    }

    /// Goodput in Mbit/s until the window ends, and within it.
    pub(crate) fn measured(&self) -> Value {
        let rate = |bytes: u64, time: Duration| bytes as f64 * 8.0 / 1e6 / time.as_secs_f64();
        let Window { from, until } = self.window;
        json!({
            "bytes": self.bytes,
            "goodput_mbit_per_s": {
                "whole_run": rate(self.bytes, until),
                "steady": rate(self.steady_bytes, until - from),
            },
        })
    }
}
