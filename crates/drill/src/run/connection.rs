//! The connections of a script: their ports, and how the script's sequence numbers and timestamps become the subject's.
//!
//! As in packetdrill, one connection at a time is under test: the last socket of the script, or the connection that a
//! packet to its listener opened.

use crate::packet::{Packet, Tcp, TcpOption, Transport, flags};
use crate::subject::Setup;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The port from which the first connection to a listener comes; each further one takes the next (RFC 6335 §6).
const FIRST_PORT: u16 = 49_152;

/// How far a connection is, by the script's events.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A new socket.
    New,
    /// A listener.
    Listening,
    /// The script sent a packet to the listener.
    Received,
    /// The subject answered it with SYN and ACK.
    Answered,
    /// The script acknowledged that.
    Accepted,
    /// The program connects.
    Connecting,
    /// The script expects the SYN.
    SynSent,
    /// The script answered it with SYN and ACK.
    Connected,
}

/// A socket or a connection.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) state: State,
    /// The script's descriptor.
    pub(super) fd: Option<i32>,
    /// The subject's port, once it is known.
    pub(super) local_port: Option<u16>,
    /// The script's port.
    pub(super) remote_port: u16,
    /// The initial sequence number of the subject in the script.
    pub(super) script_isn: u32,
    /// The same as the subject chose it.
    pub(super) live_isn: u32,
    /// The initial sequence number of the script's side, the same for both.
    pub(super) remote_isn: u32,
    /// The subject's timestamps by those of the script.
    timestamps: BTreeMap<u32, u32>,
    /// The first of them.
    first_timestamp: Option<(u32, u32)>,
    /// The flow label of the script with that of the subject.
    pub(super) flow_label: Option<(u32, u32)>,
}

/// The sockets and connections of a script.
#[derive(Clone, Debug)]
pub(super) struct Connections {
    all: Vec<Connection>,
    under_test: Option<usize>,
    local: IpAddr,
    remote: IpAddr,
    local_port: u16,
    remote_port: u16,
    next_port: u16,
}

impl Connections {
    pub(super) fn new(setup: &Setup) -> Connections {
        Connections {
            all: Vec::new(),
            under_test: None,
            local: setup.local,
            remote: setup.remote,
            local_port: setup.local_port,
            remote_port: setup.remote_port,
            next_port: FIRST_PORT,
        }
    }

    pub(super) fn under_test(&self) -> Option<&Connection> {
        self.under_test.map(|at| &self.all[at])
    }

    pub(super) fn under_test_mut(&mut self) -> Option<&mut Connection> {
        self.under_test.map(|at| &mut self.all[at])
    }

    /// The program opened a socket.
    pub(super) fn opened(&mut self, fd: i32) {
        self.add(Connection {
            fd: Some(fd),
            ..Connection::new(State::New, None, self.remote_port)
        });
    }

    fn add(&mut self, connection: Connection) {
        self.under_test = Some(self.all.len());
        self.all.push(connection);
    }

    fn by_fd(&mut self, fd: i32) -> Option<&mut Connection> {
        self.all.iter_mut().rev().find(|connection| connection.fd == Some(fd))
    }

    /// The program made a listener of a socket.
    pub(super) fn listening(&mut self, fd: i32) {
        if let Some(connection) = self.by_fd(fd) {
            connection.state = State::Listening;
        }
    }

    /// The program connects a socket, or sends with an address.
    pub(super) fn connecting(&mut self, fd: i32) {
        let remote_port = self.remote_port;
        if let Some(connection) = self.by_fd(fd).filter(|connection| connection.state == State::New)
        {
            connection.state = State::Connecting;
            // A socket that was disconnected had other ports as the server's end of a connection.
            (connection.local_port, connection.remote_port) = (None, remote_port);
        }
    }

    /// The program disconnected a socket.
    pub(super) fn disconnected(&mut self, fd: i32) {
        if let Some(connection) = self.by_fd(fd) {
            connection.state = State::New;
        }
    }

    /// The program accepted a connection; false if there is none.
    pub(super) fn accepted(&mut self, fd: i32) -> bool {
        // A connection with Fast Open is there before the script acknowledges its SYN.
        let ready = |connection: &&mut Connection| {
            matches!(connection.state, State::Answered | State::Accepted)
        };
        let found = self.all.iter_mut().rev().find(ready);
        found.map(|connection| connection.fd = Some(fd)).is_some()
    }

    /// The script sends a segment: the connection that it is for, a new one if it reaches a listener.
    pub(super) fn receives(&mut self, tcp: &Tcp) -> &mut Connection {
        if self.under_test().is_none_or(|connection| connection.state == State::Listening) {
            let port = self.next_port;
            self.next_port = port.checked_add(1).unwrap_or(FIRST_PORT);
            let new = Connection::new(State::Received, Some(self.local_port), port);
            self.add(Connection { remote_isn: tcp.seq, ..new });
        }
        let at = self.under_test.unwrap_or_default();
        let connection = &mut self.all[at];
        match connection.state {
            State::Answered if tcp.has(flags::ACK) => connection.state = State::Accepted,
            State::SynSent if tcp.has(flags::SYN | flags::ACK) => {
                connection.state = State::Connected;
                connection.remote_isn = tcp.seq;
            }
            _ => {}
        }
        connection
    }

