//! Surveys of populations in virtual time: schedule and results.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::settings;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use windlass_base::{Deadlines, Rng, Span, Time};
use windlass_probe::survey::{Action, HostRow, Pace, Survey};
use windlass_probe::wire::{self, Flow, Meta};
use windlass_probe::{Probe, Test};
use windlass_probe_serve::{Network, Spec, Stack, generate, read, write};
use windlass_tcp::cc;

/// A survey of a network, and what it did.
struct Run {
    now: Time,
    survey: Survey,
    network: Network,
    probes: BTreeMap<Flow, (usize, Probe)>,
    timers: Deadlines<Flow>,
    rng: Rng,
    port: u16,
    rows: BTreeMap<String, HostRow>,
    begun: Vec<Time>,
    most_under_way: usize,
}

fn run(population: &[Spec], runs: u32, pace: Pace, seed: u64) -> Run {
    let tests = [Test::Split(1), Test::Split(4)];
    let hosts = population.iter().map(Spec::url).collect();
    let none = BTreeSet::new();
    let mut run = Run {
        now: Time::ZERO,
        survey: Survey::new(hosts, &none, settings(&tests, runs), pace, Arc::default()),
        network: Network::configured(population, seed, |spec, config| {
            let named = spec.controller.as_deref().and_then(cc::by_name);
            config.congestion = named.unwrap_or(Arc::clone(&config.congestion));
        }),
        probes: BTreeMap::new(),
        timers: Deadlines::default(),
        rng: Rng::new(seed),
        port: 61_000,
        rows: BTreeMap::new(),
        begun: Vec::new(),
        most_under_way: 0,
    };
    while !run.survey.is_done() {
        run.act();
        let next = [run.timers.next(), run.network.poll_timeout(), run.survey.poll_timeout()];
        let Some(next) = next.into_iter().flatten().min() else { continue };
        run.now = run.now.max(next);
        run.deliver();
    }
    run
}

impl Run {
    fn act(&mut self) {
        while let Some(action) = self.survey.poll_action(self.now) {
            match action {
                Action::Resolve { host, name, port } => {
                    let address = name.parse().map(|ip| vec![SocketAddr::new(ip, port)]);
                    let address = address.map_err(|_| "a name".to_owned());
                    self.survey.handle_addresses(self.now, host, address);
                }
                Action::Connect { host, remote, order } => {
                    self.port = self.port.checked_add(1).unwrap_or(61_000);
                    let ip = if remote.is_ipv4() { "10.99.255.1" } else { "fd99::ffff" };
                    let local = SocketAddr::new(ip.parse().expect("an address"), self.port);
                    let flow = Flow { local, remote };
                    assert!(
                        !self.probes.keys().any(|other| other.remote.ip() == remote.ip()),
                        "two connections at a time to {remote}"
                    );
                    let isn = self.rng.bits() as u32;
                    let probe = Probe::new(*order, flow, isn, self.now);
                    self.probes.insert(flow, (host, probe));
                    self.begun.push(self.now);
                    self.serve(flow);
                }
                Action::Finished { host, outcome } => {
                    let row = HostRow::of(self.survey.host(host), &outcome);
                    self.rows.insert(row.host.clone(), row);
                }
            }
        }
        self.most_under_way = self.most_under_way.max(self.survey.left().1);
    }

    fn deliver(&mut self) {
        while let Some(packet) = self.network.poll(self.now) {
            let incoming = wire::parse(&packet, Meta::default()).expect("a packet");
            if let Some((_, probe)) = self.probes.get_mut(&incoming.flow) {
                let before = probe.poll_timeout();
                probe.handle_packet(self.now, &incoming.kind);
                if let Some(at) = before {
                    self.timers.remove(at, incoming.flow);
                }
                self.serve(incoming.flow);
            }
        }
        while let Some((_, flow)) = self.timers.pop(self.now) {
            if let Some((_, probe)) = self.probes.get_mut(&flow) {
                probe.handle_timeout(self.now);
                self.serve(flow);
            }
        }
    }

