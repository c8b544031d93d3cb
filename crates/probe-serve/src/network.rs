//! The paths between the clients and all servers of a population: delay, loss, and the order of arrival. tun.rs
//! drives it by the clock, tests by virtual time.

use crate::ended::{Accounts, Ended};
use crate::population::Spec;
use crate::server::Server;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::IpAddr;
use windlass_base::{Deadlines, Rng, Span, Time};
use windlass_probe::wire::{self, Kind, Meta};
use windlass_tcp::Config;

struct Node {
    server: Box<dyn Server>,
    one_way: Span,
    loss: f64,
    timer: Option<Time>,
}

/// The direction of a packet on a path.
enum Direction {
    ToServer,
    ToClient,
}

/// All servers of a population, and their paths. The caller passes the time.
pub struct Network {
    nodes: BTreeMap<IpAddr, Node>,
    /// Packets in flight, by arrival time and then in the order of sending.
    wire: BTreeMap<(Time, u64), (Direction, IpAddr, Vec<u8>)>,
    timers: Deadlines<IpAddr>,
    arrived: VecDeque<Vec<u8>>,
    ended: Accounts,
    rng: Rng,
    count: u64,
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").field("servers", &self.nodes.len()).finish_non_exhaustive()
    }
}

impl Network {
    /// The servers of a population, with Reno at each; `seed` decides which packets are lost. Packets to a
    /// silent host vanish, as those to an address without one.
    pub fn new(population: &[Spec], seed: u64) -> Network {
        Network::configured(population, seed, |_, _| {})
    }

    /// The same with the options of each server's engine that `change` sets, such as the controller, which is Reno
    /// otherwise. It finds the names of [`Spec::controller`].
    pub fn configured(
        population: &[Spec],
        seed: u64,
        change: impl Fn(&Spec, &mut Config),
    ) -> Network {
        let node = |spec: &Spec| {
            let one_way = Span::from_secs_f64(spec.rtt_ms / 2000.0);
            // None is a silent host.
            let server = spec.configured_server(|config| change(spec, config))?;
            Some((spec.address, Node { server, one_way, loss: spec.loss, timer: None }))
        };
        Network::of(population.iter().filter_map(node).collect(), seed)
    }

    /// The given servers, each at its address behind a lossless path with this RTT.
    pub fn with_servers(servers: Vec<(IpAddr, Box<dyn Server>)>, rtt: Span) -> Network {
        let node = |(address, server)| {
            let one_way = Span::from_nanos(rtt.as_nanos() / 2);
            (address, Node { server, one_way, loss: 0.0, timer: None })
        };
        Network::of(servers.into_iter().map(node).collect(), 0)
    }

    fn of(nodes: BTreeMap<IpAddr, Node>, seed: u64) -> Network {
        Network {
            nodes,
            wire: BTreeMap::new(),
            timers: Deadlines::default(),
            arrived: VecDeque::new(),
            ended: Accounts::default(),
            rng: Rng::new(seed),
            count: 0,
        }
    }

    /// Takes a packet that the client has sent. Damaged segments and ICMP reach no server.
    pub fn take(&mut self, now: Time, packet: Vec<u8>) {
        let Some(incoming) = wire::parse(&packet, Meta::default()) else { return };
        if !matches!(incoming.kind, Kind::Segment(_)) {
            return;
        }
        // `parse` sees the packet as its receiver does, and this one is for the server.
        let to = incoming.flow.local.ip();
        self.put(now, Direction::ToServer, to, packet);
    }

    fn put(&mut self, now: Time, direction: Direction, address: IpAddr, packet: Vec<u8>) {
        let Some(node) = self.nodes.get(&address) else { return };
        self.count += 1;
        if !self.rng.chance(node.loss) {
            self.wire.insert((now + node.one_way, self.count), (direction, address, packet));
        }
    }

    /// The time of the next event for [`Network::poll`].
    pub fn poll_timeout(&self) -> Option<Time> {
        let packet = self.wire.keys().next().map(|(at, _)| *at);
        packet.into_iter().chain(self.timers.next()).min()
    }

    /// The next packet that has reached the client by `now`.
    pub fn poll(&mut self, now: Time) -> Option<Vec<u8>> {
        while self.poll_timeout().is_some_and(|at| at <= now) {
            match self.wire.first_entry().filter(|entry| entry.key().0 <= now) {
                Some(entry) => match entry.remove() {
                    (Direction::ToServer, address, packet) => {
                        self.call(now, address, Some(&packet))
                    }
                    (Direction::ToClient, _, packet) => self.arrived.push_back(packet),
                },
                None => self.expire(now),
            }
        }
        self.arrived.pop_front()
    }

    /// The next connection that a server has ended.
    pub fn poll_ended(&mut self) -> Option<Ended> {
        self.ended.pop()
    }

    fn expire(&mut self, now: Time) {
        let Some((_, address)) = self.timers.pop(now) else { return };
        if let Some(node) = self.nodes.get_mut(&address) {
            node.timer = None;
        }
        self.call(now, address, None);
    }

    fn call(&mut self, now: Time, address: IpAddr, packet: Option<&[u8]>) {
        let Some(node) = self.nodes.get_mut(&address) else { return };
        match packet {
            Some(packet) => node.server.handle_packet(now, packet),
            None => node.server.handle_timeout(now),
        }
        let mut sent = Vec::new();
        while let Some(packet) = node.server.poll_packet(now) {
            sent.push(packet);
        }
        while let Some(ended) = node.server.poll_ended() {
            self.ended.push(ended);
        }
        self.timers.set(&mut node.timer, node.server.poll_timeout(), address);
        for packet in sent {
            self.put(now, Direction::ToClient, address, packet);
        }
    }
}
