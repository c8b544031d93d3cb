//! "Exiting Acceleration Based on Bandwidth Plateau".

use super::Bbr3Controller;
use super::ack::AckSample;

/// A smaller growth of the rate in a round trip is none.
const GROWTH: f64 = 1.25;
/// So many round trips without growth fill the pipe.
const ROUNDS: u32 = 3;

/// Whether the rate has reached what the path has for this flow.
#[derive(Clone, Debug, Default)]
pub(super) struct FullPipe {
    /// BBR.full_bw_reached: at any time.
    pub(super) is_reached: bool,
    /// BBR.full_bw_now: since the search began.
    pub(super) is_now: bool,
    /// BBR.full_bw.
    pub(super) bw: f64,
    /// BBR.full_bw_count.
    pub(super) count: u32,
}

impl FullPipe {
    /// ResetFullBW, with a rate to grow from.
    pub(super) fn reset(&mut self, bw: f64) {
        *self = FullPipe { bw, is_reached: self.is_reached, ..FullPipe::default() };
    }
}

impl Bbr3Controller {
    /// CheckFullBWReached: once in a round trip, compares the rate with the one to grow from.
    pub(super) fn check_full_bw_reached(&mut self, ack: &AckSample) {
        let Some(rate) = ack.rate.filter(|rate| !rate.is_app_limited) else { return };
        let pipe = &mut self.full_pipe;
        if pipe.is_now || !self.rounds.is_start {
            return;
        }
        if rate.delivery_rate >= pipe.bw * GROWTH {
            return pipe.reset(rate.delivery_rate);
        }
        pipe.count += 1;
        pipe.is_now = pipe.count >= ROUNDS;
        pipe.is_reached |= pipe.is_now;
    }
}
