//! One direction of a link: a queue, a transmitter, and the packets in flight.

use super::decides_at_dequeue::DecidesAtDequeue;
use super::decides_at_enqueue::DecidesAtEnqueue;
use super::impairments::Fate;
use super::interface::Interface;
use super::propagation::HandedOver;
use super::queued_packet::QueuedPacket;
use super::varying::Varying;
use crate::network::transit::Transit;
use crate::packet::Slot;
use crate::record::{Context, QueueRecord, Recorder};
use crate::scenario::model::{self, LinkDirection};
use windlass_aqm::{
    CoDel, Config, ConfigError, Custom, Discipline, DropTail, FixedProbability, FqCoDel, Pie,
    Queue, Red, Sred, Stats, TcRed,
};
use windlass_base::{Rng, Time};

/// One direction of a link, by its queue. Its only pending event is the arrival of the first packet in
/// flight.
#[derive(Debug)]
#[repr(u8)]
pub(crate) enum Channel {
    DropTail(DecidesAtEnqueue<DropTail<QueuedPacket>>),
    Red(DecidesAtEnqueue<Red<QueuedPacket>>),
    Pie(DecidesAtEnqueue<Pie<QueuedPacket>>),
    FixedProbability(DecidesAtEnqueue<FixedProbability<QueuedPacket>>),
    Sred(DecidesAtEnqueue<Sred<QueuedPacket>>),
    TcRed(DecidesAtEnqueue<TcRed<QueuedPacket>>),
    CoDel(DecidesAtDequeue<CoDel<QueuedPacket>>),
    FqCoDel(DecidesAtDequeue<FqCoDel<QueuedPacket>>),
    Custom(DecidesAtDequeue<Custom<QueuedPacket>>),
    /// Any queue, on a link that changes over time: when a packet leaves is known once it is first.
    Varying(DecidesAtDequeue<Discipline<QueuedPacket>>),
}

/// Evaluates the expression for the channel's kind of queue.
macro_rules! each {
    ($self:expr, $channel:ident => $call:expr) => {
        match $self {
            Channel::DropTail($channel) => $call,
            Channel::Red($channel) => $call,
            Channel::Pie($channel) => $call,
            Channel::FixedProbability($channel) => $call,
            Channel::Sred($channel) => $call,
            Channel::TcRed($channel) => $call,
            Channel::CoDel($channel) => $call,
            Channel::FqCoDel($channel) => $call,
            Channel::Custom($channel) => $call,
            Channel::Varying($channel) => $call,
        }
    };
}

impl Channel {
    pub(crate) fn new(
        direction: LinkDirection,
        spec: &model::Channel,
        queue_rng: Rng,
        impairments_rng: Rng,
        variation_rng: Rng,
        steady_from: Time,
        watched: bool,
    ) -> Result<Channel, ConfigError> {
        let interface = Interface::new(direction, spec, impairments_rng, steady_from, watched);
        let rng = queue_rng;
        if let Some(varying) = Varying::new(spec, variation_rng) {
            let queue = spec.queue.build(spec.rate)?;
            let channel = DecidesAtDequeue::new(queue, interface, rng);
            return Ok(Channel::Varying(channel.varying(Some(varying))));
        }
        Ok(match &spec.queue {
            Config::DropTail(c) => {
                Channel::DropTail(DecidesAtEnqueue::new(DropTail::new(*c)?, interface, rng))
            }
            Config::Red(c) => {
                Channel::Red(DecidesAtEnqueue::new(Red::new(*c, spec.rate)?, interface, rng))
            }
            Config::Pie(c) => Channel::Pie(DecidesAtEnqueue::new(Pie::new(*c)?, interface, rng)),
            Config::FixedProbability(c) => {
                let queue = FixedProbability::new(*c)?;
                Channel::FixedProbability(DecidesAtEnqueue::new(queue, interface, rng))
            }
            Config::Sred(c) => Channel::Sred(DecidesAtEnqueue::new(Sred::new(*c)?, interface, rng)),
            Config::TcRed(c) => {
                Channel::TcRed(DecidesAtEnqueue::new(TcRed::new(*c)?, interface, rng))
            }
            Config::CoDel(c) => {
                Channel::CoDel(DecidesAtDequeue::new(CoDel::new(*c)?, interface, rng))
            }
            Config::FqCoDel(c) => {
                Channel::FqCoDel(DecidesAtDequeue::new(FqCoDel::new(*c)?, interface, rng))
            }
            Config::Custom(c) => {
                Channel::Custom(DecidesAtDequeue::new(Custom::new(c, spec.rate)?, interface, rng))
            }
        })
    }

    /// Counters of its queue.
    pub(crate) fn stats(&self) -> &Stats {
        each!(self, channel => channel.queue.stats())
    }

    /// Packets that its policer dropped; `None` without one.
    pub(crate) fn policed(&self) -> Option<u64> {
        match self {
            Channel::Varying(channel) => channel.policed(),
            _ => None,
        }
    }

    /// Length of its queue over time, if the run reports it.
    pub(crate) fn record(&self) -> Option<&QueueRecord> {
        each!(self, channel => channel.interface.record.as_deref())
    }

    /// True if the channel can hand packets over: the arrival of a packet at the far end is known, and
    /// certain, as soon as the queue takes it.
    pub(crate) fn can_hand_over(&self) -> bool {
        match self {
            Channel::DropTail(_)
            | Channel::Red(_)
            | Channel::Pie(_)
            | Channel::FixedProbability(_)
            | Channel::Sred(_)
            | Channel::TcRed(_) => {
                each!(self, channel => channel.interface.propagation.is_perfect())
            }
            Channel::CoDel(_) | Channel::FqCoDel(_) | Channel::Custom(_) | Channel::Varying(_) => {
                false
            }
        }
    }

