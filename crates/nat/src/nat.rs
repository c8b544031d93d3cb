//! The translation of endpoints. `translator` applies it to packets, `table` keeps the bindings.

use crate::table::{Key, Table};
use crate::{Config, Dependence, Flow, Pooling, PortAllocation, Protocol, Side};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use windlass_base::{Rng, Span, Time};

/// How long a TCP binding lives without packets: RFC 5382 section 5, REQ-5.
const TCP_LIFETIME: Span = Span::from_secs(2 * 3600 + 4 * 60);
/// How long an ICMP query may be answered: RFC 5508 section 3.2, REQ-2.
const ICMP_LIFETIME: Span = Span::from_secs(60);

/// Why a NAT drops a packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dropped {
    /// The settings forbid the protocol or the port.
    Blocked,
    /// No inner endpoint has this external endpoint.
    NoBinding,
    /// The filter of the binding does not admit the sender.
    Filtered,
    /// The table is full, or no external port is free.
    Full,
    /// An inner host sent to an external address, and the NAT does not hairpin.
    Hairpin,
    /// The packet is a fragment, damaged, or of another kind than the NAT translates.
    Unsupported,
}

impl Dropped {
    /// All reasons, in the order of the counters.
    pub const ALL: [Dropped; 6] = [
        Dropped::Blocked,
        Dropped::NoBinding,
        Dropped::Filtered,
        Dropped::Full,
        Dropped::Hairpin,
        Dropped::Unsupported,
    ];
}

/// Packets since the NAT started, by direction or by reason of the drop.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Passed from inside to outside.
    pub outbound: u64,
    /// Passed from outside to inside.
    pub inbound: u64,
    /// Returned to the inside.
    pub hairpinned: u64,
    dropped: [u64; Dropped::ALL.len()],
}

impl Stats {
    /// Packets dropped for one reason.
    pub fn dropped(&self, reason: Dropped) -> u64 {
        self.dropped[reason as usize]
    }

    fn count(&mut self, from: Side, result: Result<Side, Dropped>) {
        match (from, result) {
            (Side::Inside, Ok(Side::Outside)) => self.outbound += 1,
            (Side::Inside, Ok(Side::Inside)) => self.hairpinned += 1,
            (Side::Outside, Ok(_)) => self.inbound += 1,
            (_, Err(reason)) => self.dropped[reason as usize] += 1,
        }
    }
}

/// A NAT. The same calls with the same seed have the same results.
#[derive(Debug)]
pub struct Nat {
    config: Config,
    rng: Rng,
    table: Table,
    stats: Stats,
    next_port: u16,
    reboots: u64,
    /// The external endpoints in use before the last reboot.
    former: BTreeSet<Key>,
}

impl Nat {
    /// A NAT without bindings.
    ///
    /// # Panics
    ///
    /// If the range of ports is empty or contains zero.
    pub fn new(config: Config, seed: u64) -> Nat {
        let range = &config.port_range;
        assert!(*range.start() > 0 && !range.is_empty(), "no external ports: {range:?}");
        Nat {
            next_port: *range.start(),
            config,
            rng: Rng::new(seed),
            table: Table::default(),
            stats: Stats::default(),
            reboots: 0,
            former: BTreeSet::new(),
        }
    }

    /// Its settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its counters.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The bindings at `now`.
    pub fn bindings(&mut self, now: Time) -> usize {
        self.table.expire(now);
        self.table.len()
    }

    /// Forgets all bindings. Until the next reboot no binding gets an external endpoint that was in
    /// use before this one, and with several external addresses inner hosts get other ones.
    pub fn reboot(&mut self) {
        self.former = self.table.clear();
        self.reboots += 1;
    }

    /// Whether an address is one of its external ones.
    pub fn owns(&self, address: IpAddr) -> bool {
        self.config.external.contains(&address)
    }

    /// Translates the endpoints of a packet that arrives from one side at `now`; returns the side
    /// that it leaves to and its new endpoints. Times never decrease from call to call.
    ///
    /// # Errors
    ///
    /// The reason to drop the packet.
    pub fn translate(
        &mut self,
        now: Time,
        from: Side,
        flow: Flow,
    ) -> Result<(Side, Flow), Dropped> {
        let result = self.pass(now, from, flow);
        self.count(from, result.map(|(to, _)| to));
        result
    }

