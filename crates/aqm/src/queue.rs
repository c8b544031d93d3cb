//! The interface of every discipline.

use crate::{DropReason, Packet, Stats};
use windlass_base::{Rng, Time};

/// A queue in front of a link.
///
/// A queue passes each packet that it drops to `dropped`, with the reason: the arriving packet, or one
/// that it has taken, such as a packet that waited too long (CoDel). Every offered packet comes out
/// exactly once, through `dropped` or from `dequeue`.
pub trait Queue<P: Packet> {
    /// Enqueues a packet, perhaps with a mark, or drops it.
    fn enqueue(
        &mut self,
        now: Time,
        packet: P,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    );

    /// Takes the next packet for the link. `None` if no packet waits: the link is idle from then on.
    fn dequeue(
        &mut self,
        now: Time,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) -> Option<P>;

    /// [`Queue::enqueue`] followed by [`Queue::dequeue`], for a packet that finds the link free. Call it
    /// only while no packet waits.
    fn pass(
        &mut self,
        now: Time,
        packet: P,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) -> Option<P> {
        self.enqueue(now, packet, rng, dropped);
        self.dequeue(now, rng, dropped)
    }

    /// Number of packets that wait, without the one in transmission.
    fn len_packets(&self) -> usize;

    /// Number of bytes that wait, headers included.
    fn len_bytes(&self) -> u64;

    /// True if no packet waits.
    fn is_empty(&self) -> bool {
        self.len_packets() == 0
    }

    /// The averaged queue length in packets, of disciplines that keep one (RED).
    fn average_packets(&self) -> Option<f64> {
        None
    }

    /// Counters since the queue was created.
    fn stats(&self) -> &Stats;
}
