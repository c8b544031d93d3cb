//! Bursts through a modelled bottleneck, in virtual time: what its rate and its queue predict.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::server::config;
use common::{PATH, Path, World, settings};
use std::collections::VecDeque;
use std::sync::Arc;
use windlass_base::{Span, Time};
use windlass_probe::burst::{Estimate, SizeRow};
use windlass_probe::session::BurstOutcome;
use windlass_probe::{Ending, Session, Settings, Target};
use windlass_probe_serve::{EngineServer, Server, page, says};
use windlass_tcp::cc::ControllerFactory;
use windlass_tcp::{Config, Profile};

/// 1.2 ms for a packet of 1500 bytes.
const RATE_BIT: u64 = 10_000_000;
const PACKET_MS: f64 = 1.2;

/// A server behind a link with a rate and a queue of `places` packets, besides the one on the wire.
struct Bottleneck<S> {
    server: S,
    places: usize,
    waiting: VecDeque<Vec<u8>>,
    /// The packet on the wire, and when it has left.
    on_wire: Option<(Time, Vec<u8>)>,
}

impl<S: Server> Bottleneck<S> {
    fn new(places: usize, server: S) -> Bottleneck<S> {
        Bottleneck { server, places, waiting: VecDeque::new(), on_wire: None }
    }

    fn take(&mut self, now: Time) {
        while let Some(packet) = self.server.poll_packet(now) {
            if self.on_wire.is_none() {
                self.send(now, packet);
            } else if self.waiting.len() < self.places {
                self.waiting.push_back(packet);
            }
        }
    }

    fn send(&mut self, now: Time, packet: Vec<u8>) {
        let ns = packet.len() as u64 * 8 * 1_000_000_000 / RATE_BIT;
        self.on_wire = Some((now + Span::from_nanos(ns), packet));
    }
}

impl<S: Server> Server for Bottleneck<S> {
    fn handle_packet(&mut self, now: Time, packet: &[u8]) {
        self.server.handle_packet(now, packet);
    }

    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        self.take(now);
        let (_, packet) = self.on_wire.take_if(|(at, _)| *at <= now)?;
        if let Some(next) = self.waiting.pop_front() {
            self.send(now, next);
        }
        Some(packet)
    }

    fn poll_timeout(&self) -> Option<Time> {
        let wire = self.on_wire.as_ref().map(|(at, _)| *at);
        self.server.poll_timeout().into_iter().chain(wire).min()
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.server.poll_timeout().is_some_and(|at| at <= now) {
            self.server.handle_timeout(now);
        }
    }
}

fn sizes(bursts: &[u16], runs: u32) -> Settings {
    Settings { bursts: bursts.to_vec(), ..settings(&[], runs) }
}

fn measure(path: Path, seed: u64, server: impl Server, settings: Settings) -> BurstOutcome {
    let mut world = World::new(path, seed).with("192.0.2.1:80", server);
    let target = Target::parse("http://192.0.2.1/").expect("a target");
    let mut session = Session::new(target, settings);
    world.run(&mut session, &[]);
    session.burst_outcome()
}

fn engine(config: Config) -> impl Server {
    EngineServer::new(config, says(page(600_000)))
}

fn row(outcome: &BurstOutcome, packets: u32) -> &SizeRow {
    outcome.verdict.sizes.iter().find(|row| row.packets == packets).expect("a size")
}

fn is_near(ms: Option<f64>, expected: f64) -> bool {
    ms.is_some_and(|ms| (ms - expected).abs() < 0.01)
}

/// Stacks that grow by ACKs, by bytes, and by CUBIC with HyStart, with small and large initial windows.
fn stacks() -> Vec<Config> {
    let cubic: Arc<dyn ControllerFactory> = Arc::new(Profile::Linux.cubic());
    let cubic = Profile::Linux.config(1460, cubic).with(|c| c.buffers.send = 1 << 20);
    vec![
        config(Profile::Rfc2581, 3),
        config(Profile::Rfc5681, 1),
        config(Profile::Rfc3465, 4),
        config(Profile::Linux, 10),
        config(Profile::Linux, 32),
        cubic,
    ]
}