    /// A packet arrives at the queue. With `hand_over`, which requires
    /// [`Channel::can_hand_over`], returns its arrival at the far end; otherwise schedules that arrival.
    #[inline]
    pub(crate) fn offer<R: Recorder>(
        &mut self,
        now: Time,
        packet: Slot,
        hand_over: bool,
        transit: &mut Transit,
        cx: &mut Context<'_, R>,
    ) -> Option<Time> {
        match self {
            // Most channels have a plain queue.
            Channel::DropTail(channel) => channel.offer(now, packet, hand_over, transit, cx),
            // RED is the usual queue of a bottleneck; it does not go through the list below.
            Channel::Red(channel) => offer_red(channel, now, packet, hand_over, transit, cx),
            _ => self.offer_aqm(now, packet, hand_over, transit, cx),
        }
    }

    #[inline(never)]
    fn offer_aqm<R: Recorder>(
        &mut self,
        now: Time,
        packet: Slot,
        hand_over: bool,
        transit: &mut Transit,
        cx: &mut Context<'_, R>,
    ) -> Option<Time> {
        match self {
            Channel::DropTail(channel) => channel.offer(now, packet, hand_over, transit, cx),
            Channel::Red(channel) => offer_red(channel, now, packet, hand_over, transit, cx),
            Channel::Pie(channel) => channel.offer(now, packet, hand_over, transit, cx),
            Channel::FixedProbability(channel) => {
                channel.offer(now, packet, hand_over, transit, cx)
            }
            Channel::Sred(channel) => channel.offer(now, packet, hand_over, transit, cx),
            Channel::TcRed(channel) => channel.offer(now, packet, hand_over, transit, cx),
            Channel::CoDel(channel) => {
                channel.offer(now, packet, transit, cx);
                None
            }
            Channel::FqCoDel(channel) => {
                channel.offer(now, packet, transit, cx);
                None
            }
            Channel::Custom(channel) => {
                channel.offer(now, packet, transit, cx);
                None
            }
            Channel::Varying(channel) => {
                channel.offer(now, packet, transit, cx);
                None
            }
        }
    }

    /// Takes the first packet in flight, which is due; true if it arrives on time. Otherwise
    /// [`Channel::take_mishap`] returns its fate.
    #[inline]
    pub(crate) fn take_arrival<R: Recorder>(
        &mut self,
        now: Time,
        transit: &mut Transit,
        cx: &mut Context<'_, R>,
    ) -> Option<(Slot, bool)> {
        match self {
            Channel::DropTail(channel) => channel.interface.propagation.take_arrival(cx),
            Channel::Red(channel) => channel.interface.propagation.take_arrival(cx),
            Channel::Pie(channel) => channel.interface.propagation.take_arrival(cx),
            Channel::FixedProbability(channel) => channel.interface.propagation.take_arrival(cx),
            Channel::Sred(channel) => channel.interface.propagation.take_arrival(cx),
            Channel::TcRed(channel) => channel.interface.propagation.take_arrival(cx),
            Channel::CoDel(channel) => channel.take_arrival(now, transit, cx),
            Channel::FqCoDel(channel) => channel.take_arrival(now, transit, cx),
            Channel::Custom(channel) => channel.take_arrival(now, transit, cx),
            Channel::Varying(channel) => channel.take_arrival(now, transit, cx),
        }
    }

    /// True if no packet is in flight.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        each!(self, channel => channel.interface.propagation.is_empty())
    }

    /// Takes back a packet that was handed over but needs an event at its arrival.
    pub(crate) fn take_back<R>(&mut self, handed: HandedOver, cx: &mut Context<'_, R>) {
        each!(self, channel => channel.interface.propagation.take_back(handed, cx));
    }

    /// The fate of the packet that [`Channel::take_arrival`] returned last as not on time.
    pub(crate) fn take_mishap(&mut self) -> Option<Fate> {
        each!(self, channel => channel.interface.propagation.take_mishap())
    }

    /// Counts the time up to the end of the run.
    pub(crate) fn finish<R: Recorder>(
        &mut self,
        now: Time,
        transit: &mut Transit,
        cx: &mut Context<'_, R>,
    ) {
        match self {
            Channel::DropTail(channel) => channel.advance(now, cx),
            Channel::Red(channel) => channel.advance(now, cx),
            Channel::Pie(channel) => channel.advance(now, cx),
            Channel::FixedProbability(channel) => channel.advance(now, cx),
            Channel::Sred(channel) => channel.advance(now, cx),
            Channel::TcRed(channel) => channel.advance(now, cx),
            Channel::CoDel(channel) => channel.advance(now, transit, cx),
            Channel::FqCoDel(channel) => channel.advance(now, transit, cx),
            Channel::Custom(channel) => channel.advance(now, transit, cx),
            Channel::Varying(channel) => channel.advance(now, transit, cx),
        }
        each!(self, channel => {
            if let Some(record) = &mut channel.interface.record {
                record.finish(now);
            }
        });
    }
}

#[inline(never)]
fn offer_red<R: Recorder>(
    channel: &mut DecidesAtEnqueue<Red<QueuedPacket>>,
    now: Time,
    packet: Slot,
    hand_over: bool,
    transit: &mut Transit,
    cx: &mut Context<'_, R>,
) -> Option<Time> {
    channel.offer(now, packet, hand_over, transit, cx)
}