    pub(crate) fn count(&mut self, from: Side, result: Result<Side, Dropped>) {
        self.stats.count(from, result);
    }

    /// The same without the counters.
    pub(crate) fn pass(
        &mut self,
        now: Time,
        from: Side,
        flow: Flow,
    ) -> Result<(Side, Flow), Dropped> {
        let flow =
            Flow { source: plain(flow.source), destination: plain(flow.destination), ..flow };
        self.table.expire(now);
        if from == Side::Outside {
            return Ok((Side::Inside, self.inbound(now, flow)?));
        }
        self.permit(&flow)?;
        // RFC 4787 section 6, REQ-9: hairpinning.
        let hairpin = self.owns(flow.destination.ip());
        if hairpin && !self.config.hairpin {
            return Err(Dropped::Hairpin);
        }
        // REQ-9 a: the inner receiver sees the external source.
        let out = self.outbound(now, flow)?;
        match hairpin {
            true => Ok((Side::Inside, self.inbound(now, out)?)),
            false => Ok((Side::Outside, out)),
        }
    }

    fn permit(&self, flow: &Flow) -> Result<(), Dropped> {
        let allowed = match flow.protocol {
            Protocol::Udp => !self.config.block_udp,
            Protocol::Tcp => {
                let port = flow.destination.port();
                self.config.tcp_ports.as_ref().is_none_or(|allowed| allowed.contains(&port))
            }
            Protocol::Icmp => true,
        };
        if allowed { Ok(()) } else { Err(Dropped::Blocked) }
    }

    fn outbound(&mut self, now: Time, flow: Flow) -> Result<Flow, Dropped> {
        // RFC 4787 section 4.1: a binding serves all remote endpoints that the mapping merges.
        let mapping = self.mapping(&flow);
        let source = match self.table.external(&flow, mapping) {
            Some(external) => external,
            None => self.bind(&flow, mapping)?,
        };
        let key = (flow.protocol, source);
        // RFC 4787 section 4.3, REQ-6: outbound packets refresh the binding.
        let until = now + self.lifetime(flow.protocol);
        let filtering = self.filtering(flow.protocol);
        if !self.table.admit(&key, flow.destination, filtering, now, until) {
            return Err(Dropped::Full);
        }
        Ok(Flow { source, ..flow })
    }

    fn inbound(&mut self, now: Time, flow: Flow) -> Result<Flow, Dropped> {
        let key = (flow.protocol, flow.destination);
        let filtering = self.filtering(flow.protocol);
        let destination = self.table.inner(&key).ok_or(Dropped::NoBinding)?;
        // RFC 4787 section 5: address and port of the sender, as far as the filter looks.
        if !self.table.admits(&key, flow.source, filtering, now) {
            return Err(Dropped::Filtered);
        }
        // RFC 4787 section 4.3, REQ-6 a: inbound packets may refresh it too.
        if self.config.refresh_inbound || flow.protocol != Protocol::Udp {
            let until = now + self.lifetime(flow.protocol);
            self.table.admit(&key, flow.source, filtering, now, until);
        }
        Ok(Flow { destination, ..flow })
    }

    /// The inner endpoint of the packet that an ICMP error is about. The packet has left: its
    /// source is external. Refreshes nothing (RFC 5508 section 4, REQ-7).
    pub(crate) fn origin(&mut self, now: Time, sent: Flow) -> Result<SocketAddr, Dropped> {
        self.table.expire(now);
        let key = (sent.protocol, sent.source);
        let inner = self.table.inner(&key).ok_or(Dropped::NoBinding)?;
        let filtering = self.filtering(sent.protocol);
        let known = self.table.admits(&key, sent.destination, filtering, now);
        known.then_some(inner).ok_or(Dropped::Filtered)
    }

    /// The external endpoint that a packet had before it was passed inside: an inner host sends an
    /// ICMP error about it.
    pub(crate) fn translation(&mut self, now: Time, received: Flow) -> Result<SocketAddr, Dropped> {
        self.table.expire(now);
        let answer =
            Flow { source: received.destination, destination: received.source, ..received };
        let mapping = self.mapping(&answer);
        self.table.external(&answer, mapping).ok_or(Dropped::NoBinding)
    }

