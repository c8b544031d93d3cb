//! A link between two nodes: two [`Channel`]s, one for each direction.
//!
//! A packet passes the parts of a channel in this order:
//!
//! 1. **Queue.** [`Channel::offer`] gives the packet to a queue of `windlass-aqm`, as a
//!    [`QueuedPacket`](queued_packet::QueuedPacket). The list of disciplines in `windlass-aqm` says
//!    which drop or mark at enqueue ([`decides_at_enqueue`]), and which at dequeue
//!    ([`decides_at_dequeue`]).
//! 2. **Transmitter** ([`transmitter`]). The device dequeues the packet and serializes it at the
//!    channel's rate.
//! 3. **Impairments** ([`impairments`]). The packet may be lost, or delayed for reordering.
//! 4. **Propagation** ([`propagation`]). The packet takes the channel's delay to the far end. The
//!    arrival of the first packet in flight is the only event that a channel has pending.
//!
//! A link that changes over time ([`varying`]) takes parts 2 and 4 from `windlass-link-model`, and may
//! have a policer before the queue. Whatever its queue, it works as one that decides at dequeue.
//!
//! [`interface`] holds the transmitter and the propagation, and reports the queue's length.

mod channel;
mod decides_at_dequeue;
mod decides_at_enqueue;
mod impairments;
mod interface;
mod propagation;
mod queued_packet;
mod transmitter;
mod varying;

pub(crate) use channel::Channel;
pub(crate) use impairments::Fate;
pub(crate) use propagation::EarlyPacket;
