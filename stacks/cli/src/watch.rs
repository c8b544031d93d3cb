//! The record of a run for comparisons: the packets that leave each sender and that pass the shared link, the
//! connections, and the transfers.

use windlass_base::Time;
use windlass_sim::Recorder;
use windlass_sim::endpoint::{EndpointEvent, Side};
use windlass_sim::model::LinkDirection;
use windlass_sim::packet::Packet;
use windlass_tcp::Connection;

/// A packet on its way to the receiver.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Time,
    /// Bytes on the wire.
    pub(crate) bytes: u32,
}

/// The record of a run. Its links are those of a [`Bed`](crate::bed::Bed): one for each sender, then the shared one.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    shared: usize,
    /// Packets that left each sender.
    pub(crate) left: Vec<Vec<Sent>>,
    /// Packets that the shared link transmitted.
    pub(crate) passed: Vec<Sent>,
    /// When the first connection was established, as the sender sees it.
    pub(crate) connected: Option<Time>,
    /// When each transfer began and ended.
    pub(crate) transfers: Vec<(Time, Time)>,
}

impl Watch {
    pub(crate) fn new(senders: usize) -> Watch {
        Watch {
            shared: senders,
            left: vec![vec![]; senders],
            passed: vec![],
            connected: None,
            transfers: vec![],
        }
    }
}

impl Recorder for Watch {
    fn connection_established(&mut self, now: Time, _: usize, _: &Connection) {
        self.connected.get_or_insert(now);
    }

    fn transfer_done(&mut self, now: Time, _: usize, begun: Time, _: u64) {
        self.transfers.push((begun, now));
    }

    fn endpoint_event(&mut self, now: Time, _: usize, side: Side, event: &EndpointEvent) {
        match event {
            EndpointEvent::Connected if side == Side::Sender => {
                self.connected.get_or_insert(now);
            }
            EndpointEvent::TransferDone { begun, .. } => self.transfers.push((*begun, now)),
            _ => {}
        }
    }

    fn wants_packets(&self) -> bool {
        true
    }

    fn packet(&mut self, now: Time, direction: LinkDirection, packet: &Packet) {
        if direction.reverse {
            return;
        }
        let sent = Sent { at: now, bytes: packet.wire_bytes() };
        if direction.link == self.shared {
            self.passed.push(sent);
        } else if let Some(left) = self.left.get_mut(direction.link) {
            left.push(sent);
        }
    }
}
