//! The engine's events as those of a QUIC stack.

use crate::flight::{Flight, Packet};
use std::fmt;
use windlass_base::{Span, Time};
use windlass_tcp::cc::{
    Ack, Congestion, CongestionCause, Controller, Delivery, Lost, RepairEnd, Sent,
};

/// A controller of a QUIC stack, as its connection would call it.
pub(crate) trait Foreign: fmt::Debug + Send {
    /// The state that it keeps for each packet.
    type Info: Copy + fmt::Debug + Send;

    /// A packet is sent.
    fn sent(&mut self, now: Time, bytes: u64, number: u64, app_limited: bool) -> Self::Info;

    /// An RTT sample, of a packet that was sent then.
    fn rtt(&mut self, now: Time, sent: Time, sample: Span);

    /// Packets were delivered, or parts of them.
    fn acked(&mut self, now: Time, packets: &[Packet<Self::Info>], app_limited: bool);

    /// All that an ACK delivers was reported.
    fn end_of_acks(&mut self, _now: Time, _in_flight: u64, _app_limited: bool, _largest: u64) {}

    /// Packets are lost. `persistent`: a timeout has found it, which is what persistent congestion stands for (RFC
    /// 9002 section 7.6).
    fn lost(&mut self, now: Time, packets: &[Packet<Self::Info>], persistent: bool);

    /// A window of data has a mark.
    fn marked(&mut self, now: Time, newest: u64);

    /// The last reduction was needless.
    fn needless(&mut self) {}

    /// The largest datagram changes.
    fn mtu(&mut self, bytes: u16);

    /// The congestion window in bytes.
    fn window(&self) -> u64;

    /// In bytes, where it shows it.
    fn ssthresh(&self) -> Option<u64>;

    /// In bytes per second, where it has one.
    fn pacing_rate(&self) -> Option<u64>;

    /// In bytes, where it has one.
    fn send_quantum(&self) -> Option<u64> {
        None
    }
}

/// A foreign controller as one of the engine.
#[derive(Debug)]
pub(crate) struct OnEngine<F: Foreign> {
    foreign: F,
    mss: u64,
    flight: Flight<F::Info>,
    /// Losses of which it is not known yet whether a timeout found them.
    losses: Vec<Packet<F::Info>>,
}

impl<F: Foreign> OnEngine<F> {
    pub(crate) fn new(foreign: F, mss: u32) -> OnEngine<F> {
        OnEngine { foreign, mss: u64::from(mss), flight: Flight::default(), losses: Vec::new() }
    }

    fn report_losses(&mut self, now: Time, persistent: bool) {
        if !self.losses.is_empty() {
            self.foreign.lost(now, &self.losses, persistent);
            self.losses.clear();
        }
    }
}

impl<F: Foreign> Controller for OnEngine<F> {
    fn cwnd(&self) -> f64 {
        self.foreign.window().max(self.mss) as f64
    }

    fn ssthresh(&self) -> u64 {
        self.foreign.ssthresh().unwrap_or(u64::MAX)
    }

    fn on_ack(&mut self, _: &Ack) {}

    fn on_congestion(&mut self, congestion: &Congestion) {
        let now = congestion.now;
        self.report_losses(now, congestion.cause == CongestionCause::Timeout);
        if congestion.cause == CongestionCause::Ecn {
            self.foreign.marked(now, self.flight.next().saturating_sub(1));
        }
    }

    /// Pacing takes the place of a restart (RFC 9002 section 7.8).
    fn on_idle_restart(&mut self, _: u64) {}

    fn on_mss_change(&mut self, mss: u32) {
        self.mss = u64::from(mss);
        self.foreign.mtu(u16::try_from(mss).unwrap_or(u16::MAX));
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.foreign.pacing_rate()
    }

    fn send_quantum(&self) -> Option<u64> {
        self.foreign.send_quantum()
    }

    fn reduces_by_itself(&self) -> bool {
        true
    }

    fn needs_rates(&self) -> bool {
        true
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.report_losses(sent.now, false);
        let mut left = sent.bytes;
        while left > 0 {
            let bytes = left.min(self.mss);
            let (now, number) = (sent.now, self.flight.next());
            let info = self.foreign.sent(now, bytes, number, sent.is_app_limited);
            self.flight.push(now, bytes, info);
            left -= bytes;
        }
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.losses.extend(self.flight.lose(lost.sent, lost.bytes));
    }

    fn on_delivery(&mut self, delivery: &Delivery) {
        let now = delivery.now;
        let packets = self.flight.deliver(delivery.delivered);
        if let (Some(newest), Some(rtt)) = (packets.last(), delivery.rtt) {
            self.foreign.rtt(now, newest.sent, rtt);
        }
        let app_limited = delivery.sample.is_some_and(|sample| sample.is_app_limited);
        if let Some(newest) = packets.last() {
            let number = newest.number;
            self.foreign.acked(now, &packets, app_limited);
            self.foreign.end_of_acks(now, delivery.in_flight, app_limited, number);
        }
        self.report_losses(now, false);
    }

    fn on_repair_end(&mut self, end: RepairEnd) {
        if end == RepairEnd::Needless {
            self.foreign.needless();
        }
    }
}
