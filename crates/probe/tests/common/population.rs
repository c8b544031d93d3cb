//! A population of web servers as data, and the network with all of them.
#![allow(dead_code, reason = "the tests and the example use a part each")]

use super::server::{EngineServer, Raw, Server, page, says};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use windlass_base::{Rng, Span, Time};
use windlass_probe::wire::{self, Flow, Kind, Meta, Received};
use windlass_tcp::cc::Reno;
use windlass_tcp::config::Growth;
use windlass_tcp::{Config, Flags, Options, Profile, Segment, SeqNumber};

/// A server, and the path to it. The field names are the columns of a population's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) address: IpAddr,
    /// `rfc2581`, `rfc3465-1`, `rfc3465-2`, `linux`; `silent`; `refuse`, a reset for every SYN; `reset`,
    /// one for every request.
    pub(crate) stack: String,
    /// In segments.
    pub(crate) initial_window: u32,
    pub(crate) mss: u16,
    pub(crate) rtt_ms: f64,
    /// Probability that a packet is lost, in each direction.
    pub(crate) loss: f64,
    pub(crate) page_bytes: usize,
}

impl Spec {
    /// What a survey is to call its reaction; none for those that do not answer.
    pub(crate) fn reaction(&self) -> Option<&'static str> {
        match self.stack.as_str() {
            "rfc2581" => Some("counts-acks"),
            "rfc3465-1" | "rfc3465-2" | "linux" => Some("counts-bytes"),
            _ => None,
        }
    }

    /// The line of a list of hosts.
    pub(crate) fn url(&self) -> String {
        match self.address {
            IpAddr::V4(v4) => format!("http://{v4}/"),
            IpAddr::V6(v6) => format!("http://[{v6}]/"),
        }
    }

    fn server(&self) -> Option<Box<dyn Server>> {
        Some(match self.stack.as_str() {
            "silent" => return None,
            "refuse" => Box::new(Raw::new(refuse)),
            "reset" => Box::new(Raw::new(reset)),
            _ => Box::new(EngineServer::new(self.config(), says(page(self.page_bytes)))),
        })
    }

    fn config(&self) -> Config {
        let (profile, growth) = match self.stack.as_str() {
            "rfc3465-1" => (Profile::Rfc3465, Some(Growth::PerByte { limit: 1 })),
            "rfc3465-2" => (Profile::Rfc3465, Some(Growth::PerByte { limit: 2 })),
            "linux" => (Profile::Linux, None),
            _ => (Profile::Rfc2581, None),
        };
        let config = profile.config(self.mss, Arc::new(Reno));
        Config {
            initial_window: self.initial_window,
            nagle: false,
            send_buffer: 64 << 10,
            receive_buffer: 64 << 10,
            growth: growth.unwrap_or(config.growth),
            ..config
        }
    }
}

