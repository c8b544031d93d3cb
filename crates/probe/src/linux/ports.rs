//! Local ports for the probe's connections. Connections to different hosts share a port.

use super::filter;
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use windlass_base::Rng;

/// The probe's local ports, above the range from which Linux assigns ports by default.
pub(super) const PORTS: RangeInclusive<u16> = 61_000..=65_535;
/// The most ports held per address family: by default a process may have 1,024 open files.
const TAKEN_MAX: usize = 256;
/// Random ports to try before a port that is already held is reused.
const TRIES: u64 = 64;

/// Address family (true: IPv6) and port.
type PortKey = (bool, u16);

/// The ports that the probe holds until the value is dropped. Each is a listening socket that discards
/// all packets, so that the kernel sends no reset. Normann 2011 sets a low TTL on the kernel's packets
/// instead, which needs a firewall rule. A minimum TTL on this socket would accept the packets of a
/// neighbour with a TTL of 255.
#[derive(Default)]
pub(super) struct Ports {
    taken: BTreeMap<PortKey, Socket>,
}

impl Ports {
    /// Whether the probe holds the port.
    pub(super) fn is_ours(&self, v6: bool, port: u16) -> bool {
        self.taken.contains_key(&(v6, port))
    }

    /// Picks a port that `is_free` for a connection to a host: a new one, or one that is already held.
    ///
    /// # Errors
    ///
    /// No port is free, or no socket can be opened.
    pub(super) fn pick(
        &mut self,
        rng: &mut Rng,
        v6: bool,
        is_free: impl Fn(u16) -> bool,
    ) -> io::Result<u16> {
        let count = u64::from(PORTS.end() - PORTS.start()) + 1;
        let mut trouble = io::Error::from(ErrorKind::AddrInUse);
        let taken = self.taken.range((v6, 0)..=(v6, u16::MAX)).count();
        let tries = if taken < TAKEN_MAX { TRIES } else { 0 };
        for _ in 0..tries {
            let port = PORTS.start() + rng.below(count) as u16;
            if !is_free(port) {
                continue;
            }
            match self.take((v6, port)) {
                Ok(()) => return Ok(port),
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                Err(error) => trouble = error,
            }
        }
        self.pick_taken(rng, v6, is_free).ok_or(trouble)
    }

    /// The first free port among the held ones, starting at a random one.
    fn pick_taken(&self, rng: &mut Rng, v6: bool, is_free: impl Fn(u16) -> bool) -> Option<u16> {
        let ports: Vec<u16> =
            self.taken.range((v6, 0)..=(v6, u16::MAX)).map(|((_, port), _)| *port).collect();
        let first = rng.below(ports.len().max(1) as u64) as usize;
        let (after, before) = (ports.iter().skip(first), ports.iter().take(first));
        after.chain(before).copied().find(|port| is_free(*port))
    }

    fn take(&mut self, key: PortKey) -> io::Result<()> {
        if self.taken.contains_key(&key) {
            return Ok(());
        }
        let (v6, port) = key;
        let any: IpAddr =
            if v6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        self.taken.insert(key, listen(SocketAddr::new(any, port))?);
        Ok(())
    }
}

fn listen(address: SocketAddr) -> io::Result<Socket> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.attach_filter(&filter::nothing())?;
    socket.bind(&address.into())?;
    socket.listen(1)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    #[test]
    fn a_host_gets_a_port_once_and_hosts_share_them() {
        let mut ports = Ports::default();
        let mut rng = Rng::new(1);
        let mut all = BTreeSet::new();
        for _ in 0..3 {
            let used = RefCell::new(BTreeSet::new());
            let mut next = || {
                let port = ports.pick(&mut rng, false, |port| !used.borrow().contains(&port))?;
                assert!(used.borrow_mut().insert(port) && PORTS.contains(&port));
                io::Result::Ok(port)
            };
            for _ in 0..TAKEN_MAX {
                all.insert(next().expect("free"));
            }
            assert_eq!(next().expect_err("all used").kind(), ErrorKind::AddrInUse);
        }
        assert_eq!(all.len(), TAKEN_MAX);
        assert!(all.iter().all(|port| ports.is_ours(false, *port) && !ports.is_ours(true, *port)));
    }
}
