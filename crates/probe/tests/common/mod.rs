//! A world for probes: servers made of the engine, and hostile ones, behind a path in virtual time.

pub(crate) mod accurate;
pub(crate) mod engine;
pub(crate) mod marking;
#[cfg(target_os = "linux")]
pub(crate) mod namespace;
pub(crate) mod server;
pub(crate) mod smoltcp;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use windlass_base::{Rng, Span, Time};
use windlass_probe::dialogue::{Dialogue, Exchange};
use windlass_probe::session::{Runs, Settings, Step};
use windlass_probe::split::SplitOrder;
use windlass_probe::wire::{self, Flow, Meta};
use windlass_probe::{Order, Probe, Purpose, Report, Session, Test, http, tls};
use windlass_probe_serve::Server;

/// The path between probe and server.
#[derive(Copy, Clone)]
pub(crate) struct Path {
    /// The one-way delay.
    pub(crate) delay: Span,
    /// Probability that a packet of the server is lost.
    pub(crate) loss: f64,
}

pub(crate) const PATH: Path = Path { delay: Span::from_millis(20), loss: 0.0 };

/// Servers by address, and the time.
pub(crate) struct World<'a> {
    pub(crate) now: Time,
    pub(crate) path: Path,
    rng: Rng,
    servers: BTreeMap<SocketAddr, Box<dyn Server + 'a>>,
    ports: u16,
    /// Packets of the probe that arrived after it was over.
    pub(crate) resets: usize,
}

enum Side {
    Probe,
    Server,
}

impl<'a> World<'a> {
    pub(crate) fn new(path: Path, seed: u64) -> World<'a> {
        World {
            now: Time::ZERO,
            path,
            rng: Rng::new(seed),
            servers: BTreeMap::new(),
            ports: 61_000,
            resets: 0,
        }
    }

    pub(crate) fn with(mut self, address: &str, server: impl Server + 'a) -> World<'a> {
        self.servers.insert(address.parse().expect("an address"), Box::new(server));
        self
    }

    /// One connection from beginning to end.
    pub(crate) fn connect(&mut self, remote: SocketAddr, order: Order) -> Report {
        self.ports = self.ports.checked_add(1).unwrap_or(61_000);
        let ip = if remote.is_ipv4() { "192.0.2.99" } else { "2001:db8::99" };
        let local = SocketAddr::new(ip.parse().expect("an address"), self.ports);
        let isn = self.rng.bits() as u32;
        let mut probe = Probe::new(order, Flow { local, remote }, isn, self.now);
        let begun = self.now;
        // By time, then in order.
        let mut wire: BTreeMap<(Time, u64), (Side, Vec<u8>)> = BTreeMap::new();
        let mut count = 0;
        loop {
            let mut packet = Vec::new();
            while probe.poll_transmit(self.now, &mut packet) {
                count += 1;
                wire.insert((self.now + self.path.delay, count), (Side::Server, packet.clone()));
                packet.clear();
            }
            if let Some(server) = self.servers.get_mut(&remote) {
                while let Some(packet) = server.poll_packet(self.now) {
                    count += 1;
                    assert!(count < 200_000, "a storm");
                    if !self.rng.chance(self.path.loss) {
                        wire.insert((self.now + self.path.delay, count), (Side::Probe, packet));
                    }
                }
            }
            if let Some(report) = probe.report() {
                self.finish(remote, wire);
                return report.clone();
            }
            let server = self.servers.get(&remote).and_then(|server| server.poll_timeout());
            let next = wire.keys().next().map(|(at, _)| *at);
            let at = [probe.poll_timeout(), server, next].into_iter().flatten().min();
            self.now = self.now.max(at.expect("a probe that is not over wants to be called"));
            assert!(self.now.saturating_since(begun) < Span::from_secs(60), "a hang");
            self.deliver(&mut probe, remote, &mut wire);
        }
    }

    fn deliver(
        &mut self,
        probe: &mut Probe,
        remote: SocketAddr,
        wire: &mut BTreeMap<(Time, u64), (Side, Vec<u8>)>,
    ) {
        while let Some(entry) = wire.first_entry().filter(|entry| entry.key().0 <= self.now) {
            match (entry.remove(), self.servers.get_mut(&remote)) {
                ((Side::Server, packet), Some(server)) => server.handle_packet(self.now, &packet),
                ((Side::Probe, packet), _) => {
                    if let Some(incoming) = wire::parse(&packet, Meta::default())
                        && incoming.flow == *probe.flow()
                    {
                        probe.handle_packet(self.now, &incoming.kind);
                    }
                }
                _ => {}
            }
        }
        if probe.poll_timeout().is_some_and(|at| at <= self.now) {
            probe.handle_timeout(self.now);
        }
        if let Some(server) = self.servers.get_mut(&remote)
            && server.poll_timeout().is_some_and(|at| at <= self.now)
        {
            server.handle_timeout(self.now);
        }
    }

    /// Delivers the packets that are still in flight to the server, such as the reset.
    fn finish(&mut self, remote: SocketAddr, wire: BTreeMap<(Time, u64), (Side, Vec<u8>)>) {
        self.now += self.path.delay;
        for (side, packet) in wire.into_values() {
            let Some(server) = self.servers.get_mut(&remote) else { continue };
            if matches!(side, Side::Server) {
                server.handle_packet(self.now, &packet);
                self.resets += usize::from(is_reset(&packet));
            }
        }
        if let Some(server) = self.servers.get_mut(&remote) {
            while server.poll_packet(self.now).is_some() {}
        }
    }

    /// A session from beginning to end; a name's addresses are `addresses`.
    pub(crate) fn run(&mut self, session: &mut Session, addresses: &[(&str, &str)]) {
        loop {
            match session.step() {
                Step::Done => return,
                Step::Resolve { host, port } => {
                    let known = addresses.iter().filter(|(name, _)| *name == host);
                    let known = known.map(|(_, ip)| SocketAddr::new(ip.parse().expect("IP"), port));
                    let known: Vec<SocketAddr> = known.collect();
                    let literal = host.parse().ok().map(|ip| vec![SocketAddr::new(ip, port)]);
                    let found = literal.or((!known.is_empty()).then_some(known));
                    session.handle_addresses(found.ok_or("no such name".to_owned()));
                }
                Step::Connect { remote, order } => {
                    let report = self.connect(remote, *order);
                    session.handle_report(report);
                }
            }
        }
    }
}

