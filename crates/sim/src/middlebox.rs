//! Middleboxes: functions of a node on the packets that pass it.

use crate::packet::Packet;
use std::cell::RefCell;
use std::rc::Rc;
use windlass_base::Time;

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
}
