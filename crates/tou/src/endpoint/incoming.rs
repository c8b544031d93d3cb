//! Incoming datagrams: each goes to its connection, or to `listen` if there is none. The port
//! (`driver::port::receive`) passes them in.

use super::path_mtu::PathMtu;
use super::{Addresses, Endpoint, Slot};
use windlass_base::{Ecn, Time};
use windlass_tcp::{Flags, Options, Segment, State};
use windlass_tou_wire::{self as wire, Kind, SessionPeer};

/// The largest number of STUN messages that wait for [`Endpoint::poll_stun`].
const STUN_MAX: usize = 64;

impl<Data: Default> Endpoint<Data> {
    /// Handles datagrams with these addresses. They stand one after the other in `bytes`, each `size`
    /// bytes long; the last one may be shorter. All have the ECN codepoint `ecn`.
    pub fn handle_datagrams(
        &mut self,
        now: Time,
        from: impl Into<Addresses>,
        ecn: Ecn,
        bytes: &[u8],
        size: usize,
    ) {
        let addresses = from.into();
        for datagram in bytes.chunks(size.max(1)) {
            self.handle_datagram(now, addresses, ecn, datagram);
        }
    }

    fn handle_datagram(&mut self, now: Time, addresses: Addresses, ecn: Ecn, datagram: &[u8]) {
        self.counters.received += 1;
        match wire::kind(datagram) {
            Kind::Segment => {
                let mut segment = Segment::default();
                match wire::parse_into(datagram, &mut segment) {
                    Ok(at) => self.handle_segment(now, addresses, ecn, &segment, &datagram[at..]),
                    Err(_) => self.counters.malformed += 1,
                }
            }
            Kind::Session => match wire::parse_session(datagram) {
                Ok((peer, segment, at)) => {
                    let addresses = peer.address().into();
                    self.handle_segment(now, addresses, ecn, &segment, &datagram[at..]);
                }
                Err(_) => self.counters.malformed += 1,
            },
            Kind::Stun => {
                self.counters.stun += 1;
                // Anyone can send STUN; a flood takes no more memory than this.
                if self.stun.len() < STUN_MAX {
                    self.stun.push_back((addresses, datagram.into()));
                }
            }
            Kind::Unknown => self.counters.unknown += 1,
        }
    }

    fn handle_segment(
        &mut self,
        now: Time,
        addresses: Addresses,
        ecn: Ecn,
        segment: &Segment,
        payload: &[u8],
    ) {
        // A node is silent outside of its sessions: scans do not find it.
        if !self.sessions.admits(&addresses.peer) {
            self.counters.outside += 1;
            return;
        }
        let mut key = self.key_of(addresses);
        // A client may use its port again while the old connection is in TIME-WAIT (RFC 6191 §2).
        if let Some(old) = key
            && self.listening.is_some()
            && self.slots[old].is_over()
            && self.slots[old].stream.connection().makes_room_for(segment)
        {
            self.remove(old);
            key = None;
        }
        let key = key.or_else(|| self.handle_unmatched(now, addresses, segment));
        if let Some(key) = key {
            if self.is_own_syn(key, segment) {
                self.counters.outside += 1;
                return;
            }
            if self.slots[key].sets_reserved_bit(segment) {
                self.counters.malformed += 1;
                return;
            }
            self.limit_growth(key);
            let slot = &mut self.slots[key];
            // Only senders of data take a share of the socket's buffer.
            if !payload.is_empty() {
                self.receive_buffer.note_payload(
                    now,
                    &mut slot.share,
                    slot.stream.connection_mut(),
                );
            }
            let stream = &mut slot.stream;
            let samples = stream.connection().rtt_samples();
            match &mut slot.log {
                None => stream.handle_segment(now, segment, payload, ecn, &mut ()),
                Some(log) => stream.handle_segment(now, segment, payload, ecn, &mut **log),
            }
            slot.note_rtt(samples);
            if self.probes_paths || slot.path_mtu.is_some() {
                slot.update_path_mtu(segment);
            }
            self.acknowledge(now, key);
            self.touch(key);
        }
    }

    /// Takes the ACKs that are due before the next datagram of the same batch is handled.
    fn acknowledge(&mut self, now: Time, key: usize) {
        loop {
            let slot = &mut self.slots[key];
            let connection = slot.stream.connection_mut();
            let ack = match &mut slot.log {
                None => connection.poll_ack(now, &mut ()),
                Some(log) => connection.poll_ack(now, &mut **log),
            };
            let Some(ack) = ack else { return };
            self.acks.push_back((slot.addresses, ack));
            // It advertises a window, which is counted before another connection's window.
            self.account(key);
        }
    }

    /// Whether a segment of a session is this host's own SYN. A connection of a session has one end that
    /// opens it, so there is no simultaneous open. The SYN comes back if a relay, or a NAT, gives the
    /// peer's old address to this host; the connection would be one with itself.
    fn is_own_syn(&self, key: usize, segment: &Segment) -> bool {
        let slot = &self.slots[key];
        segment.flags.contains(Flags::SYN)
            && !segment.flags.contains(Flags::ACK)
            && slot.stream.connection().state() == State::SynSent
            && SessionPeer::of(&slot.addresses.peer).is_some()
    }

    /// The key of the connection with these addresses. Consecutive datagrams often have the same ones.
    fn key_of(&mut self, addresses: Addresses) -> Option<usize> {
        if self.slots.get(self.recent).is_some_and(|slot| slot.addresses == addresses) {
            return Some(self.recent);
        }
        let key = self.key_to(addresses)?;
        let slot = &mut self.slots[key];
        if slot.addresses.local.is_none() && addresses.local.is_some() {
            // From now on the connection keeps the address at which the peer has reached it.
            slot.addresses = addresses;
            self.peers.insert(addresses, key);
        }
        self.recent = key;
        Some(key)
    }
}

impl<Data> Slot<Data> {
    /// Whether a segment has AE, whose bit stays reserved on connections without AccECN. In SYN-SENT it may come from
    /// an old connection of the peer, which then needs an answer (RFC 9293 §3.5.1).
    fn sets_reserved_bit(&self, segment: &Segment) -> bool {
        let connection = self.stream.connection();
        segment.flags.contains(Flags::AE)
            && !segment.flags.contains(Flags::SYN)
            && connection.accurate_ecn().is_none()
            && connection.state() != State::SynSent
    }

    /// Updates path MTU discovery. It begins with the segment that completes the handshake. That
    /// segment may be the peer's FIN, if the ACK before it was lost.
    fn update_path_mtu(&mut self, segment: &Segment) {
        let connection = self.stream.connection_mut();
        let state = connection.state();
        match &mut self.path_mtu {
            Some(path) => path.handle(segment, connection),
            None if state.is_synchronized() && state != State::SynReceived => {
                let timestamps = segment.options.timestamps;
                let every = Options { timestamps, ..Options::default() };
                let prefix = wire::prefix_len(&self.addresses.peer);
                let header = prefix + wire::MIN_HEADER_LEN + every.wire_len();
                let peer = &self.addresses.peer;
                self.path_mtu = Some(PathMtu::begin(connection, peer, header as u32));
            }
            None => {}
        }
    }
}
