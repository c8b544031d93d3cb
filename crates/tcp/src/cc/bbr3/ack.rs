use super::super::{Delivery, RateSample};
use windlass_base::{Span, Time};

/// The rate sample RS of an ACK, with the connection's state of that moment.
#[derive(Copy, Clone, Debug)]
pub(super) struct AckSample {
    pub(super) now: Time,
    /// RS.rtt.
    pub(super) rtt: Option<Span>,
    /// C.srtt; `None` before the first sample.
    pub(super) smoothed_rtt: Option<Span>,
    /// RS.newly_acked.
    pub(super) newly_acked: f64,
    /// C.inflight.
    pub(super) inflight: f64,
    /// `None` if the ACK delivers nothing.
    pub(super) rate: Option<Rate>,
}

/// The sample of an ACK that delivers data.
#[derive(Copy, Clone, Debug)]
pub(super) struct Rate {
    /// RS.delivery_rate; 0 where the sample is not reliable.
    pub(super) delivery_rate: f64,
    /// RS.delivered.
    pub(super) delivered: f64,
    /// RS.prior_delivered.
    pub(super) prior_delivered: u64,
    /// RS.tx_in_flight.
    pub(super) tx_in_flight: f64,
    /// RS.lost.
    pub(super) lost: f64,
    /// RS.is_app_limited.
    pub(super) is_app_limited: bool,
}

impl AckSample {
    pub(super) fn of(delivery: &Delivery) -> AckSample {
        let rate_of = |sample: RateSample| Rate {
            delivery_rate: sample.bytes_per_s(delivery.min_rtt).unwrap_or(0.0),
            delivered: sample.delivered as f64,
            prior_delivered: sample.prior_delivered,
            tx_in_flight: sample.in_flight as f64,
            lost: sample.lost as f64,
            is_app_limited: sample.is_app_limited,
        };
        AckSample {
            now: delivery.now,
            rtt: delivery.rtt,
            smoothed_rtt: Some(delivery.smoothed_rtt).filter(|rtt| !rtt.is_zero()),
            newly_acked: delivery.delivered as f64,
            inflight: delivery.in_flight as f64,
            rate: delivery.sample.map(rate_of),
        }
    }
}
