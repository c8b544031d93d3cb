//! What a node may do to the packets that pass it.

use crate::packet::Packet;
use std::cell::RefCell;
use std::rc::Rc;
use windlass_base::Time;

/// A function on the path: packets in, packets out. A node hosts any number of them, one behind
/// the other; every packet that a link brings to the node goes through all of them, whether it is
/// for that node or goes on.
///
/// Packets that come out belong to a flow of the run, in either direction, and go on from this node
/// to their destination.
pub trait Middlebox {
    /// A packet arrives. What goes on, in order, is appended to `out`; nothing: it is dropped.
    fn handle_packet(&mut self, now: Time, packet: Packet, out: &mut Vec<Packet>);

    /// When [`Middlebox::handle_timeout`] is to be called; `None`: never, as things stand.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// The time has come. What is to be sent is appended to `out`.
    fn handle_timeout(&mut self, now: Time, out: &mut Vec<Packet>) {
        let _ = (now, out);
    }
}

/// A middlebox that its maker can look into when the run is over.
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
