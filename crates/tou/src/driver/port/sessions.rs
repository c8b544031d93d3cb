//! The companion of a port: its datagrams, and the paths of its sessions' datagrams. Every datagram
//! passes here; without a companion it goes straight on.

use super::{Port, PortState};
use crate::driver::companion::{Companion, Destination, Own};
use crate::driver::short_lived;
use crate::endpoint::{Addresses, Contents, Datagrams};
use quinn_udp::Transmit;
use std::io;
use std::net::IpAddr;
use windlass_base::Time;
use windlass_tou_wire::SessionPeer;

impl Port {
    /// Gives the port a companion, or takes it away. The socket then reports the address at which
    /// each datagram arrived.
    #[cfg(feature = "session")]
    pub(crate) fn set_companion(&self, companion: Option<Box<dyn Companion>>) {
        // Without the addresses, the companion takes the first of this host's.
        let _ = crate::driver::options::report_destinations(&self.socket, self.local);
        self.with(|state, _| state.companion = companion);
    }

    /// Sends the companion's own datagrams. It repeats those that a full socket refuses.
    pub(super) fn send_own(&self, state: &mut PortState) {
        let Some(companion) = &mut state.companion else { return };
        while let Some(own) = companion.poll_transmit() {
            let _ = self.send_one(&own);
        }
    }

    fn send_one(&self, own: &Own) -> io::Result<()> {
        if let Some(ttl) = own.ttl {
            let source = own.local.map(|ip| self.mapped_source(ip));
            return short_lived::send(&self.socket, (source, self.mapped(own.to)), ttl, &own.bytes);
        }
        let datagram = Transmit {
            destination: self.mapped(own.to),
            ecn: None,
            contents: &own.bytes,
            segment_size: None,
            src_ip: own.local.map(|ip| self.mapped_source(ip)),
        };
        self.try_send(&datagram)
    }

    fn mapped_source(&self, ip: IpAddr) -> IpAddr {
        self.mapped((ip, 0).into()).ip()
    }

    /// Sends datagrams to their peer, which may be a virtual address. `scratch` is memory to join
    /// their pieces.
    pub(super) fn send_to_peer(
        &self,
        now: Time,
        companion: &mut Option<Box<dyn Companion>>,
        datagrams: &Datagrams,
        contents: &Contents<'_>,
        scratch: &mut Vec<u8>,
    ) -> io::Result<()> {
        // Outside of sessions the peer has its own address.
        let Some(SessionPeer { tag, .. }) = SessionPeer::of(&datagrams.peer) else {
            return self.send(datagrams, datagrams.local, contents, scratch);
        };
        let no_path = || io::Error::from(io::ErrorKind::HostUnreachable);
        let companion = companion.as_mut().ok_or_else(no_path)?;
        match companion.destination(tag).ok_or_else(no_path)? {
            Destination::Direct { local, peer } => {
                let datagrams = Datagrams { peer: self.mapped(peer), ..*datagrams };
                self.send(&datagrams, Some(self.mapped_source(local)), contents, scratch)
            }
            Destination::Relayed => {
                // Each gets the relay's header, so they cannot leave in one call.
                for datagram in contents.joined(scratch).chunks(datagrams.size) {
                    if let Some(own) = companion.relay(now, tag, datagram) {
                        let _ = self.send_one(&own);
                    }
                }
                Ok(())
            }
        }
    }
}

impl PortState {
    /// Runs the companion's timers if they are due.
    pub(super) fn expire_companion(&mut self, now: Time) {
        let PortState { companion, endpoint, to_wake, .. } = self;
        if let Some(companion) = companion
            && companion.poll_timeout().is_some_and(|at| at <= now)
        {
            companion.handle_timeout(now, endpoint, to_wake);
        }
    }

    /// Passes received datagrams to the endpoint, or to the companion. They stand one after the
    /// other in `bytes`, each `size` bytes long.
    pub(super) fn handle_datagrams(
        &mut self,
        now: Time,
        from: Addresses,
        ecn: windlass_base::Ecn,
        bytes: &[u8],
        size: usize,
    ) {
        let PortState { companion, endpoint, to_wake, .. } = self;
        let Some(companion) = companion else {
            return endpoint.handle_datagrams(now, from, ecn, bytes, size);
        };
        for datagram in bytes.chunks(size.max(1)) {
            if companion.takes(&from.peer, datagram) {
                companion.handle(now, endpoint, (from.local, from.peer), datagram, to_wake);
            } else {
                endpoint.handle_datagrams(now, from, ecn, datagram, datagram.len());
            }
        }
    }
}
