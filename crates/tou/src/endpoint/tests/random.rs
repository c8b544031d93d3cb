//! Random behavior of the network and the applications. The received bytes must be those sent, in
//! order, and in the end no connection may be left. A seed determines each case.

use super::network::{Network, Packet, address, config, pattern};
use crate::endpoint::{ConnectionId, Limits};
use proptest::prelude::*;
use std::collections::BTreeMap;
use windlass_base::{Ecn, Rng, Span};
use windlass_tcp::config::EcnEcho;
use windlass_tcp::{Config, Error};

const HOSTS: u8 = 4;
const BYTES_MAX: usize = 200_000;

/// One direction of a connection: the number of bytes of the pattern that were written and read.
#[derive(Default)]
struct Direction {
    written: usize,
    read: usize,
}

struct World {
    network: Network,
    rng: Rng,
    data: Vec<u8>,
    /// By sender and receiver.
    directions: BTreeMap<(u8, u8), Direction>,
    ends: Vec<(u8, ConnectionId)>,
}

/// Half of the ends have AccECN.
fn with_some_echo(rng: &mut Rng, config: Config) -> Config {
    let echo = if rng.chance(0.5) { EcnEcho::Accurate } else { EcnEcho::UntilCwr };
    config.with(|c| c.ecn.echo = echo)
}

impl World {
    fn new(seed: u64) -> World {
        let mut rng = Rng::new(seed);
        let limits = Limits { replies_per_s: 1000, ..Limits::default() };
        let mut network = Network::with_limits(HOSTS, limits);
        for host in 1..=HOSTS {
            let buffer = 1 << rng.below(8) << 10;
            let with = config().with(|c| {
                c.ecn.enabled = rng.below(2) == 0;
                c.extensions.timestamps = rng.below(4) > 0;
                c.extensions.sack = rng.below(4) > 0;
                c.buffers.send = buffer;
                c.buffers.receive = buffer;
            });
            let with = with_some_echo(&mut rng, with);
            network.host(host).listen(with, 1 + rng.below(3) as usize).expect("free");
        }
        let (loss, double) = (rng.below(10), rng.below(5));
        let mut dice = Rng::new(seed ^ 1);
        network.passes = Box::new(move |_: &Packet| dice.below(100) >= loss);
        let mut marks = Rng::new(seed ^ 2);
        network.changes = Box::new(move |packet| {
            if packet.ecn != Ecn::NotEct && marks.chance(0.1) {
                packet.ecn = Ecn::Ce;
            }
        });
        let mut world = World {
            network,
            rng,
            data: pattern(BYTES_MAX),
            directions: BTreeMap::new(),
            ends: Vec::new(),
        };
        world.network.doubles = double;
        world
    }

    fn step(&mut self) {
        match self.rng.below(12) {
            0 => self.connect(),
            1 => self.accept(),
            2 if self.rng.below(4) == 0 => self.release(),
            3 if self.rng.below(8) == 0 => self.abort(),
            4 => self.close(),
            5..=7 => self.write(),
            _ => self.read(),
        }
        let ms = 1 + self.rng.below(40);
        self.network.run(Span::from_millis(ms));
    }

    fn some_host(&mut self) -> u8 {
        1 + self.rng.below(u64::from(HOSTS)) as u8
    }

    fn some_end(&mut self) -> Option<(u8, ConnectionId)> {
        let len = self.ends.len() as u64;
        (len > 0).then(|| self.ends[self.rng.below(len) as usize])
    }

    fn peer_of(&mut self, (host, id): (u8, ConnectionId)) -> Option<u8> {
        let peer = self.network.host(host).peer(id)?;
        (1..=HOSTS).find(|host| address(*host) == peer)
    }

    fn connect(&mut self) {
        let (from, to) = (self.some_host(), self.some_host());
        let known = |pair| self.directions.contains_key(&pair);
        if from == to || known((from, to)) || known((to, from)) {
            return;
        }
        let now = self.network.now;
        let asks = config().with(|c| c.ecn.enabled = self.rng.below(4) > 0);
        let asks = with_some_echo(&mut self.rng, asks);
        let begun = self.network.host(from).connect(now, address(to), asks);
        self.ends.push((from, begun.expect("the first between these")));
        for pair in [(from, to), (to, from)] {
            self.directions.insert(pair, Direction::default());
        }
    }

    fn accept(&mut self) {
        for host in 1..=HOSTS {
            if let Some(id) = self.network.host(host).accept() {
                self.ends.push((host, id));
            }
        }
    }

    fn release(&mut self) {
        if let Some(end) = self.some_end() {
            self.ends.retain(|other| *other != end);
            self.network.release(end.0, end.1);
        }
    }

    fn abort(&mut self) {
        let Some((host, id)) = self.some_end() else { return };
        if let Some(stream) = self.network.host(host).stream_mut(id) {
            stream.connection_mut().abort();
        }
    }

    fn close(&mut self) {
        let now = self.network.now;
        let Some((host, id)) = self.some_end() else { return };
        if let Some(stream) = self.network.host(host).stream_mut(id) {
            stream.connection_mut().close(now);
        }
    }

    fn write(&mut self) {
        let Some(end) = self.some_end() else { return };
        let Some(peer) = self.peer_of(end) else { return };
        let written = &mut self.directions.get_mut(&(end.0, peer)).expect("known").written;
        let until = (*written + self.rng.below(20_000) as usize).min(BYTES_MAX);
        let Some(stream) = self.network.host(end.0).stream_mut(end.1) else { return };
        if let Ok(taken) = stream.write(&self.data[*written..until]) {
            *written += taken;
        }
    }

    fn read(&mut self) {
        for end in self.ends.clone() {
            let Some(peer) = self.peer_of(end) else { continue };
            let arrived = match self.network.read(end.0, end.1) {
                Ok(arrived) => arrived,
                Err(Error::Closed) => continue,
                Err(error) => panic!("{error}"),
            };
            let direction = self.directions.get_mut(&(peer, end.0)).expect("known");
            let until = direction.read + arrived.len();
            assert!(until <= direction.written, "more than was written");
            assert!(arrived == self.data[direction.read..until], "not what was written");
            direction.read = until;
        }
    }

    /// Releases all connections, and checks that no endpoint keeps one.
    fn end(mut self) {
        self.accept();
        self.read();
        for (host, id) in std::mem::take(&mut self.ends) {
            self.network.release(host, id);
        }
        for host in 1..=HOSTS {
            self.network.host(host).stop_listening();
        }
        self.network.run(Span::from_secs(3600));
        for (address, host) in &self.network.hosts {
            assert!(host.is_empty(), "{address} still has {host:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(windlass_testbed::cases(64)))]

    #[test]
    fn received_bytes_are_those_sent_and_no_connection_is_left(seed: u64) {
        let mut world = World::new(seed);
        for _ in 0..200 {
            world.step();
        }
        world.end();
    }
}
