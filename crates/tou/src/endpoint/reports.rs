//! Reports of the network and of the system: datagrams that did not arrive. They come from the port,
//! ICMP by `driver::port::receive` and errors of calls by `driver::port::refusals`.

use super::path_mtu::packet_min;
use super::{Addresses, ConnectionId, Endpoint, Error, Slot, State};
use windlass_base::Time;
use windlass_tcp::Segment;
use windlass_tou_wire::{self as wire, Kind};

impl<Data: Default> Endpoint<Data> {
    /// Handles an ICMP report that a datagram to `peer` was not delivered. `quoted` is the part of
    /// the datagram that the report contains.
    ///
    /// A connection that is being opened fails (RFC 9293 §3.9.2.2); its id is returned. Other
    /// connections continue. The exception is a released connection that waits only for the ACK of
    /// its FIN: it ends if the port is closed at the peer.
    pub(crate) fn handle_unreachable(
        &mut self,
        of: impl Into<Addresses>,
        error: Error,
        quoted: &[u8],
    ) -> Option<ConnectionId> {
        let key = self.key_to(of.into())?;
        let slot = &mut self.slots[key];
        let connection = slot.stream.connection_mut();
        // An attacker would have to know the SYN (RFC 5927 §4.1). Some routers quote nothing of it.
        let quoted = wire::parse(quoted).ok();
        let forged = quoted.is_some_and(|(segment, _)| !connection.began_with(segment.seq));
        let fails = connection.state() == State::SynSent && !forged;
        if fails {
            connection.fail_opening(error);
        }
        let all_arrived = connection.bytes_acked() == connection.bytes_written();
        let fin_only = slot.released && connection.peer_closed() && all_arrived;
        if fin_only && error == Error::Refused {
            connection.abort();
        }
        self.touch(key);
        fails.then(|| self.id_of(key))
    }

    /// Handles an ICMP report that a router forwards no packets of more than `mtu` bytes on the way to
    /// a peer. `quoted` is the part of the datagram that the report contains. A report that quotes no
    /// segment under way may be forged, and is ignored (RFC 8899 §4.6.1).
    pub(crate) fn handle_too_big(
        &mut self,
        now: Time,
        of: impl Into<Addresses>,
        mtu: u32,
        quoted: &[u8],
    ) {
        let found = match wire::kind(quoted) {
            Kind::Session => wire::parse_session(quoted).ok().and_then(|(peer, segment, _)| {
                Some((self.key_to(peer.address().into())?, segment))
            }),
            _ => wire::parse(quoted)
                .ok()
                .and_then(|(segment, _)| Some((self.key_to(of.into())?, segment))),
        };
        let Some((key, Segment { seq, .. })) = found else { return };
        let Slot { stream, path_mtu: Some(path), .. } = &mut self.slots[key] else { return };
        let connection = stream.connection_mut();
        let under_way = path.is_probing(seq) || connection.is_unacknowledged(seq);
        if under_way && path.limit(mtu, connection) {
            connection.retry_at_once(now);
        }
        self.touch(key);
    }

    /// The system refuses to send datagrams of `len` bytes to a peer: they do not fit the link.
    pub(crate) fn handle_oversized(&mut self, now: Time, of: Addresses, len: usize) {
        let Some(key) = self.key_to(of) else { return };
        let Slot { stream, path_mtu: Some(path), .. } = &mut self.slots[key] else { return };
        let connection = stream.connection_mut();
        if path.refuse(len as u32, connection) {
            connection.retry_at_once(now);
        }
        self.touch(key);
    }

    /// The size of the packets in bytes that a connection needs and its path does not carry, so that
    /// it failed.
    pub(crate) fn packet_too_large(&self, id: ConnectionId) -> Option<u32> {
        let slot = self.slot(id)?;
        let failed = slot.path_mtu.as_ref().is_some_and(|path| path.is_too_small());
        failed.then(|| packet_min(&slot.addresses.peer))
    }
}

impl<Data> Slot<Data> {
    /// The next probe of the path's MTU. The connection fails if the path is too small.
    pub(super) fn poll_path_probe(&mut self, now: Time) -> Option<Segment> {
        let path = self.path_mtu.as_mut()?;
        let connection = self.stream.connection_mut();
        let probe = path.poll_probe(now, connection);
        if path.is_too_small() {
            connection.fail(Error::Unreachable);
        }
        probe
    }
}
