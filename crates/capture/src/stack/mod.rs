//! The stack that ends the command's connections: packets in, packets out, connections as values.
//!
//! It ends TCP connections to any destination address. A SYN becomes [`Event::Connect`] and is
//! answered only after [`Stack::accept`] or [`Stack::refuse`]. DNS queries to the forwarder's address
//! become [`Event::Query`], over UDP and TCP. Everything else is answered by ICMP at once.

mod config;
mod flow;
mod names;
mod open;
mod table;
mod tcp_names;
#[cfg(test)]
mod tests;

pub use crate::packet::{Packet, PartialChecksum};
pub use config::{Config, Refusal};
pub use flow::FlowId;

use crate::icmp::{self, Unreachable};
use crate::packet::{self, Ends, HEAD_LEN_MAX, Incoming, Outgoing};
use flow::Phase;
use names::Names;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use table::Table;
use windlass_base::{Ecn, Rng, Time};
use windlass_tcp::Segment;

/// Packets that answer other packets and wait to be sent, at most. Further ones are not sent, like
/// packets that a full queue drops.
const REPLIES_MAX: usize = 4096;

/// The DNS query of a command, for [`Stack::answer`].
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryId(pub(crate) u64);

/// An event for the driver of a [`Stack`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The command opens a connection. It waits for [`Stack::accept`] or [`Stack::refuse`].
    Connect {
        /// The connection.
        flow: FlowId,
        /// The destination.
        to: SocketAddr,
    },
    /// An accepted connection may have bytes to read, room to write, or its end of stream.
    Active(FlowId),
    /// The command has reset the connection or given it up. Bytes that arrived before stay readable
    /// until the next [`Stack::transmit`].
    Reset(FlowId),
    /// The command asks for a name. It waits for [`Stack::answer`].
    Query {
        /// The query.
        query: QueryId,
        /// The DNS message (RFC 1035).
        message: Vec<u8>,
    },
}

/// The stack. Its methods are getters; commands of the driver; `handle_*` for packets and time; and
/// `poll_*` for events and the next deadline. After a command or `handle_*`, poll the events and call
/// [`Stack::transmit`]. Time never runs backwards between two calls.
///
/// A command on a flow that has ended has no effect.
#[derive(Debug)]
pub struct Stack {
    config: Config,
    table: Table,
    names: Names,
    events: VecDeque<Event>,
    replies: VecDeque<Vec<u8>>,
    /// Flows that may have segments to send.
    queue: VecDeque<u32>,
    rng: Rng,
}

impl Stack {
    /// A stack whose initial sequence numbers come from `seed`, which should be random.
    pub fn new(config: Config, seed: u64) -> Stack {
        Stack {
            names: Names::new(config.queries_max),
            config,
            table: Table::default(),
            events: VecDeque::new(),
            replies: VecDeque::new(),
            queue: VecDeque::new(),
            rng: Rng::new(seed),
        }
    }

    /// Connections that are being opened or are open, and those that wait in TIME-WAIT.
    pub fn flows(&self) -> usize {
        self.table.len()
    }

    /// Bytes of the buffers of all connections, counting announced windows as if they were full.
    pub fn memory(&self) -> u64 {
        self.table.memory()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        if let Event::Active(flow) = event
            && let Some((_, flow)) = self.table.get(flow)
        {
            flow.active = false;
        }
        Some(event)
    }
}

