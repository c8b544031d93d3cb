//! Disciplines of other crates as one kind of [`Config`](crate::Config): a trait object that queues
//! tickets, while the packets wait in [`Custom`].

use crate::{ConfigError, DropReason, Packet, Queue, Stats};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;
use windlass_base::{BitRate, Ecn, Rng, Time};

/// The settings of a discipline from another crate, from which links build their queues;
/// [`Config::custom`](crate::Config::custom) wraps it.
pub trait QueueFactory: Debug + Send + Sync {
    /// Checks the settings, except those that depend on the link's rate.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    fn validate(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Builds an empty queue for a link of the given rate.
    ///
    /// # Errors
    ///
    /// A setting that cannot work, or that depends on a rate that is not given.
    fn build(&self, link: Option<BitRate>) -> Result<CustomQueue, ConfigError>;
}

/// A factory in a [`Config`](crate::Config). It equals only itself and its clones.
#[derive(Clone, Debug)]
pub struct CustomConfig(pub Arc<dyn QueueFactory>);

impl CustomConfig {
    /// Checks the settings, as [`QueueFactory::validate`].
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.0.validate()
    }

    /// Whether it may mark ECN-capable packets: nothing here forbids it.
    pub(crate) fn can_mark(&self) -> bool {
        true
    }
}

impl PartialEq for CustomConfig {
    fn eq(&self, other: &CustomConfig) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A handle that a custom discipline queues instead of a packet, which waits elsewhere. The
/// discipline thus handles one type of packet, whatever the link carries.
#[derive(Debug)]
pub struct Ticket {
    slot: u32,
    wire_bytes: u32,
    ecn: Ecn,
    flow_hash: u64,
}

impl Packet for Ticket {
    fn wire_bytes(&self) -> u32 {
        self.wire_bytes
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn flow_hash(&self) -> u64 {
        self.flow_hash
    }
}

/// A custom discipline, built for a link.
#[derive(Debug)]
pub struct CustomQueue(Box<dyn DynQueue>);

impl CustomQueue {
    /// Wraps an empty queue.
    pub fn new(queue: impl Queue<Ticket> + Debug + 'static) -> CustomQueue {
        CustomQueue(Box::new(queue))
    }
}

/// [`Queue`] as a trait object.
trait DynQueue: Debug {
    fn enqueue(
        &mut self,
        now: Time,
        ticket: Ticket,
        rng: &mut Rng,
        dropped: &mut dyn FnMut(Ticket, DropReason),
    );

    fn dequeue(
        &mut self,
        now: Time,
        rng: &mut Rng,
        dropped: &mut dyn FnMut(Ticket, DropReason),
    ) -> Option<Ticket>;

    fn len_packets(&self) -> usize;

    fn len_bytes(&self) -> u64;

    fn average_packets(&self) -> Option<f64>;

    fn stats(&self) -> &Stats;
}

impl<Q: Queue<Ticket> + Debug> DynQueue for Q {
    fn enqueue(
        &mut self,
        now: Time,
        ticket: Ticket,
        rng: &mut Rng,
        dropped: &mut dyn FnMut(Ticket, DropReason),
    ) {
        Queue::enqueue(self, now, ticket, rng, &mut |ticket, reason| dropped(ticket, reason));
    }

    fn dequeue(
        &mut self,
        now: Time,
        rng: &mut Rng,
        dropped: &mut dyn FnMut(Ticket, DropReason),
    ) -> Option<Ticket> {
        Queue::dequeue(self, now, rng, &mut |ticket, reason| dropped(ticket, reason))
    }

    fn len_packets(&self) -> usize {
        Queue::len_packets(self)
    }

    fn len_bytes(&self) -> u64 {
        Queue::len_bytes(self)
    }

    fn average_packets(&self) -> Option<f64> {
        Queue::average_packets(self)
    }

    fn stats(&self) -> &Stats {
        Queue::stats(self)
    }
}

/// A custom discipline, and the packets whose tickets it holds.
#[derive(Debug)]
pub struct Custom<P> {
    queue: Box<dyn DynQueue>,
    waiting: Waiting<P>,
}

impl<P: Packet> Custom<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    ///
    /// The error of [`QueueFactory::build`].
    pub fn new(config: &CustomConfig, link: Option<BitRate>) -> Result<Custom<P>, ConfigError> {
        let waiting = Waiting { slots: Vec::new(), free: Vec::new() };
        Ok(Custom { queue: config.0.build(link)?.0, waiting })
    }
}

impl<P: Packet> Queue<P> for Custom<P> {
    fn enqueue(
        &mut self,
        now: Time,
        packet: P,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) {
        let waiting = &mut self.waiting;
        let ticket = waiting.put(packet);
        self.queue.enqueue(now, ticket, rng, &mut |ticket, reason| {
            waiting.take(&ticket).into_iter().for_each(|packet| dropped(packet, reason));
        });
    }

    fn dequeue(
        &mut self,
        now: Time,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) -> Option<P> {
        let waiting = &mut self.waiting;
        let next = self.queue.dequeue(now, rng, &mut |ticket, reason| {
            waiting.take(&ticket).into_iter().for_each(|packet| dropped(packet, reason));
        });
        waiting.take(&next?)
    }

    fn len_packets(&self) -> usize {
        self.queue.len_packets()
    }

    fn len_bytes(&self) -> u64 {
        self.queue.len_bytes()
    }

    fn average_packets(&self) -> Option<f64> {
        self.queue.average_packets()
    }

    fn stats(&self) -> &Stats {
        self.queue.stats()
    }
}

/// Packets in reusable slots.
#[derive(Debug)]
struct Waiting<P> {
    slots: Vec<Option<P>>,
    free: Vec<u32>,
}

impl<P: Packet> Waiting<P> {
    fn put(&mut self, packet: P) -> Ticket {
        let (wire_bytes, ecn) = (packet.wire_bytes(), packet.ecn());
        let flow_hash = packet.flow_hash();
        let slot = self.free.pop().unwrap_or(self.slots.len() as u32);
        match self.slots.get_mut(slot as usize) {
            Some(empty) => *empty = Some(packet),
            None => self.slots.push(Some(packet)),
        }
        Ticket { slot, wire_bytes, ecn, flow_hash }
    }

    /// Takes the packet of a ticket, with the ECN field that the queue set. `None` if the ticket
    /// belongs to another queue.
    fn take(&mut self, ticket: &Ticket) -> Option<P> {
        let mut packet = self.slots.get_mut(ticket.slot as usize)?.take()?;
        self.free.push(ticket.slot);
        if packet.ecn() != ticket.ecn {
            packet.set_ecn(ticket.ecn);
        }
        Some(packet)
    }
}
