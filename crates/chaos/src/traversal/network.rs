//! Datagrams through NATs, with delay, loss and tampering.

use super::setup::{HostNetwork, Setup};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use windlass_base::{Ecn, Rng, Span, Time};
use windlass_nat::{Config, Dependence, Flow, Nat, Protocol, Side};

/// The UDP address of the rendezvous. Its relays have the same IP address.
pub(super) fn rendezvous_address(ipv6: bool) -> SocketAddr {
    match ipv6 {
        false => (Ipv4Addr::new(203, 0, 113, 1), 3478).into(),
        true => (Ipv6Addr::new(0x2001, 0xdb8, 0x99, 0, 0, 0, 0, 1), 3478).into(),
    }
}

/// The address of a rendezvous that is dead: nothing is there.
pub(super) fn dead_address(ipv6: bool) -> SocketAddr {
    match ipv6 {
        false => (Ipv4Addr::new(203, 0, 113, 99), 3478).into(),
        true => (Ipv6Addr::new(0x2001, 0xdb8, 0x99, 0, 0, 0, 0, 0x99), 3478).into(),
    }
}

/// The UDP port of each host.
pub(super) const PORT: u16 = 7000;

/// A datagram.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) ecn: Ecn,
    pub(super) bytes: Vec<u8>,
}

/// Where a datagram is under way.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// On the Internet.
    Core,
    /// In the network of the host with its destination address.
    Inside,
}

/// Where a datagram ends.
pub(super) enum Arrival {
    Host(usize, Packet),
    Rendezvous(Packet),
}

pub(super) struct Network {
    /// All NATs.
    nats: Vec<Nat>,
    /// The NATs of each host, the innermost first.
    chains: [Vec<usize>; 2],
    isolated: [bool; 2],
    pub(super) addresses: [IpAddr; 2],
    rendezvous: IpAddr,
    delays: [Span; 2],
    jitter: Span,
    loss: f64,
    tampering: f64,
    rng: Rng,
    under_way: BTreeMap<(Time, u64), (Stage, Packet)>,
    queued: u64,
    pub(super) sent: u64,
    pub(super) tampered: u64,
    /// Nothing that is sent before this time arrives.
    pub(super) dark_until: Time,
    /// From now on there is neither loss nor tampering.
    pub(super) is_calm: bool,
}

fn private_address(setup: &Setup, host: usize, shared: bool) -> IpAddr {
    let last = 10 + host as u8;
    match (setup.ipv6, setup.networks[host], shared) {
        (true, ..) => Ipv6Addr::new(0x2001, 0xdb8, host as u16, 0, 0, 0, 0, u16::from(last)).into(),
        // Behind one NAT without a common network, as two subscribers of a carrier.
        (_, _, true) => Ipv4Addr::new(10, 1, 0, last).into(),
        (_, HostNetwork::Public | HostNetwork::Isolated, _) => {
            Ipv4Addr::new(198, 51, 100, last).into()
        }
        _ => Ipv4Addr::new(10, host as u8, 0, last).into(),
    }
}

impl Network {
    pub(super) fn new(setup: &Setup, seed: u64) -> Network {
        let mut network = Network {
            nats: Vec::new(),
            chains: [Vec::new(), Vec::new()],
            isolated: setup.networks.map(|one| one == HostNetwork::Isolated),
            addresses: [Ipv4Addr::UNSPECIFIED.into(); 2],
            rendezvous: rendezvous_address(setup.ipv6).ip(),
            delays: setup.delays,
            jitter: setup.jitter,
            loss: setup.loss,
            tampering: setup.tampering,
            rng: Rng::fork(seed, 2),
            under_way: BTreeMap::new(),
            queued: 0,
            sent: 0,
            tampered: 0,
            dark_until: Time::ZERO,
            is_calm: false,
        };
        for host in 0..2 {
            let shared = setup.together.is_some() && host == 1;
            if shared {
                network.chains[1] = network.chains[0].clone();
                network.isolated[1] = false;
            } else {
                network.add_nats(host, setup, seed);
            }
            network.addresses[host] = private_address(setup, host, shared);
        }
        network
    }

    fn add_nats(&mut self, host: usize, setup: &Setup, seed: u64) {
        let mut add = |config: Config| {
            let index = self.nats.len();
            self.nats.push(Nat::new(config, seed.wrapping_add(index as u64)));
            self.chains[host].push(index);
        };
        let config = |inner: bool| {
            let external = match inner {
                true => Ipv4Addr::new(100, 64, host as u8, 1),
                false => Ipv4Addr::new(192, 0, 2, 1 + host as u8),
            };
            // Without an external address it is a firewall.
            Config::new(if setup.ipv6 { Vec::new() } else { vec![external.into()] })
        };
        match setup.networks[host] {
            HostNetwork::Public | HostNetwork::Isolated => {}
            HostNetwork::Nat { mapping, filtering, ports } => {
                let hairpin = setup.together.unwrap_or(true);
                let config = config(false).behaving(mapping, filtering);
                add(Config { ports, hairpin, ..config });
            }
            HostNetwork::Carrier { filtering } => {
                for inner in [true, false] {
                    add(config(inner).behaving(Dependence::Independent, filtering));
                }
            }
            HostNetwork::UdpBlocked => {
                let config = config(false);
                add(Config { block_udp: true, tcp_ports: Some(vec![443]), ..config });
            }
        }
    }

