use crate::{ConfigError, DropReason, Packet, Queue, Stats};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;
use windlass_base::{BitRate, Ecn, Rng, Time};

/// A discipline of a crate of your own and its settings; [`Config::Custom`](crate::Config::Custom)
/// takes it to a link.
pub trait QueueFactory: Debug + Send + Sync {
    /// Checks the settings as far as that is possible without the link's rate.
    fn validate(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    /// An empty queue for a link of the given rate.
    fn build(&self, link: Option<BitRate>) -> Result<CustomQueue, ConfigError>;
}

/// A factory in a [`Config`](crate::Config). Equal to itself and its clones alone.
#[derive(Clone, Debug)]
pub struct CustomConfig(pub Arc<dyn QueueFactory>);

impl PartialEq for CustomConfig {
    fn eq(&self, other: &CustomConfig) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What a discipline of your own holds in the place of a packet, which waits elsewhere: so that its
/// code knows one type of packet, whatever the link carries.
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

/// A discipline of your own, ready for a link.
#[derive(Debug)]
pub struct CustomQueue(Box<dyn DynQueue>);

impl CustomQueue {
    /// Takes the queue, empty.
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

/// A discipline of a crate of your own, and the packets that it holds the tickets of.
#[derive(Debug)]
pub struct Custom<P> {
    queue: Box<dyn DynQueue>,
    waiting: Waiting<P>,
}

impl<P: Packet> Custom<P> {
    /// An empty queue. The error is the factory's.
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

/// Packets in slots that are used again.
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

    /// The packet of a ticket, with the ECN field that the queue gave it. `None` for the ticket of
    /// another link's queue.
    fn take(&mut self, ticket: &Ticket) -> Option<P> {
        let mut packet = self.slots.get_mut(ticket.slot as usize)?.take()?;
        self.free.push(ticket.slot);
        if packet.ecn() != ticket.ecn {
            packet.set_ecn(ticket.ecn);
        }
        Some(packet)
    }
}
