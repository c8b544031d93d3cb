//! Ports of this machine for connections of our own, shared between connections to different hosts.

use super::filter;
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use windlass_base::Rng;

/// Ports of our own: above those that Linux gives to others by default.
pub(super) const PORTS: RangeInclusive<u16> = 61_000..=65_535;
/// Ports taken at once, for each family: a process may have 1,024 files open by default.
const TAKEN_MAX: usize = 256;
/// Ports that are tried before those are taken that are taken anyway.
const TRIES: u64 = 64;

/// A family of addresses, and a port of it.
type PortKey = (bool, u16);

/// The ports that are ours as long as the value lives. Each is a listening socket, which swallows
/// whatever comes, so that the kernel answers with no reset. The paper's way, a low TTL on what the
/// kernel sends, needs a firewall rule; a minimum TTL on this socket would let through what a neighbour
/// sends with a TTL of 255.
#[derive(Default)]
pub(super) struct Ports {
    taken: BTreeMap<PortKey, Socket>,
}

impl Ports {
    /// True if the port is ours.
    pub(super) fn is_ours(&self, v6: bool, port: u16) -> bool {
        self.taken.contains_key(&(v6, port))
    }

    /// A port that `is_free` for a connection to a host, taken now or before.
    ///
    /// # Errors
    ///
    /// None is free, or sockets cannot be had.
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

    /// The first free one of the taken ports, from a random one on.
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
