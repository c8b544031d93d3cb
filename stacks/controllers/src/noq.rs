//! The controllers of noq-proto.

use crate::engine::{Foreign, OnEngine};
use crate::flight::Packet;
use crate::noq_rtt::Estimator;
use crate::pacer;
use noq_proto::RttEstimator;
use noq_proto::congestion::{
    Bbr3Config, Controller as Noq, ControllerFactory as Factory, CubicConfig, NewRenoConfig,
};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use windlass_base::{Span, Time};
use windlass_stacks_seeded::on_seeded_thread;
use windlass_tcp::cc::{Controller, ControllerFactory, NoControl, Params};

/// The seed of a controller's draws.
const SEED: u64 = 1;

/// A controller of noq-proto for the engine, with its default settings.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum NoqControl {
    /// CUBIC, its default.
    Cubic,
    /// New Reno.
    NewReno,
    /// BBR version 3.
    Bbr3,
}

impl ControllerFactory for NoqControl {
    fn name(&self) -> &'static str {
        match self {
            NoqControl::Cubic => "cubic",
            NoqControl::NewReno => "newreno",
            NoqControl::Bbr3 => "bbr3",
        }
    }

    fn paces(&self) -> bool {
        true
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        let (epoch, mtu) = (Instant::now(), u16::try_from(params.mss).unwrap_or(u16::MAX));
        // BBR draws its generator's seed from the system, unless its thread has one.
        let controller = on_seeded_thread(SEED, || match self {
            NoqControl::Cubic => Arc::new(CubicConfig::default()).build(epoch, mtu),
            NoqControl::NewReno => Arc::new(NewRenoConfig::default()).build(epoch, mtu),
            NoqControl::Bbr3 => Arc::new(Bbr3Config::default()).build(epoch, mtu),
        });
        match Estimator::new(epoch) {
            Some(estimator) => {
                let noq = OfNoq { controller, estimator, epoch, rtt: None, last: None };
                Box::new(OnEngine::new(noq, params.mss))
            }
            // Not with any version that there is: its window, which never moves, fails every case.
            None => NoControl.build(params),
        }
    }
}

struct OfNoq {
    controller: Box<dyn Noq>,
    estimator: Estimator,
    /// The engine's time zero.
    epoch: Instant,
    rtt: Option<RttEstimator>,
    last: Option<Span>,
}

impl fmt::Debug for OfNoq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OfNoq").field("window", &self.controller.window()).finish_non_exhaustive()
    }
}

impl OfNoq {
    fn instant(&self, at: Time) -> Instant {
        self.epoch + Duration::from_nanos(at.as_nanos())
    }
}

impl Foreign for OfNoq {
    type Info = ();

    fn sent(&mut self, now: Time, bytes: u64, number: u64, _: bool) {
        let now = self.instant(now);
        self.controller.on_packet_sent(now, u16::try_from(bytes).unwrap_or(u16::MAX), number);
        self.controller.on_sent(now, bytes, number);
    }

    fn rtt(&mut self, _: Time, _: Time, sample: Span) {
        let rtt = Duration::from_nanos(sample.as_nanos());
        let is_settled = self.rtt.is_some_and(|known| known.get() == rtt && known.min() <= rtt);
        // The same sample again changes nothing that a controller sees.
        if !(is_settled && self.last == Some(sample)) {
            self.rtt = self.estimator.sample(rtt).or(self.rtt);
        }
        self.last = Some(sample);
    }

    fn acked(&mut self, now: Time, packets: &[Packet<()>], app_limited: bool) {
        let Some(rtt) = self.rtt else { return };
        let now = self.instant(now);
        for packet in packets {
            let sent = self.instant(packet.sent);
            self.controller.on_ack(now, sent, packet.bytes, packet.number, app_limited, &rtt);
        }
    }

    fn end_of_acks(&mut self, now: Time, in_flight: u64, app_limited: bool, largest: u64) {
        self.controller.on_end_acks(self.instant(now), in_flight, app_limited, Some(largest));
    }

    fn lost(&mut self, now: Time, packets: &[Packet<()>], persistent: bool) {
        let now = self.instant(now);
        for packet in packets {
            let bytes = u16::try_from(packet.bytes).unwrap_or(u16::MAX);
            self.controller.on_packet_lost(bytes, packet.number, now);
        }
        let bytes = packets.iter().map(|packet| packet.bytes).sum();
        if let Some(newest) = packets.iter().max_by_key(|packet| packet.number) {
            let (sent, number) = (self.instant(newest.sent), newest.number);
            self.controller.on_congestion_event(now, sent, persistent, false, bytes, number);
        }
    }

    fn marked(&mut self, now: Time, newest: u64) {
        let now = self.instant(now);
        self.controller.on_congestion_event(now, now, false, true, 0, newest);
    }

    fn needless(&mut self) {
        self.controller.on_spurious_congestion_event();
    }

    fn mtu(&mut self, bytes: u16) {
        self.controller.on_mtu_update(bytes);
    }

    fn window(&self) -> u64 {
        self.controller.window()
    }

    fn ssthresh(&self) -> Option<u64> {
        self.controller.metrics().ssthresh
    }

    fn pacing_rate(&self) -> Option<u64> {
        let own = self.controller.metrics().pacing_rate;
        own.or_else(|| Some(pacer::rate(self.window(), self.ssthresh(), self.rtt?.get())))
    }

    fn send_quantum(&self) -> Option<u64> {
        self.controller.metrics().send_quantum
    }
}
