//! DCTCP in the steady state: the fluid result of Alizadeh and others (Data Center TCP, SIGCOMM 2010, section 3.3).

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::*;
use windlass_aqm::{AboveMax, Config as Queue, Limit, RedConfig};
use windlass_base::{Span, Time};
use windlass_sim::model::{LinkDirection, NodeId, TcpApp};
use windlass_sim::{Recorder, Scenario, run};
use windlass_tcp::Profile;
use windlass_tcp::config::{AckPolicy, EcnEcho};

const MSS: u16 = 1460;
/// The threshold of marks, in packets.
const K: f64 = 40.0;
const ROUND_TRIP_S: f64 = 1e-4;
/// Times between the starts of the flows, in microseconds: those that begin almost together stay in step, as the
/// model has them, and in which phase depends on these times.
const APART_US: [u64; 2] = [0, 7];
const PACKETS_PER_S: f64 = 10e9 / 8.0 / 1500.0;

/// Marks every arrival that finds `K` packets.
fn step() -> Queue {
    Queue::Red(RedConfig {
        limit: Limit::Packets(1000),
        min: K - 1.0,
        max: Some(K),
        weight: Some(1.0),
        gentle: false,
        above_max: AboveMax::MarkEct,
        ..RedConfig::default()
    })
}

/// Flows with equal round-trip times, each from a host of its own, over 10 Gbit/s.
fn scenario(flows: usize, echo: EcnEcho, apart: Span) -> Scenario {
    let way = |queue| channel(mbit(10_000.0), Span::from_secs_f64(ROUND_TRIP_S / 2.0), queue);
    let mut scenario = dumbbell(way(step()), &vec![Span::ZERO; flows], Span::from_millis(500));
    for link in &mut scenario.links[1..] {
        (link.forward.rate, link.backward.rate) = (None, None);
    }
    for number in 0..flows {
        let node = NodeId::try_from(2 + 2 * number).expect("few nodes");
        let mut flow = modern_flow(node, node + 1, TcpApp::Bulk);
        let dctcp = Profile::Linux.controller("dctcp").expect("a known controller");
        flow.sender = Profile::Linux.config(MSS, dctcp);
        flow.sender.ecn.enabled = true;
        flow.sender.ecn.echo = echo;
        flow.receiver = flow.sender.clone();
        flow.receiver.acks.policy = AckPolicy::Immediate;
        flow.start = Span::from_nanos(apart.as_nanos() * number as u64);
        scenario.flows.push(flow);
    }
    scenario
}

/// The times that the bottleneck had each length, in its steady state.
#[derive(Default)]
struct Lengths {
    held: Vec<u64>,
    last: Option<(Time, usize)>,
}

impl Recorder for Lengths {
    fn queue_changed(&mut self, now: Time, at: LinkDirection, packets: usize, _: Option<f64>) {
        if at.link != 0 || at.reverse || now < Time::ZERO + Span::from_millis(200) {
            return;
        }
        if let Some((since, length)) = self.last {
            self.held.resize(self.held.len().max(length + 1), 0);
            self.held[length] += now.saturating_since(since).as_nanos();
        }
        self.last = Some((now, packets));
    }
}

impl Lengths {
    /// The length below which the queue was for a share of the time.
    fn quantile(&self, share: f64) -> f64 {
        let all: u64 = self.held.iter().sum();
        let mut left = share * all as f64;
        let found = self.held.iter().position(|&held| {
            left -= held as f64;
            left <= 0.0
        });
        found.unwrap_or(0) as f64
    }
}

/// Equation 10 and the amplitude of section 3.3: the longest queue has K + N packets, and it falls from there by
/// half the root of 2 N (C RTT + K). By DCTCP's own echo, and by the counts of AccECN.
#[test]
fn the_queue_is_as_long_and_oscillates_as_much_as_the_fluid_model_says() {
    for flows in [2, 10] {
        for echo in [EcnEcho::Dctcp, EcnEcho::Accurate] {
            for apart in APART_US.map(Span::from_micros) {
                check(&scenario(flows, echo, apart), &format!("{flows} flows, {echo:?}, {apart}"));
            }
        }
    }
}

fn check(scenario: &Scenario, case: &str) {
    let mut lengths = Lengths::default();
    let summary = run(scenario, 1, &mut lengths).expect("a sound scenario");
    let n = scenario.flows.len() as f64;
    let longest = lengths.quantile(1.0);
    assert!((longest / (K + n) - 1.0).abs() < 0.1, "{case}: {longest} packets");
    let amplitude = longest - lengths.quantile(0.001);
    let expected = 0.5 * (2.0 * n * (PACKETS_PER_S * ROUND_TRIP_S + K)).sqrt();
    assert!((amplitude / expected - 1.0).abs() < 0.2, "{case}: {amplitude} for {expected:.1}");
    let share = summary.total_packets_per_s.steady / PACKETS_PER_S;
    assert!(share > 0.99, "{case}: {share} of the link");
    assert!(summary.flows.iter().all(|flow| flow.timeouts == 0), "{case}");
}
