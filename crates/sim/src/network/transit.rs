//! The packets between the hosts: the slots that they lie in, and their complete form for
//! middleboxes and captures.

use super::captures::Captures;
use crate::model::{LinkDirection, NodeId};
use crate::packet::{Address, Body, InFlight, Packet, Packets, Slot};
use crate::packet::{IPV4_HEADER_BYTES, UDP_HEADER_BYTES};
use windlass_base::Time;

/// The packets in the network, and their captures.
#[derive(Debug, Default)]
pub(crate) struct Transit {
    pub(crate) packets: Packets,
    /// Sending and receiving host of each flow.
    pub(super) hosts: Vec<[NodeId; 2]>,
    /// Flows from this one on are UDP sources.
    pub(super) first_udp: u32,
    /// Flows from this one on are those of endpoints.
    pub(super) first_endpoint: u32,
    pub(super) captures: Captures,
}

/// The port that every receiver of a TCP connection and every receiving endpoint listens on.
const SERVER_PORT: u16 = 5001;
/// The port of UDP sinks: discard (RFC 863).
const DISCARD_PORT: u16 = 9;
/// The first sender's port; each connection has the next one.
const FIRST_CLIENT_PORT: u16 = 1024;

impl Transit {
    /// The complete packet, with addresses and ports.
    pub(super) fn view(&self, slot: Slot) -> Packet {
        let InFlight { to, flow, wire_bytes, ref run, .. } = *self.packets.get(slot);
        let (connection, reverse) = (to.connection(), to.is_reverse());
        let [source, destination] = self.ends(flow, connection, reverse);
        let body = if !to.is_tcp() {
            let headers = IPV4_HEADER_BYTES + UDP_HEADER_BYTES;
            let payload_bytes = wire_bytes.saturating_sub(headers);
            Body::Udp { payload_bytes, frame: self.packets.get(slot).frame() }
        } else {
            Body::Tcp(run.first)
        };
        Packet { flow, connection, reverse, source, destination, ecn: run.ecn, body }
    }

    /// Source and destination of a connection's packets, of a UDP source's or of an endpoint's.
    pub(super) fn ends(&self, flow: u32, connection: u32, reverse: bool) -> [Address; 2] {
        let ports = u32::from(u16::MAX - FIRST_CLIENT_PORT) + 1;
        let client_port = FIRST_CLIENT_PORT + (connection % ports) as u16;
        let [client_node, server_node] = self.hosts[flow as usize];
        let is_udp = flow >= self.first_udp && flow < self.first_endpoint;
        let server_port = if is_udp { DISCARD_PORT } else { SERVER_PORT };
        let client = Address { node: client_node, port: client_port };
        let server = Address { node: server_node, port: server_port };
        if reverse { [server, client] } else { [client, server] }
    }

    /// Records that a packet passes end `a` of a link at `at`.
    pub(super) fn capture(&mut self, at: Time, direction: LinkDirection, slot: Slot) {
        let packet = self.view(slot);
        self.captures.add(at, direction, packet);
    }
}