/// Input from the device and the clock.
impl Stack {
    /// Handles a packet of the command. With `checksum_known_good` its transport checksum is not
    /// verified: the kernel leaves it incomplete where the device computes it.
    pub fn handle_packet(&mut self, now: Time, bytes: &[u8], checksum_known_good: bool) {
        match packet::parse(bytes, checksum_known_good) {
            None => {}
            Some(Incoming::Tcp { ends, segment, payload, ecn }) => match self.table.find(&ends) {
                Some(index) => self.handle_segment(now, index, &segment, payload, ecn, bytes),
                None => self.handle_first_segment(now, ends, &segment, bytes),
            },
            Some(Incoming::Udp { ends, payload }) if self.is_forwarder(ends.far) => {
                let query = self.names.take_datagram(now, ends, payload);
                self.events.extend(query);
            }
            Some(Incoming::Udp { ends, .. } | Incoming::UdpPiece { ends }) => {
                // The destination itself would send this one.
                let (from, to) = (ends.far.ip(), ends.app.ip());
                self.reply(icmp::unreachable(from, to, Unreachable::Port, bytes));
            }
            Some(Incoming::Echo { from, to, rest }) if self.is_own(to) => {
                self.reply(icmp::echo_reply(from, to, rest));
            }
            Some(Incoming::Echo { from, .. }) => {
                self.reply_unreachable(from, Unreachable::Prohibited, bytes);
            }
            Some(Incoming::OtherProtocol { from, .. }) => {
                self.reply_unreachable(from, Unreachable::Protocol, bytes);
            }
        }
    }

    /// The time at which to call [`Stack::handle_timeout`]; `None` while no timer runs.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.table.next_timer().into_iter().chain(self.names.poll_timeout()).min()
    }

    /// Runs the timers that have expired at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(index) = self.table.pop_timer(now) {
            self.handle_flow_timeout(now, index);
        }
        while let Some(query) = self.names.expired(now) {
            self.answer(now, query, None);
        }
    }
}

/// Output to the device.
impl Stack {
    /// Hands every packet that is to be sent now to `send`.
    pub fn transmit(&mut self, now: Time, send: &mut impl FnMut(Packet<'_>)) {
        for reply in self.replies.drain(..) {
            send(Packet { head: &reply, payload: [&[], &[]], checksum: None });
        }
        while let Some(index) = self.queue.pop_front() {
            let (short, offload) = (self.is_short_of_memory(), self.config.offload);
            let Some(flow) = self.table.at(index) else { continue };
            flow.queued = false;
            flow.hold(short);
            if let Phase::Open(stream) = &mut flow.phase {
                let ends = flow.ends;
                while let Some((run, payload)) = stream.poll_transmit(now, 1, &mut ()) {
                    let outgoing = Outgoing {
                        ends: &ends,
                        segment: &run.first,
                        payload,
                        ecn: run.ecn,
                        offload,
                    };
                    send_segment(&outgoing, send);
                }
            }
            self.settle(index);
        }
    }

    /// Sends a reply on the next [`Stack::transmit`].
    fn reply(&mut self, packet: Option<Vec<u8>>) {
        if self.replies.len() < REPLIES_MAX {
            self.replies.extend(packet);
        }
    }

    /// Reports as a router that `quoted` cannot be delivered.
    fn reply_unreachable(&mut self, to: IpAddr, why: Unreachable, quoted: &[u8]) {
        let from = self.config.forwarder(to.is_ipv4());
        self.reply(icmp::unreachable(from, to, why, quoted));
    }

    fn reply_reset(&mut self, ends: &Ends, to: &Segment) {
        let Some(reset) = to.reset_reply() else { return };
        let mut bytes = Vec::new();
        let ecn = Ecn::NotEct;
        let outgoing = Outgoing { ends, segment: &reset, payload: [&[], &[]], ecn, offload: false };
        send_segment(&outgoing, &mut |packet: Packet<'_>| bytes = packet.to_vec());
        self.reply(Some(bytes));
    }

    fn is_own(&self, address: IpAddr) -> bool {
        self.config.forwarder(address.is_ipv4()) == address
    }

    fn is_forwarder(&self, address: SocketAddr) -> bool {
        self.is_own(address.ip()) && address.port() == names::PORT
    }
}

fn send_segment(outgoing: &Outgoing<'_>, send: &mut impl FnMut(Packet<'_>)) {
    let mut head = [0; HEAD_LEN_MAX];
    if let Some((len, checksum)) = packet::write_head(outgoing, &mut head) {
        send(Packet { head: &head[..len], payload: outgoing.payload, checksum });
    }
}