    fn serve(&mut self, flow: Flow) {
        let Some((host, probe)) = self.probes.get_mut(&flow) else { return };
        let mut packet = Vec::new();
        while probe.poll_transmit(self.now, &mut packet) {
            self.network.take(self.now, std::mem::take(&mut packet));
        }
        match (probe.report().cloned(), probe.poll_timeout()) {
            (Some(report), _) => {
                let host = *host;
                self.probes.remove(&flow);
                self.survey.handle_report(self.now, host, report);
            }
            (None, Some(at)) => self.timers.insert(at, flow),
            (None, None) => panic!("a probe that is not over wants to be called"),
        }
    }

    /// The number of servers that answer, and the names of those with a wrong verdict.
    fn wrong(&self, population: &[Spec]) -> (usize, Vec<String>) {
        let answering: Vec<&Spec> =
            population.iter().filter(|spec| spec.reaction().is_some()).collect();
        let wrong = answering.iter().filter_map(|spec| {
            let row = self.rows.get(&spec.url())?;
            let right = row.reaction == spec.reaction().unwrap_or_default()
                && row.initial_window_packets == Some(spec.initial_window)
                && row.initial_window_exact == Some(true);
            (!right).then(|| format!("{spec:?}: {row:?}"))
        });
        (answering.len(), wrong.collect())
    }
}

const PACE: Pace = Pace { rate: 50.0, under_way_max: 500, pause: Span::from_secs(1) };

#[test]
fn each_server_of_a_population_gets_its_own_verdict() {
    let population = generate(40, 1, 300.0);
    let run = run(&population, 5, PACE, 1);
    let (answering, wrong) = run.wrong(&population);
    assert!(answering >= 30 && wrong.is_empty(), "{}", wrong.join("\n"));
    for spec in &population {
        let row = &run.rows[&spec.url()];
        let expected = match spec.stack {
            Stack::Silent => "silent",
            Stack::Refuse => "refused",
            Stack::Reset => "reset",
            _ => "measured",
        };
        assert_eq!(row.outcome, expected, "{row:?}");
        if spec.reaction().is_some() {
            assert_eq!((row.syn_ack_mss, row.ttl, row.hops), (Some(spec.mss), Some(64), Some(0)));
            let rtt_ms = row.rtt_ms.expect("seen");
            assert!((rtt_ms - spec.rtt_ms).abs() < 0.01, "{rtt_ms}: {spec:?}");
        }
    }
}

#[test]
fn each_server_has_the_controller_that_its_row_names() {
    let mut population = generate(3, 1, 50.0);
    population[1].controller = Some("none".to_owned());
    let run = run(&population, 1, PACE, 1);
    let windows: Vec<(u32, u32)> = population
        .iter()
        .map(|spec| {
            let seen = run.rows[&spec.url()].initial_window_packets;
            (seen.expect("measured"), spec.initial_window)
        })
        .collect();
    let [first, second, third] = windows[..] else { panic!("three servers") };
    assert_eq!((first.0, third.0), (first.1, third.1), "Reno");
    assert!(second.0 > second.1, "without control all is sent at once: {second:?}");
}

#[test]
fn the_limits_hold_whatever_the_servers_do() {
    let population = generate(60, 2, 100.0);
    let pace = Pace { rate: 5.0, under_way_max: 20, pause: Span::from_millis(500) };
    let run = run(&population, 1, pace, 2);
    assert_eq!((run.rows.len(), run.most_under_way), (60, 20));
    for (first, from) in run.begun.iter().enumerate() {
        let within = run.begun[first..].iter().filter(|at| **at <= *from + Span::from_secs(1));
        assert!(within.count() <= 6, "a burst of one and five in a second");
    }
    assert_eq!(run.survey.connections(), run.begun.len() as u64);
}

#[test]
fn a_population_is_read_as_it_was_written() {
    let population = generate(50, 3, 300.0);
    assert_eq!(read(&write(&population).expect("flat")).expect("a file"), population);
}

/// The population; with the release build in seconds.
#[test]
#[ignore = "slow without optimisation: cargo test --release -- --ignored"]
fn of_six_hundred_servers_ninety_nine_in_a_hundred_are_classified_right() {
    for seed in 0..5 {
        let population = generate(600, seed, 300.0);
        let run = run(&population, 5, PACE, seed);
        let (answering, wrong) = run.wrong(&population);
        println!("{} of {answering} wrong, {} s", wrong.len(), run.now.as_secs_f64());
        assert!(wrong.len() * 100 <= answering, "{}", wrong.join("\n"));
    }
}
