//! The middleboxes of a node, which a packet that passes the node meets one after the other.

use crate::middlebox::Middlebox;
use crate::model::NodeId;
use crate::packet::{Body, Packet};
use std::collections::BTreeMap;
use windlass_base::{Span, Time};

/// The middleboxes of a node, in order.
pub(crate) struct Chain {
    pub(crate) node: NodeId,
    pub(crate) boxes: Vec<Box<dyn Middlebox>>,
    /// Where packets of each flow and direction go on from here.
    pub(crate) entries: Vec<Option<u32>>,
    /// When the pending event is due; [`Time::MAX`] without one.
    pub(crate) armed: Time,
    /// The packets that came out last.
    pub(crate) out: Vec<Packet>,
    /// Spare room while packets go from one box to the next.
    next: Vec<Packet>,
    /// Bytes of the datagrams that came in last. Middleboxes see none, and may hold packets back or copy them.
    held: BTreeMap<DatagramId, Vec<u8>>,
}

/// Flow, direction and number of a datagram.
type DatagramId = (u32, bool, u64);

/// Datagrams whose bytes a chain keeps, of each flow and direction.
const HELD_MAX: u64 = 4096;

impl Chain {
    pub(crate) fn new(node: NodeId, entries: Vec<Option<u32>>) -> Chain {
        Chain {
            node,
            boxes: vec![],
            entries,
            armed: Time::MAX,
            out: vec![],
            next: vec![],
            held: BTreeMap::new(),
        }
    }

    /// A packet goes through the chain, into [`Chain::out`].
    pub(crate) fn pass(&mut self, now: Time, packet: Packet) {
        self.out.clear();
        self.out.push(packet);
        for position in 0..self.boxes.len() {
            self.pass_box(now, position);
        }
    }

    /// Keeps the bytes of a datagram that comes in.
    pub(crate) fn hold(&mut self, packet: &Packet, payload: Vec<u8>) {
        let Some((flow, reverse, number)) = datagram_id(packet) else { return };
        self.held.insert((flow, reverse, number), payload);
        let oldest = (flow, reverse, 0)..(flow, reverse, number.saturating_sub(HELD_MAX));
        while let Some(id) = self.held.range(oldest.clone()).next().map(|(id, _)| *id) {
            self.held.remove(&id);
        }
    }

    /// The bytes of a datagram that goes out; none if it was held back behind many others.
    pub(crate) fn payload(&self, packet: &Packet) -> Vec<u8> {
        let held = datagram_id(packet).and_then(|id| self.held.get(&id));
        held.cloned().unwrap_or_default()
    }

    /// Calls the middleboxes that are due. Their packets pass the middleboxes behind them, into
    /// [`Chain::out`].
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.out.clear();
        for position in 0..self.boxes.len() {
            self.pass_box(now, position);
            let middlebox = &mut self.boxes[position];
            if middlebox.poll_timeout().is_some_and(|due| due <= now) {
                middlebox.handle_timeout(now, &mut self.out);
            }
        }
    }

    /// When an event must be scheduled, which then counts as pending; `None` if none is needed.
    pub(crate) fn arm(&mut self, now: Time) -> Option<Time> {
        let due = self.boxes.iter().filter_map(|middlebox| middlebox.poll_timeout()).min()?;
        // A middlebox that asks again at once must not stop the clock.
        let due = due.max(now + Span::from_nanos(1));
        if due >= self.armed {
            return None;
        }
        self.armed = due;
        Some(due)
    }

    fn pass_box(&mut self, now: Time, position: usize) {
        for packet in self.out.drain(..) {
            self.boxes[position].handle_packet(now, packet, &mut self.next);
        }
        std::mem::swap(&mut self.out, &mut self.next);
    }
}

fn datagram_id(packet: &Packet) -> Option<DatagramId> {
    match packet.body {
        Body::Udp { frame, .. } => Some((packet.flow, packet.reverse, frame)),
        Body::Tcp(_) => None,
    }
}

impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chain").field("node", &self.node).field("boxes", &self.boxes.len()).finish()
    }
}
