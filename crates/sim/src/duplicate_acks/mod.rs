//! The proxy of Sprenger 2016 as a middlebox: three duplicate ACKs tell a sender without ECN of a
//! mark. It stands beside Windlass's own proxy for comparison only.

mod machine;

use crate::middlebox::Middlebox;
use crate::model::DuplicateAcks;
use crate::packet::{Body, NodeId, Packet};
use machine::Connection;
use windlass_base::Time;

pub use machine::DuplicateAckCounters;

/// A proxy between some hosts and all others.
#[derive(Debug)]
pub(crate) struct DuplicateAckProxy {
    variant: DuplicateAcks,
    /// The hosts on one of its two sides.
    served: Vec<NodeId>,
    /// The connections, by their number.
    connections: Vec<Connection>,
    counters: DuplicateAckCounters,
}

impl DuplicateAckProxy {
    /// A proxy with the hosts `served` on one side.
    pub(crate) fn new(variant: DuplicateAcks, served: &[NodeId]) -> DuplicateAckProxy {
        let counters = DuplicateAckCounters::default();
        DuplicateAckProxy { variant, served: served.to_vec(), connections: vec![], counters }
    }

    /// The counters so far.
    pub(crate) fn counters(&self) -> &DuplicateAckCounters {
        &self.counters
    }

    fn stands_between(&self, packet: &Packet) -> bool {
        let is_served = |node| self.served.contains(&node);
        is_served(packet.source.node) != is_served(packet.destination.node)
    }
}

impl Middlebox for DuplicateAckProxy {
    fn handle_packet(&mut self, _now: Time, mut packet: Packet, out: &mut Vec<Packet>) {
        if self.stands_between(&packet)
            && let Body::Tcp(segment) = &mut packet.body
        {
            let number = packet.connection as usize;
            if number >= self.connections.len() {
                self.connections.resize(number + 1, Connection::default());
            }
            let connection = &mut self.connections[number];
            let header = (segment, &mut packet.ecn);
            connection.handle(self.variant, packet.reverse, header, &mut self.counters);
        }
        out.push(packet);
    }
}
