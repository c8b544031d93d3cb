//! How many packets more than the rate explains are acknowledged at once: the window makes room for them, so that
//! aggregated ACKs do not stop the sender.

use super::super::path_model::AckEpoch;
use windlass_base::{Span, Time};

/// The maximum is that of the last five to ten rounds.
const WINDOW_ROUNDS: u32 = 5;
/// The epoch begins anew after so many packets.
const EPOCH_PACKETS_MAX: f64 = 1_048_576.0;
/// No more than the data of this time.
const MOST: Span = Span::from_millis(100);

/// The aggregation of ACKs, in packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    epoch: AckEpoch,
    /// The maxima of the current window of rounds and of the one before.
    extra: [f64; 2],
    current: usize,
    rounds: u32,
}

impl Aggregation {
    /// Begins an epoch after idle time.
    pub(super) fn begin(&mut self, now: Time) {
        self.epoch.begin(now);
    }

    /// Takes an ACK of so many packets; `rate` is in packets per second, `cwnd` in packets.
    pub(super) fn update(
        &mut self,
        now: Time,
        acked: f64,
        rate: f64,
        cwnd: f64,
        is_round_start: bool,
    ) {
        if is_round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW_ROUNDS {
                self.rounds = 0;
                self.current = 1 - self.current;
                self.extra[self.current] = 0.0;
            }
        }
        let extra = self.epoch.excess(now, acked, rate, EPOCH_PACKETS_MAX).min(cwnd);
        self.extra[self.current] = self.extra[self.current].max(extra);
    }

    /// The packets that the window needs in addition, at a rate in bytes per second.
    pub(super) fn packets(&self, rate: f64, mss: f64) -> f64 {
        let most = rate / mss * MOST.as_secs_f64();
        self.extra[0].max(self.extra[1]).min(most)
    }
}
