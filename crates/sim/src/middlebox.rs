//! Middleboxes: functions of a node on the packets that pass it.

use crate::packet::Packet;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use windlass_base::{Rng, Time};

/// A function on the path: packets in, packets out. A node hosts any number of middleboxes in a
/// chain. Every packet that a link brings to the node passes all of them, whether the node is its
/// destination or not.
///
/// Packets that come out belong to a flow of the run, in either direction, and go on from this node
/// to their destination.
pub trait Middlebox {
    /// Processes an arriving packet. Appends the packets to forward to `out`, in order; appending none
    /// drops the packet.
    fn handle_packet(&mut self, now: Time, packet: Packet, out: &mut Vec<Packet>);

    /// When to call [`Middlebox::handle_timeout`]; `None` if no timer is set.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// Processes a due timer. Appends the packets to send to `out`.
    fn handle_timeout(&mut self, now: Time, out: &mut Vec<Packet>) {
        let _ = (now, out);
    }

    /// The box's counters by name, for the summary of a run. Default: none.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// Makes a middlebox for each run.
pub trait MiddleboxFactory: fmt::Debug + Send + Sync {
    /// The name of the kind in summaries.
    fn name(&self) -> &'static str;

    /// A middlebox that has seen no packet yet. Its `rng` is its own, and the
    /// same for the same seed of the run.
    fn build(&self, rng: Rng) -> Box<dyn Middlebox>;
}

impl<M: Middlebox + ?Sized> Middlebox for Box<M> {
    fn handle_packet(&mut self, now: Time, packet: Packet, out: &mut Vec<Packet>) {
        (**self).handle_packet(now, packet, out);
    }

    fn poll_timeout(&self) -> Option<Time> {
        (**self).poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time, out: &mut Vec<Packet>) {
        (**self).handle_timeout(now, out);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        (**self).counters()
    }
}

/// A shared middlebox, whose owner can read it after the run.
impl<M: Middlebox> Middlebox for Rc<RefCell<M>> {
    fn handle_packet(&mut self, now: Time, packet: Packet, out: &mut Vec<Packet>) {
        self.borrow_mut().handle_packet(now, packet, out);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.borrow().poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time, out: &mut Vec<Packet>) {
        self.borrow_mut().handle_timeout(now, out);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.borrow().counters()
    }
}
