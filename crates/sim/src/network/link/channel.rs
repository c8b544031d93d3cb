//! One direction of a link: a queue, a transmitter, and the packets in flight.

use super::decides_at_dequeue::DecidesAtDequeue;
use super::decides_at_enqueue::DecidesAtEnqueue;
use super::impairments::Fate;
use super::interface::Interface;
use super::propagation::EarlyPacket;
use super::queued_packet::QueuedPacket;
use super::varying::Varying;
use crate::model::{self, LinkDirection};
use crate::network::transit::Transit;
use crate::packet::Slot;
use crate::record::{Context, QueueRecord, Recorder};
use windlass_aqm::{ConfigError, Discipline, Queue, Red, Stats, disciplines};
use windlass_base::{Rng, Time};

/// The type of a channel, by when its queue decides.
macro_rules! channel {
    (enqueue, $queue:ty) => { DecidesAtEnqueue<$queue> };
    (dequeue, $queue:ty) => { DecidesAtDequeue<$queue> };
}

/// Offers a packet to a channel of the named kind.
macro_rules! offer {
    // RED is the usual queue of a bottleneck, and has a function of its own.
    (Red, $channel:ident, $($argument:expr),+) => { offer_red($channel, $($argument),+) };
    ($kind:ident, $channel:ident, $($argument:expr),+) => { $channel.offer($($argument),+) };
}

macro_rules! declare {
    ($(
        $(#[doc = $doc:literal])+
        $kind:ident($settings:ty) decides at $when:ident: |$config:ident, $rate:tt| $new:expr;
    )+) => {
        /// One direction of a link, by its queue. Its only pending event is the arrival of the first packet
        /// in flight.
        #[derive(Debug)]
        #[repr(u8)]
        pub(crate) enum Channel {
            $($kind(channel!($when, windlass_aqm::$kind<QueuedPacket>)),)+
            /// Any queue, on a link that changes over time: when a packet leaves is known once it is
            /// first.
            Varying(DecidesAtDequeue<Discipline<QueuedPacket>>),
        }

        /// Evaluates the expression for the channel's kind of queue.
        macro_rules! each {
            ($self:expr, $channel:ident => $call:expr) => {
                match $self {
                    $(Channel::$kind($channel) => $call,)+
                    Channel::Varying($channel) => $call,
                }
            };
        }

        impl Channel {
            /// A channel that does not change over time.
            fn constant(
                queue: Discipline<QueuedPacket>,
                interface: Interface,
                rng: Rng,
            ) -> Channel {
                match queue {
                    $(Discipline::$kind(queue) => Channel::$kind(
                        <channel!($when, windlass_aqm::$kind<QueuedPacket>)>::new(
                            queue, interface, rng,
                        ),
                    ),)+
                }
            }

            #[inline(never)]
            fn offer_aqm<R: Recorder>(
                &mut self,
                now: Time,
                packet: Slot,
                early: bool,
                transit: &mut Transit,
                cx: &mut Context<'_, R>,
            ) -> Option<Time> {
                match self {
                    $(Channel::$kind(channel) => {
                        offer!($kind, channel, now, packet, early, transit, cx)
                    })+
                    Channel::Varying(channel) => channel.offer(now, packet, early, transit, cx),
                }
            }
        }
    };
}

disciplines!(declare);

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
        let queue = spec.queue.build(spec.rate)?;
        let interface = Interface::new(direction, spec, impairments_rng, steady_from, watched);
        let Some(varying) = Varying::new(spec, variation_rng) else {
            return Ok(Channel::constant(queue, interface, queue_rng));
        };
        let channel = DecidesAtDequeue::new(queue, interface, queue_rng);
        Ok(Channel::Varying(channel.varying(Some(varying))))
    }

    /// Counters of its queue.
    pub(crate) fn stats(&self) -> &Stats {
        each!(self, channel => channel.queue.stats())
    }

    /// Packets that its queue marked, counted at the same moment as by their flows.
    pub(crate) fn marks(&self) -> u64 {
        each!(self, channel => channel.marks())
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

    /// True if packets can be delivered early from the channel: the arrival of a packet at the far end
    /// is known, and certain, as soon as the queue takes it.
    pub(crate) fn can_deliver_early(&self) -> bool {
        each!(self, channel => channel.can_deliver_early())
    }

    /// A packet arrives at the queue. With `early`, which requires [`Channel::can_deliver_early`],
    /// returns its arrival at the far end for an early delivery; otherwise schedules that arrival.
    #[inline]
    pub(crate) fn offer<R: Recorder>(
        &mut self,
        now: Time,
        packet: Slot,
        early: bool,
        transit: &mut Transit,
        cx: &mut Context<'_, R>,
    ) -> Option<Time> {
        match self {
            // Most channels have a plain queue.
            Channel::DropTail(channel) => channel.offer_plain(now, packet, early, transit, cx),
            // It does not go through the list of all kinds.
            Channel::Red(channel) => offer_red(channel, now, packet, early, transit, cx),
            _ => self.offer_aqm(now, packet, early, transit, cx),
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
        each!(self, channel => channel.take_arrival(now, transit, cx))
    }

    /// True if no packet is in flight.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        each!(self, channel => channel.interface.propagation.is_empty())
    }

    /// Schedules the arrival of a packet that is not delivered early after all.
    pub(crate) fn schedule_arrival<R>(&mut self, early: EarlyPacket, cx: &mut Context<'_, R>) {
        each!(self, channel => channel.interface.propagation.schedule_arrival(early, cx));
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
        each!(self, channel => {
            channel.advance(now, transit, cx);
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
    early: bool,
    transit: &mut Transit,
    cx: &mut Context<'_, R>,
) -> Option<Time> {
    channel.offer(now, packet, early, transit, cx)
}
