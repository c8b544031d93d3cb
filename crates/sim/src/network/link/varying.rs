//! A link that changes over time: what
//! [`DecidesAtDequeue`](super::decides_at_dequeue::DecidesAtDequeue) asks of `windlass-link-model`.

use crate::model;
use windlass_base::{Rng, Span, Time};
use windlass_link_model::{
    Aggregator, Outages, Policer, Steps, Transmission, Transmitter, WifiJitter,
};

/// The state of a channel's [`Variation`](model::Variation).
#[derive(Debug)]
pub(super) struct Varying {
    policer: Option<Policer>,
    /// Packets that the policer dropped.
    policed: u64,
    transmitter: Transmitter,
    losing_outages: Outages,
    delay: Steps<Span>,
    wifi_jitter: Option<WifiJitter>,
    aggregator: Option<Aggregator>,
    rng: Rng,
    last_arrival: Time,
}

impl Varying {
    /// `None` for a channel that does not change.
    pub(super) fn new(spec: &model::Channel, rng: Rng) -> Option<Box<Varying>> {
        let variation = &spec.variation;
        (!variation.is_none()).then(|| {
            Box::new(Varying {
                policer: variation.policer.as_ref().map(Policer::new),
                policed: 0,
                transmitter: Transmitter::new(spec.rate, variation),
                losing_outages: Outages::that_lose(&variation.outages),
                delay: variation.delay.clone().unwrap_or(Steps::constant(spec.delay)),
                wifi_jitter: variation.wifi_jitter.clone(),
                aggregator: variation.aggregation.map(Aggregator::new),
                rng,
                last_arrival: Time::ZERO,
            })
        })
    }

    /// Packets that the policer dropped; `None` without one.
    pub(super) fn policed(&self) -> Option<u64> {
        self.policer.is_some().then_some(self.policed)
    }

    /// True if the policer lets the packet pass.
    pub(super) fn admits(&mut self, now: Time, bytes: u32) -> bool {
        let admits = self.policer.as_mut().is_none_or(|policer| policer.admits(now, bytes));
        self.policed += u64::from(!admits);
        admits
    }

    pub(super) fn transmit(&mut self, at: Time, bytes: u32) -> Transmission {
        self.transmitter.transmit(at, bytes)
    }

    /// True if an outage loses a packet whose transmission ends at `end`.
    pub(super) fn loses(&self, end: Time) -> bool {
        self.losing_outages.is_under_way(end)
    }

    /// When such a packet reaches the far end. Packets keep their order.
    pub(super) fn arrival(&mut self, end: Time, bytes: u32) -> Time {
        let (delay, _) = self.delay.at(end);
        let jitter = self.wifi_jitter.as_ref().map(|jitter| jitter.draw(end, &mut self.rng));
        let ready = self.last_arrival.max(end + delay + jitter.unwrap_or_default());
        self.last_arrival = match &mut self.aggregator {
            Some(aggregator) => aggregator.release(ready, bytes, &mut self.rng),
            None => ready,
        };
        self.last_arrival
    }
}