#[test]
fn a_queue_adds_the_time_of_the_packets_before_and_loses_those_without_a_place() {
    const PLACES: usize = 40;
    const RUNS: u32 = 10;
    for (index, config) in stacks().into_iter().enumerate() {
        let server = Bottleneck::new(PLACES, engine(config));
        let outcome = measure(PATH, 1, server, sizes(&[2, 4, 8, 16, 32, 64], RUNS));
        for packets in [2, 4, 8, 16, 32] {
            let row = row(&outcome, packets);
            assert_eq!(row.runs, (RUNS, RUNS), "stack {index}: {outcome:?}");
            assert_eq!(
                (row.sent, row.lost),
                (u64::from(RUNS * packets), 0),
                "stack {index}: {row:?}"
            );
            // The first packet of the answer is full: what follows waits for those before it.
            let expected = f64::from(packets - 1) * PACKET_MS;
            assert!(is_near(row.added_ms, expected), "stack {index}: {row:?}");
            assert!(is_near(row.rate_mbit, 10.0), "stack {index}: {row:?}");
        }
        let most = row(&outcome, 64);
        // The first run shows which way to grow loses nothing.
        let measured = u64::from(most.runs.1);
        assert!(
            measured + 1 >= u64::from(RUNS),
            "stack {index}: {most:?} {:?}",
            outcome.verdict.notes
        );
        assert_eq!((most.sent, most.lost), (measured * 64, measured * 23), "stack {index}");
        assert!(is_near(most.added_ms, PLACES as f64 * PACKET_MS), "stack {index}: {most:?}");
        let difference = outcome.verdict.difference.expect("two sizes");
        assert!((difference.added_ms.value - 39.0 * PACKET_MS).abs() < 0.01, "{difference:?}");
        let Estimate { value, low, high } = difference.loss;
        assert!((value - 23.0 / 64.0).abs() < 1e-9 && low > 0.0 && high < 0.5, "{difference:?}");
        let said = difference.to_string();
        assert!(
            said.starts_with("64 packets at once add 46.8 ms (46.8 to 46.8) and lose 35.9 % ("),
            "{said}"
        );
    }
}

/// This stack's window grows only while the flight fills it (RFC 7661), so smaller flights do not do.
#[test]
fn a_stack_whose_window_must_be_full_reaches_what_the_queue_takes() {
    let server = Bottleneck::new(70, engine(config(Profile::Rfc5681, 1)));
    let outcome = measure(PATH, 1, server, sizes(&[2, 64], 2));
    assert_eq!((row(&outcome, 64).runs, row(&outcome, 64).lost), ((2, 2), 0), "{outcome:?}");
}

#[test]
fn a_flight_that_needs_more_than_the_queue_is_not_reached() {
    let server = Bottleneck::new(15, engine(config(Profile::Linux, 10)));
    let outcome = measure(PATH, 1, server, sizes(&[2, 16, 64], 5));
    assert_eq!(row(&outcome, 16).lost, 0);
    assert_eq!(row(&outcome, 64).runs, (5, 0));
    assert!(outcome.runs.iter().any(|run| run.ending == Ending::LostBefore), "{outcome:?}");
    let note = "5 of 5 runs with 64 packets: a packet was lost while the window grew";
    assert!(outcome.verdict.notes.iter().any(|said| said == note), "{:?}", outcome.verdict.notes);
    assert_eq!(outcome.verdict.difference.expect("two sizes").packets, 16);
}

#[test]
fn without_a_bottleneck_there_is_no_difference_and_its_bound_is_reported() {
    let outcome = measure(PATH, 1, engine(config(Profile::Linux, 10)), sizes(&[2, 10], 5));
    let difference = outcome.verdict.difference.expect("two sizes");
    assert!(is_near(Some(difference.added_ms.value), 0.0), "{difference:?}");
    let said = difference.to_string();
    assert!(said.starts_with("no certain difference between 10 packets at once and 2;"), "{said}");
}

#[test]
fn random_loss_is_found_within_its_interval() {
    let path = Path { loss: 0.05, ..PATH };
    let outcome = measure(path, 3, engine(config(Profile::Linux, 32)), sizes(&[8, 16, 32], 60));
    for packets in [8, 32] {
        let row = row(&outcome, packets);
        assert!(row.runs.1 >= 40, "{row:?}");
        assert!(row.loss.low < 0.05 && 0.05 < row.loss.high && row.loss.high < 0.13, "{row:?}");
    }
    let loss = outcome.verdict.difference.expect("two sizes").loss;
    assert!(loss.low < 0.0 && loss.high > 0.0, "{loss:?}");
}

#[test]
fn a_window_that_does_not_grow_is_not_reached() {
    let constant = config(Profile::Linux, 6).with(|c| c.window.limit = Some(6 * 1460));
    let outcome = measure(PATH, 1, engine(constant), sizes(&[4, 16], 2));
    assert_eq!((row(&outcome, 4).runs, row(&outcome, 16).runs), ((2, 2), (2, 0)));
    assert!(outcome.runs.iter().any(|run| run.ending == Ending::NotReached), "{outcome:?}");
}

#[test]
fn without_window_scaling_only_bursts_up_to_64_kb_are_measured() {
    let config = config(Profile::Linux, 10).with(|c| c.extensions.window_scaling = false);
    let outcome = measure(PATH, 1, engine(config), sizes(&[2, 32, 64], 2));
    let sizes: Vec<(u32, (u32, u32))> =
        outcome.verdict.sizes.iter().map(|row| (row.packets, row.runs)).collect();
    assert_eq!(sizes, [(2, (2, 2)), (32, (2, 2))]);
    assert!(
        outcome.verdict.notes.iter().any(|note| note.starts_with("64 packets: ")),
        "{outcome:?}"
    );
}