    pub(super) fn reboot(&mut self, host: usize) {
        for index in &self.chains[host] {
            self.nats[*index].reboot();
        }
    }

    /// Gives a host another local address.
    pub(super) fn renumber(&mut self, host: usize) {
        self.addresses[host] = match self.addresses[host] {
            IpAddr::V4(ip) => Ipv4Addr::from_bits(ip.to_bits() + 2).into(),
            IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() + 2).into(),
        };
    }

    pub(super) fn is_dark(&self, now: Time) -> bool {
        now < self.dark_until
    }

    /// Sends a datagram of a host, or of the rendezvous.
    pub(super) fn send(&mut self, now: Time, from_host: Option<usize>, mut packet: Packet) {
        let delay = from_host.map_or(Span::ZERO, |host| self.delays[host]);
        self.sent += 1;
        if self.is_dark(now) || self.is_lost() || from_host.is_some_and(|one| self.isolated[one]) {
            return;
        }
        self.tamper(&mut packet);
        let mut flow =
            Flow { protocol: Protocol::Udp, source: packet.from, destination: packet.to };
        if let Some(host) = from_host {
            let chain = self.chains[host].clone();
            for (level, index) in chain.iter().enumerate() {
                match self.nats[*index].translate(now, Side::Inside, flow) {
                    Ok((Side::Outside, out)) => flow = out,
                    // Hairpin: back through the NATs below.
                    Ok((Side::Inside, back)) => {
                        return self.deliver_inside(now, &chain[..level], back, packet, delay);
                    }
                    Err(_) => return,
                }
            }
        }
        let packet = Packet { from: flow.source, to: flow.destination, ..packet };
        self.queue(now + delay, Stage::Core, packet);
    }

    /// A datagram of a host passes its NATs and ends there. The outermost may be too far for it.
    pub(super) fn open_nat(&mut self, now: Time, host: usize, packet: &Packet) {
        self.sent += 1;
        if self.is_dark(now) || self.is_lost() || self.isolated[host] {
            return;
        }
        let flow = Flow { protocol: Protocol::Udp, source: packet.from, destination: packet.to };
        if let Some(inner) = self.chains[host].first() {
            let _ = self.nats[*inner].translate(now, Side::Inside, flow);
        }
    }

    fn tamper(&mut self, packet: &mut Packet) {
        if !self.is_calm && self.rng.chance(self.tampering) && !packet.bytes.is_empty() {
            let bit = self.rng.below(8 * packet.bytes.len() as u64) as usize;
            packet.bytes[bit / 8] ^= 1 << (bit % 8);
            self.tampered += 1;
        }
    }

    fn deliver_inside(
        &mut self,
        now: Time,
        below: &[usize],
        mut flow: Flow,
        packet: Packet,
        delay: Span,
    ) {
        for index in below.iter().rev() {
            match self.nats[*index].translate(now, Side::Outside, flow) {
                Ok((_, inner)) => flow = inner,
                Err(_) => return,
            }
        }
        let packet = Packet { from: flow.source, to: flow.destination, ..packet };
        self.queue(now + delay * 2, Stage::Inside, packet);
    }

    fn queue(&mut self, at: Time, stage: Stage, packet: Packet) {
        let jitter = Span::from_nanos(self.rng.below(self.jitter.as_nanos() + 1));
        // The count keeps datagrams of one time apart, and in order.
        self.queued += 1;
        self.under_way.insert((at + jitter, self.queued), (stage, packet));
    }

    fn is_lost(&mut self) -> bool {
        !self.is_calm && self.rng.chance(self.loss)
    }

    pub(super) fn next(&self) -> Option<Time> {
        self.under_way.keys().next().map(|(at, _)| *at)
    }

    /// The next datagram that has reached its end by `now`.
    pub(super) fn arrive(&mut self, now: Time) -> Option<Arrival> {
        while let Some(entry) = self.under_way.first_entry().filter(|one| one.key().0 <= now) {
            let (stage, packet) = entry.remove();
            let arrival = match stage {
                Stage::Core => self.leave_core(now, packet),
                Stage::Inside => self.at_host(packet),
            };
            if arrival.is_some() {
                return arrival;
            }
        }
        None
    }

    fn at_host(&self, packet: Packet) -> Option<Arrival> {
        let host = self.addresses.iter().position(|ip| *ip == packet.to.ip())?;
        Some(Arrival::Host(host, packet))
    }

    /// The host in whose network the Internet delivers a destination.
    fn host_of(&self, ip: IpAddr) -> Option<usize> {
        (0..2).find(|host| match self.chains[*host].last() {
            Some(index) if !self.nats[*index].config().external.is_empty() => {
                self.nats[*index].owns(ip)
            }
            _ => self.addresses[*host] == ip,
        })
    }

    fn leave_core(&mut self, now: Time, packet: Packet) -> Option<Arrival> {
        if packet.to.ip() == self.rendezvous {
            return Some(Arrival::Rendezvous(packet));
        }
        let host = self.host_of(packet.to.ip())?;
        if self.is_dark(now) || self.isolated[host] || self.is_lost() {
            return None;
        }
        let mut flow =
            Flow { protocol: Protocol::Udp, source: packet.from, destination: packet.to };
        for index in self.chains[host].clone().iter().rev() {
            flow = self.nats[*index].translate(now, Side::Outside, flow).ok()?.1;
        }
        let packet = Packet { from: flow.source, to: flow.destination, ..packet };
        self.queue(now + self.delays[host], Stage::Inside, packet);
        None
    }
}