    /// The script expects a segment: the connection that it is of. `seq` is its sequence number in the script.
    pub(super) fn expects(&mut self, bits: u16, seq: u32) -> Option<&mut Connection> {
        let connection = self.under_test.map(|at| &mut self.all[at])?;
        let is_syn = bits & flags::SYN != 0;
        let is_ack = bits & flags::ACK != 0;
        match connection.state {
            State::Connecting if is_syn && !is_ack => {
                connection.state = State::SynSent;
                connection.script_isn = seq;
            }
            State::Received if is_syn && is_ack => connection.script_isn = seq,
            _ => {}
        }
        Some(connection)
    }

    /// Whether the subject sent a packet on the connection under test. A SYN tells its port and sequence number.
    pub(super) fn is_from_under_test(&mut self, packet: &Packet) -> bool {
        let addresses = (packet.ip.source, packet.ip.destination) == (self.local, self.remote);
        let Some(connection) = self.under_test.map(|at| &mut self.all[at]).filter(|_| addresses)
        else {
            return false;
        };
        let Some(tcp) = packet.tcp() else { return false };
        if connection.owns(tcp) {
            return true;
        }
        let is_syn = tcp.has(flags::SYN) && !tcp.has(flags::ACK);
        let opens = connection.state == State::SynSent
            && is_syn
            && tcp.destination == connection.remote_port;
        if opens {
            connection.local_port = Some(tcp.source);
            connection.live_isn = tcp.seq;
        }
        opens
    }

    /// A packet of the subject with the numbers of the script, if it is of the connection under test.
    pub(super) fn in_script_numbers(&self, packet: &Packet) -> Packet {
        let mut packet = packet.clone();
        if let (Transport::Tcp(tcp), Some(connection)) = (&mut packet.transport, self.under_test())
            && connection.owns(tcp)
        {
            connection.to_script(tcp);
        }
        packet
    }
}

impl Connection {
    fn new(state: State, local_port: Option<u16>, remote_port: u16) -> Connection {
        Connection {
            state,
            fd: None,
            local_port,
            remote_port,
            script_isn: 0,
            live_isn: 0,
            remote_isn: 0,
            timestamps: BTreeMap::new(),
            first_timestamp: None,
            flow_label: None,
        }
    }

    fn owns(&self, tcp: &Tcp) -> bool {
        Some(tcp.source) == self.local_port && tcp.destination == self.remote_port
    }

    /// The first answer to a SYN tells the subject's sequence number.
    pub(super) fn answered(&mut self, tcp: &Tcp) {
        if self.state == State::Received && tcp.has(flags::SYN | flags::ACK) {
            self.state = State::Answered;
            self.live_isn = tcp.seq;
        }
    }

    /// The difference between a sequence number of the subject and that of the script.
    fn local_offset(&self, is_syn: bool) -> u32 {
        if is_syn { self.live_isn.wrapping_sub(self.script_isn) } else { self.live_isn }
    }

    /// The same for the script's side, whose SYN has the number of the script.
    fn remote_offset(&self, is_syn: bool) -> u32 {
        if is_syn { 0 } else { self.remote_isn }
    }

    /// The sequence number of the subject for one of the script outside a SYN.
    pub(super) fn live_seq(&self, seq: u32) -> u32 {
        seq.wrapping_add(self.local_offset(false))
    }

    /// Gives a segment of the subject the numbers of the script.
    pub(super) fn to_script(&self, tcp: &mut Tcp) {
        let is_syn = tcp.has(flags::SYN);
        let acks = 0u32.wrapping_sub(self.remote_offset(is_syn));
        tcp.seq = tcp.seq.wrapping_sub(self.local_offset(is_syn));
        shift_acks(tcp, acks);
    }

    /// Gives a segment of the script the numbers of the subject; false if it echoes a timestamp that was never sent.
    pub(super) fn to_live(&self, tcp: &mut Tcp, echo_scaled: bool) -> bool {
        let is_syn = tcp.has(flags::SYN);
        tcp.seq = tcp.seq.wrapping_add(self.remote_offset(is_syn));
        let offset = self.local_offset(is_syn);
        shift_acks(tcp, offset);
        if !tcp.has(flags::ACK) {
            return true;
        }
        for option in &mut tcp.options {
            if let TcpOption::Timestamps { echo, .. } = option {
                let scaled = self.first_timestamp.filter(|_| echo_scaled);
                let scaled =
                    scaled.map(|(script, live)| echo.wrapping_sub(script).wrapping_add(live));
                match self.timestamps.get(echo).copied().or(scaled) {
                    Some(live) => *echo = live,
                    None => return false,
                }
            }
        }
        true
    }

    /// Remembers which timestamp of the subject stands for that of the script; returns the subject's as the script
    /// counts, from the first one on.
    pub(super) fn learn_timestamp(&mut self, script: u32, live: u32) -> u32 {
        self.timestamps.insert(script, live);
        let (first_script, first_live) = *self.first_timestamp.get_or_insert((script, live));
        first_script.wrapping_add(live.wrapping_sub(first_live))
    }
}

/// Adds to the numbers of a segment that acknowledge.
fn shift_acks(tcp: &mut Tcp, offset: u32) {
    if tcp.has(flags::ACK) {
        tcp.ack = tcp.ack.wrapping_add(offset);
    }
    for option in &mut tcp.options {
        if let TcpOption::Sack(blocks) = option {
            for (left, right) in blocks {
                *left = left.wrapping_add(offset);
                *right = right.wrapping_add(offset);
            }
        }
    }
}