    /// Whether packets of the family of `address` get external addresses.
    pub(crate) fn translates(&self, address: IpAddr) -> bool {
        self.config.external.iter().any(|external| external.is_ipv4() == address.is_ipv4())
    }

    fn mapping(&self, flow: &Flow) -> Dependence {
        // A firewall has one binding for each inner endpoint: that endpoint.
        let plain = flow.protocol != Protocol::Udp || !self.translates(flow.source.ip());
        // RFC 5382 section 4.1, REQ-1: TCP's mapping is endpoint-independent.
        if plain { Dependence::Independent } else { self.config.mapping }
    }

    fn filtering(&self, protocol: Protocol) -> Dependence {
        match protocol {
            Protocol::Udp => self.config.filtering,
            Protocol::Tcp => Dependence::AddressAndPort,
            Protocol::Icmp => Dependence::Address,
        }
    }

    fn lifetime(&self, protocol: Protocol) -> Span {
        match protocol {
            Protocol::Udp => self.config.lifetime,
            Protocol::Tcp => TCP_LIFETIME,
            Protocol::Icmp => ICMP_LIFETIME,
        }
    }

    fn bind(&mut self, flow: &Flow, mapping: Dependence) -> Result<SocketAddr, Dropped> {
        if self.table.len() >= self.config.bindings_max {
            return Err(Dropped::Full);
        }
        let external = self.allocate(flow.protocol, flow.source).ok_or(Dropped::Full)?;
        self.table.insert(flow, mapping, external);
        Ok(external)
    }

    /// A free external endpoint.
    fn allocate(&mut self, protocol: Protocol, inner: SocketAddr) -> Option<SocketAddr> {
        let Some(address) = self.external_address(inner.ip()) else { return Some(inner) };
        // RFC 4787 section 4.2.1: ports are preserved if free, never overloaded (REQ-3).
        let port = match self.config.ports {
            PortAllocation::Preserve if inner.port() > 0 => {
                let kept = SocketAddr::new(address, inner.port());
                if self.is_free(protocol, kept) {
                    return Some(kept);
                }
                self.random_port()
            }
            PortAllocation::Preserve | PortAllocation::Random => self.random_port(),
            PortAllocation::Sequential => self.next_port,
        };
        let (low, high) = (*self.config.port_range.start(), *self.config.port_range.end());
        let from_there = (port..=high).chain(low..port);
        let mut endpoints = from_there.map(|port| SocketAddr::new(address, port));
        let free = endpoints.find(|endpoint| self.is_free(protocol, *endpoint))?;
        let last = free.port();
        self.next_port = if last >= high { low } else { last + 1 };
        Some(free)
    }

    fn is_free(&self, protocol: Protocol, external: SocketAddr) -> bool {
        let key = (protocol, external);
        !self.table.is_taken(&key) && !self.former.contains(&key)
    }

    fn random_port(&mut self) -> u16 {
        let (low, high) = (*self.config.port_range.start(), *self.config.port_range.end());
        self.rng.between(low.into(), high.into()) as u16
    }

    /// The external address for an inner one; `None` if packets of its family keep theirs.
    fn external_address(&mut self, inner: IpAddr) -> Option<IpAddr> {
        let pool = self.config.external.iter().filter(|e| e.is_ipv4() == inner.is_ipv4());
        let pool: Vec<IpAddr> = pool.copied().collect();
        let size = pool.len() as u64;
        // RFC 4787 section 4.1, REQ-2: pooling of addresses.
        let index = match self.config.pooling {
            Pooling::Paired => host_number(inner).wrapping_add(self.reboots).checked_rem(size)?,
            Pooling::Arbitrary => self.rng.below(size),
        };
        pool.get(index as usize).copied()
    }
}

/// A number that neighbouring addresses have one after the other.
fn host_number(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits() as u64,
    }
}

/// Without the flow label and the scope of an IPv6 endpoint.
fn plain(endpoint: SocketAddr) -> SocketAddr {
    SocketAddr::new(endpoint.ip(), endpoint.port())
}
