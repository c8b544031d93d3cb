//! The controllers of s2n-quic-core.

use crate::engine::{Foreign, OnEngine};
use crate::flight::Packet;
use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::random::Generator;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, RateSample};
use s2n_quic_core::recovery::bbr::BbrCongestionController;
use s2n_quic_core::recovery::congestion_controller::Publisher;
use s2n_quic_core::recovery::{CongestionController, CubicCongestionController, RttEstimator};
use s2n_quic_core::time::{Clock, NoopClock, Timestamp};
use std::fmt;
use std::time::Duration;
use windlass_base::{Rng, Span, Time};
use windlass_tcp::cc::{Controller, ControllerFactory, Params};

/// RFC 9002 section 6.2.2.
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// A controller of s2n-quic-core for the engine, with its default settings.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum S2nControl {
    /// CUBIC, its default.
    Cubic,
    /// BBR version 2.
    Bbr,
}

impl ControllerFactory for S2nControl {
    fn name(&self) -> &'static str {
        match self {
            S2nControl::Cubic => "cubic",
            S2nControl::Bbr => "bbr",
        }
    }

    fn paces(&self) -> bool {
        true
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        let mtu = u16::try_from(params.mss).unwrap_or(u16::MAX);
        match self {
            S2nControl::Cubic => {
                let controller = CubicCongestionController::new(mtu, Default::default());
                Box::new(OnEngine::new(OfS2n::new(controller), params.mss))
            }
            S2nControl::Bbr => {
                let controller = BbrCongestionController::new(mtu, Default::default());
                Box::new(OnEngine::new(OfS2n::new(controller), params.mss))
            }
        }
    }
}

struct OfS2n<C: CongestionController> {
    controller: C,
    rtt: RttEstimator,
    random: Seeded,
    published: Published,
}

impl<C: CongestionController> fmt::Debug for OfS2n<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OfS2n").field("controller", &self.controller).finish_non_exhaustive()
    }
}

impl<C: CongestionController> OfS2n<C> {
    fn new(controller: C) -> OfS2n<C> {
        OfS2n {
            controller,
            rtt: RttEstimator::new(INITIAL_RTT),
            random: Seeded(Rng::new(1)),
            published: Published::default(),
        }
    }
}

/// s2n-quic-core has no time zero.
fn timestamp(at: Time) -> Timestamp {
    NoopClock.get_time() + Duration::from_nanos(at.as_nanos())
}

impl<C: CongestionController> Foreign for OfS2n<C>
where
    C::PacketInfo: fmt::Debug,
{
    type Info = C::PacketInfo;

    fn sent(&mut self, now: Time, bytes: u64, _: u64, app_limited: bool) -> C::PacketInfo {
        let (at, limited) = (timestamp(now), Some(app_limited));
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.controller.on_packet_sent(at, bytes, limited, &self.rtt, &mut self.published)
    }

    fn rtt(&mut self, now: Time, sent: Time, sample: Span) {
        let sample = Duration::from_nanos(sample.as_nanos());
        let space = PacketNumberSpace::ApplicationData;
        self.rtt.update_rtt(Duration::ZERO, sample, timestamp(now), true, space);
        let (sent, now) = (timestamp(sent), timestamp(now));
        self.controller.on_rtt_update(sent, now, &self.rtt, &mut self.published);
    }

    fn acked(&mut self, now: Time, packets: &[Packet<C::PacketInfo>], _: bool) {
        let Some(newest) = packets.last() else { return };
        let bytes: u64 = packets.iter().map(|packet| packet.bytes).sum();
        self.controller.on_ack(
            timestamp(newest.sent),
            usize::try_from(bytes).unwrap_or(usize::MAX),
            newest.info,
            &self.rtt,
            &mut self.random,
            timestamp(now),
            &mut self.published,
        );
    }

    fn lost(&mut self, now: Time, packets: &[Packet<C::PacketInfo>], persistent: bool) {
        let mut before: Option<u64> = None;
        for packet in packets {
            let is_new_burst = before.is_none_or(|number| number + 1 != packet.number);
            before = Some(packet.number);
            self.controller.on_packet_lost(
                u32::try_from(packet.bytes).unwrap_or(u32::MAX),
                packet.info,
                persistent,
                is_new_burst,
                &mut self.random,
                timestamp(now),
                &mut self.published,
            );
        }
        if persistent {
            self.rtt.on_persistent_congestion();
        }
    }

    fn marked(&mut self, now: Time, _: u64) {
        self.controller.on_explicit_congestion(1, timestamp(now), &mut self.published);
    }

    fn mtu(&mut self, bytes: u16) {
        self.controller.on_mtu_update(bytes, &mut self.published);
    }

    fn window(&self) -> u64 {
        u64::from(self.controller.congestion_window())
    }

    fn ssthresh(&self) -> Option<u64> {
        None
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.published.pacing_rate
    }

    fn send_quantum(&self) -> Option<u64> {
        self.controller.send_quantum().map(|bytes| bytes as u64)
    }
}

/// The rate of which the controller tells its connection's subscribers.
#[derive(Debug, Default)]
struct Published {
    pacing_rate: Option<u64>,
}

impl Publisher for Published {
    fn on_slow_start_exited(&mut self, _: SlowStartExitCause, _: u32) {}

    fn on_delivery_rate_sampled(&mut self, _: RateSample) {}

    fn on_pacing_rate_updated(&mut self, rate: Bandwidth, _: u32, _: num_rational::Ratio<u64>) {
        self.pacing_rate = Some(rate.as_bytes_per_second());
    }

    fn on_bbr_state_changed(&mut self, _: BbrState) {}
}

/// Random bytes that are the same in each run.
struct Seeded(Rng);

impl Generator for Seeded {
    fn public_random_fill(&mut self, dest: &mut [u8]) {
        for byte in dest {
            *byte = self.0.bits() as u8;
        }
    }

    fn private_random_fill(&mut self, dest: &mut [u8]) {
        self.public_random_fill(dest);
    }
}