/// So many servers in 10.99.0.0/16 and fd99::/64: of all stacks, initial windows and MSS, RTTs from 5 to
/// `rtt_max_ms`, every tenth with a loss of 1 %, every tenth not answering.
pub(crate) fn generate(count: u32, seed: u64, rtt_max_ms: f64) -> Vec<Spec> {
    let mut rng = Rng::new(seed);
    let mut pick = |from: &[&'static str]| from[rng.below(from.len() as u64) as usize];
    let stacks: Vec<&'static str> = (0..count)
        .map(|index| match index % 10 {
            9 => pick(&["silent", "refuse", "reset"]),
            _ => pick(&["rfc2581", "rfc3465-1", "rfc3465-2", "linux"]),
        })
        .collect();
    let spec = |(index, stack): (u32, &'static str)| {
        let v6 = index % 4 == 3;
        let number = u128::from(index) + 2;
        let address: IpAddr = match v6 {
            false => Ipv4Addr::from(0x0a63_0000 + number as u32).into(),
            true => Ipv6Addr::from((0xfd99 << 112) + number).into(),
        };
        let mss = [536, 1220, 1380, 1440][rng.below(4) as usize];
        Spec {
            address,
            stack: stack.to_owned(),
            initial_window: [2, 3, 4, 10, 10, 16][rng.below(6) as usize],
            mss,
            rtt_ms: (5.0 * (rtt_max_ms / 5.0).powf(rng.uniform())).round(),
            loss: if index % 10 == 4 { 0.01 } else { 0.0 },
            page_bytes: 60_000,
        }
    };
    (0..count).zip(stacks).map(spec).collect()
}

fn refuse(flow: &Flow, received: &Received<'_>) -> Vec<(Span, Vec<u8>)> {
    received.segment.reset_reply().map(|reset| now(flow, &reset)).into_iter().collect()
}

fn reset(flow: &Flow, received: &Received<'_>) -> Vec<(Span, Vec<u8>)> {
    let sent = &received.segment;
    if !sent.flags.contains(Flags::SYN) {
        let some = received.payload.first().and(sent.reset_reply());
        return some.map(|reset| now(flow, &reset)).into_iter().collect();
    }
    let answer = Segment {
        seq: SeqNumber(7),
        ack: sent.seq.at(1),
        flags: Flags::SYN | Flags::ACK,
        window: 60_000,
        options: Options { mss: Some(1460), ..Options::default() },
        ..Segment::default()
    };
    vec![now(flow, &answer)]
}

fn now(flow: &Flow, segment: &Segment) -> (Span, Vec<u8>) {
    let mut packet = Vec::new();
    wire::emit(flow, segment, &[], 0, &mut packet);
    (Span::ZERO, packet)
}

struct Node {
    server: Box<dyn Server>,
    one_way: Span,
    loss: f64,
    timer: Option<Time>,
}

enum Way {
    There,
    Back,
}

/// All servers of a population, and their paths; without a clock of its own.
pub(crate) struct Network {
    nodes: BTreeMap<IpAddr, Node>,
    /// By time, then in order.
    wire: BTreeMap<(Time, u64), (Way, IpAddr, Vec<u8>)>,
    timers: BTreeSet<(Time, IpAddr)>,
    arrived: std::collections::VecDeque<Vec<u8>>,
    rng: Rng,
    count: u64,
}

impl Network {
    pub(crate) fn new(population: &[Spec], seed: u64) -> Network {
        let node = |spec: &Spec| {
            let one_way = Span::from_secs_f64(spec.rtt_ms / 2000.0);
            let server = spec.server()?;
            Some((spec.address, Node { server, one_way, loss: spec.loss, timer: None }))
        };
        Network {
            nodes: population.iter().filter_map(node).collect(),
            wire: BTreeMap::new(),
            timers: BTreeSet::new(),
            arrived: Default::default(),
            rng: Rng::new(seed),
            count: 0,
        }
    }

    /// The client has sent a packet.
    pub(crate) fn take(&mut self, now: Time, packet: Vec<u8>) {
        let Some(incoming) = wire::parse(&packet, Meta::default()) else { return };
        if !matches!(incoming.kind, Kind::Segment(_)) {
            return;
        }
        let to = incoming.flow.local.ip();
        self.put(now, Way::There, to, packet);
    }

    fn put(&mut self, now: Time, way: Way, address: IpAddr, packet: Vec<u8>) {
        let Some(node) = self.nodes.get(&address) else { return };
        self.count += 1;
        if !self.rng.chance(node.loss) {
            self.wire.insert((now + node.one_way, self.count), (way, address, packet));
        }
    }

    /// When [`Network::poll`] has something to do.
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let packet = self.wire.keys().next().map(|(at, _)| *at);
        let timer = self.timers.first().map(|(at, _)| *at);
        packet.into_iter().chain(timer).min()
    }

    /// What has come back to the client by now.
    pub(crate) fn poll(&mut self, now: Time) -> Option<Vec<u8>> {
        while self.poll_timeout().is_some_and(|at| at <= now) {
            let timer = self.timers.first().copied().filter(|(at, _)| *at <= now);
            match self.wire.first_entry().filter(|entry| entry.key().0 <= now) {
                Some(entry) => match entry.remove() {
                    (Way::There, address, packet) => self.call(now, address, Some(&packet)),
                    (Way::Back, _, packet) => self.arrived.push_back(packet),
                },
                None => timer.into_iter().for_each(|(_, address)| self.call(now, address, None)),
            }
        }
        self.arrived.pop_front()
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
        let old = std::mem::replace(&mut node.timer, node.server.poll_timeout());
        let new = node.timer;
        old.map(|old| self.timers.remove(&(old, address)));
        new.map(|new| self.timers.insert((new, address)));
        for packet in sent {
            self.put(now, Way::Back, address, packet);
        }
    }
}

/// A population's file.
pub(crate) fn write(population: &[Spec]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    population.iter().for_each(|spec| writer.serialize(spec).expect("flat"));
    String::from_utf8(writer.into_inner().expect("memory")).expect("text")
}

pub(crate) fn read(text: &str) -> Result<Vec<Spec>, csv::Error> {
    csv::Reader::from_reader(text.as_bytes()).deserialize().collect()
}
