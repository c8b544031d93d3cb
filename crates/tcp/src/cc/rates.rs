//! The events for controllers that model the path by rates, losses and flights
//! ([`Controller::needs_rates`](super::Controller::needs_rates)).

use windlass_base::{Span, Time};

/// Data may be sent from now on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Start {
    /// When the connection is ready to send.
    pub now: Time,
    /// SRTT in whole ticks of the connection's clock, from the handshake; `None` before the first sample.
    pub smoothed_rtt: Option<Span>,
    /// SACK was negotiated: more than one loss in a round trip can be found.
    pub has_sack: bool,
}

/// Data is about to be sent.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sent {
    /// When it is sent.
    pub now: Time,
    /// Its payload bytes, in one segment or several.
    pub bytes: u64,
    /// Bytes in flight before it.
    pub in_flight: u64,
    /// It was sent before.
    pub is_retransmission: bool,
    /// The application, and not the window, has limited the sender.
    pub is_app_limited: bool,
}

impl Sent {
    /// `bytes` for the first time at `now`, with nothing in flight. For tests of controllers.
    pub fn new(now: Time, bytes: u64) -> Sent {
        Sent { now, bytes, in_flight: 0, is_retransmission: false, is_app_limited: false }
    }
}

/// Data is considered lost.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// When the loss was found.
    pub now: Time,
    /// When it was sent.
    pub sent: Time,
    /// The position of its first byte, on a scale on which the stream's bytes follow each other.
    pub position: u64,
    /// Its payload bytes, which were sent at one time.
    pub bytes: u64,
    /// Bytes in flight when it was sent, these included.
    pub in_flight: u64,
    /// Bytes lost since it was sent, these included.
    pub lost_since: u64,
    /// Bytes delivered so far on the connection.
    pub delivered_total: u64,
    /// The application limited the sender when it was sent.
    pub is_app_limited: bool,
}

impl Lost {
    /// `bytes` lost at `now`, all that was in flight, before any was delivered. For tests of controllers.
    pub fn new(now: Time, bytes: u64) -> Lost {
        Lost {
            now,
            sent: Time::ZERO,
            bytes,
            position: 0,
            in_flight: bytes,
            lost_since: bytes,
            delivered_total: 0,
            is_app_limited: false,
        }
    }
}

/// An ACK delivered data, or showed a loss.
#[derive(Copy, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Delivery {
    /// When it arrived.
    pub now: Time,
    /// Bytes acknowledged or SACKed for the first time.
    pub delivered: u64,
    /// Bytes that it showed to be lost.
    pub lost: u64,
    /// Bytes delivered so far on the connection.
    pub delivered_total: u64,
    /// Bytes in flight before it.
    pub in_flight_before: u64,
    /// Bytes in flight now.
    pub in_flight: u64,
    /// The RTT sample of the ACK, if it yielded one.
    pub rtt: Option<Span>,
    /// SRTT in whole ticks of the connection's clock; zero before the first sample.
    pub smoothed_rtt: Span,
    /// The smallest RTT seen on this connection.
    pub min_rtt: Option<Span>,
    /// The window limited the sender before this ACK.
    pub is_window_limited: bool,
    /// The rate at which data was delivered; `None` if the ACK delivers none.
    pub sample: Option<RateSample>,
}

impl Delivery {
    /// An ACK at `now` of all that was in flight: the first of its connection, whose RTT is the interval of the
    /// sample. For tests of controllers.
    pub fn new(now: Time, sample: RateSample) -> Delivery {
        let rtt = sample.interval;
        Delivery {
            now,
            delivered: sample.delivered,
            lost: 0,
            delivered_total: sample.delivered,
            in_flight_before: sample.delivered,
            in_flight: 0,
            rtt: Some(rtt),
            smoothed_rtt: rtt,
            min_rtt: Some(rtt),
            is_window_limited: true,
            sample: Some(sample),
        }
    }
}

/// A sample of the delivery rate, over the time that the newest data of an ACK took
/// (draft-ietf-ccwg-bbr-06, "Delivery Rate Samples").
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateSample {
    /// Bytes delivered in the interval.
    pub delivered: u64,
    /// The longer one of the time in which they were sent and that in which they were acknowledged.
    pub interval: Span,
    /// Bytes delivered on the connection when the newest data was sent: a round trip has passed once it reaches
    /// what was delivered at the beginning of the round trip.
    pub prior_delivered: u64,
    /// Bytes in flight when the newest data was sent, it included.
    pub in_flight: u64,
    /// Bytes lost since then.
    pub lost: u64,
    /// The application limited the sender when the newest data was sent.
    pub is_app_limited: bool,
}

impl RateSample {
    /// `delivered` bytes in `interval`, the first ones of a connection: all were sent at once, and none was lost.
    /// For tests of controllers.
    pub fn new(delivered: u64, interval: Span) -> RateSample {
        RateSample {
            delivered,
            interval,
            prior_delivered: 0,
            in_flight: delivered,
            lost: 0,
            is_app_limited: false,
        }
    }

    /// The rate in bytes per second; `None` where the interval is shorter than the smallest RTT, so that the
    /// sample says nothing.
    pub fn bytes_per_s(&self, min_rtt: Option<Span>) -> Option<f64> {
        let counts = !self.interval.is_zero() && min_rtt.is_none_or(|least| least <= self.interval);
        counts.then(|| self.delivered as f64 / self.interval.as_secs_f64())
    }
}

/// The end of a repair of losses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum RepairEnd {
    /// All data sent before it is acknowledged.
    Complete,
    /// Nothing had been lost.
    Needless,
}
