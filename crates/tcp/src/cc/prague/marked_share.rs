//! Alpha: the smoothed share of marked data, as in DCTCP, over rounds of a virtual RTT.

use super::round_trips::is_sent_since;
use crate::cc::Delivery;
use windlass_base::{Span, Time};

/// The weight of a round in the mean.
const GAIN: f64 = 1.0 / 16.0;

/// The share of marked data.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct MarkedShare {
    /// `None` before the first mark: an estimate begins when a queue that marks is known.
    alpha: Option<f64>,
    /// When the round began.
    begun: Time,
    /// Bytes delivered on the connection when the round began.
    delivered_before: u64,
    /// Bytes delivered in this round.
    delivered: u64,
    /// Bytes of these that were marked.
    marked: u64,
}

impl MarkedShare {
    /// Takes the data that an ACK delivers.
    pub(super) fn take(&mut self, delivered: u64, marked: u64) {
        self.delivered += delivered;
        self.marked += marked;
        if marked > 0 {
            // The first mark halves the window, as in DCTCP (RFC 8257 §3.3).
            self.alpha.get_or_insert(1.0);
        }
    }

    /// Begins a round with what follows this ACK.
    pub(super) fn begin(&mut self, delivery: &Delivery) {
        let (begun, delivered_before) = (delivery.now, delivery.delivered_total);
        *self = MarkedShare { alpha: self.alpha, begun, delivered_before, delivered: 0, marked: 0 };
    }

    /// Ends the round if data sent since its beginning was delivered, and `virtual_rtt` has passed.
    pub(super) fn end_round(&mut self, delivery: &Delivery, virtual_rtt: Span) -> bool {
        let is_over = is_sent_since(self.delivered_before, delivery)
            && delivery.now.saturating_since(self.begun) >= virtual_rtt
            && self.delivered > 0;
        if is_over {
            // Copies of delivered data may be marked, too.
            let share = (self.marked as f64 / self.delivered as f64).min(1.0);
            self.alpha = self.alpha.map(|alpha| alpha + GAIN * (share - alpha));
            self.begin(delivery);
        }
        is_over
    }

    /// The estimate; 0 before the first mark.
    pub(super) fn alpha(&self) -> f64 {
        self.alpha.unwrap_or(0.0)
    }

    /// True after the first mark.
    pub(super) fn has_marks(&self) -> bool {
        self.alpha.is_some()
    }

    /// When the round began.
    pub(super) fn begun(&self) -> Time {
        self.begun
    }
}
