use crate::{DropReason, Packet, Stats};
use windlass_base::{Rng, Time};

/// A queue in front of a link.
///
/// What is lost goes to `dropped`, with the reason: the arriving packet, one that waited too long
/// (CoDel), or a packet of a fatter flow (FQ-CoDel). Every packet offered comes out exactly once,
/// there or from `dequeue`.
pub trait Queue<P: Packet> {
    /// Takes a packet, marks it, or loses it.
    fn enqueue(
        &mut self,
        now: Time,
        packet: P,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    );

    /// The next packet for the link; `None` if nothing waits, with which the link falls idle.
    fn dequeue(
        &mut self,
        now: Time,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) -> Option<P>;

    /// A packet arrives, and the link is free: [`Queue::enqueue`], and [`Queue::dequeue`] at once. To
    /// be called only while nothing waits.
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

    /// Packets that wait; the one on the link is not among them.
    fn len_packets(&self) -> usize;

    /// Bytes that wait.
    fn len_bytes(&self) -> u64;

    /// True if nothing waits.
    fn is_empty(&self) -> bool {
        self.len_packets() == 0
    }

    /// The averaged queue length in packets, of disciplines that keep one (RED).
    fn average_packets(&self) -> Option<f64> {
        None
    }

    /// What happened so far.
    fn stats(&self) -> &Stats;
}