fn is_reset(packet: &[u8]) -> bool {
    match wire::parse(packet, Meta::default()).map(|incoming| incoming.kind) {
        Some(wire::Kind::Segment(received)) => {
            received.segment.flags.contains(windlass_tcp::Flags::RST)
        }
        _ => false,
    }
}

pub(crate) fn settings(tests: &[Test], runs: u32) -> Settings {
    Settings {
        tests: tests.to_vec(),
        bursts: Vec::new(),
        runs: Runs::Exactly(runs),
        acks: 3,
        timeout: Span::from_secs(3),
        patience: Span::from_secs(6),
        mss: None,
        family: None,
        user_agent: http::USER_AGENT.to_owned(),
        scheme: None,
        exchange: Exchange::default(),
        find_object: false,
        ecn: false,
        controllers: None,
        tls: tls::client_config().expect("sound"),
    }
}

pub(crate) const A_TO_E_AND_S: [Test; 6] = [
    Test::Split(1),
    Test::Split(2),
    Test::Split(4),
    Test::Split(8),
    Test::Split(12),
    Test::Stretch,
];

/// A measurement without a session.
pub(crate) fn order(test: Test) -> Order {
    Order {
        purpose: Purpose::Measure(SplitOrder { test, acks: 3, timeout: Span::from_secs(3) }),
        dialogue: Dialogue::http(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec()),
        tls: None,
        handshake: Span::from_secs(6),
        patience: Span::from_secs(6),
        mss: 1460,
        window: 256 * 1024,
        supply: 0,
    }
}
