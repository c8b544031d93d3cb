//! The smoothed RTT, the virtual RTT, and the time for which a reduction holds back the next one.

use crate::cc::Delivery;
use windlass_base::{Span, Time};

/// The least virtual RTT (section 2.4.4, "Reduced RTT-Dependence").
const VIRTUAL_RTT_MIN: Span = Span::from_millis(25);
/// The weight of an RTT sample in the mean (RFC 6298 §2.3).
const GAIN: f64 = 1.0 / 8.0;

/// The RTTs, in seconds. The engine's SRTT has whole ticks of a clock, which are too coarse for windows of fractions.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct RoundTrips {
    smoothed: Option<f64>,
}

impl RoundTrips {
    pub(super) fn sample(&mut self, rtt: Span) {
        let rtt = rtt.as_secs_f64();
        self.smoothed = Some(self.smoothed.map_or(rtt, |srtt| srtt + GAIN * (rtt - srtt)));
    }

    /// The smoothed RTT in seconds; `None` before the first sample.
    pub(super) fn smoothed(&self) -> Option<f64> {
        self.smoothed
    }

    /// The RTT that the flow competes with.
    pub(super) fn virtual_rtt(&self) -> Span {
        Span::from_secs_f64(self.smoothed.unwrap_or_default()).max(VIRTUAL_RTT_MIN)
    }

    /// The smoothed RTT divided by the virtual one; at most 1.
    pub(super) fn share_of_virtual(&self) -> f64 {
        (self.smoothed.unwrap_or_default() / VIRTUAL_RTT_MIN.as_secs_f64()).min(1.0)
    }
}

/// The time after a reduction in which its cause has no further effect.
#[derive(Copy, Clone, Debug)]
pub(super) struct Hold {
    since: Time,
    pub(super) is_for_loss: bool,
    /// Bytes delivered on the connection when it began.
    delivered: u64,
}

impl Hold {
    /// Begins with what is sent after `delivered` bytes had been delivered.
    pub(super) fn new(since: Time, delivered: u64, is_for_loss: bool) -> Hold {
        Hold { since, is_for_loss, delivered }
    }

    /// True if data sent since then was delivered, and `virtual_rtt` has passed.
    pub(super) fn is_over(&self, delivery: &Delivery, virtual_rtt: Span) -> bool {
        is_sent_since(self.delivered, delivery)
            && delivery.now.saturating_since(self.since) >= virtual_rtt
    }
}

/// True if the ACK delivers data that was sent after `delivered` bytes had been delivered.
pub(super) fn is_sent_since(delivered: u64, delivery: &Delivery) -> bool {
    delivery.sample.is_some_and(|sample| sample.prior_delivered >= delivered)
}
