//! Prague behind DualPI2: alone, and beside CUBIC.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::*;
use std::sync::Arc;
use windlass_aqm::{Config as Queue, DualPi2Config, PieConfig};
use windlass_base::{Distribution, Span};
use windlass_sim::model::{Flow, NodeId, TcpApp};
use windlass_sim::{Scenario, Summary, run};
use windlass_tcp::config::EcnEcho;
use windlass_tcp::{Profile, cc};

const MSS: u16 = 1460;
/// Bytes on the wire by byte of payload, with timestamps.
const WIRE_SHARE: f64 = 1500.0 / 1448.0;
const RATES: [f64; 3] = [12.0, 40.0, 120.0];
const RTTS: [f64; 2] = [10.0, 40.0];

/// A bulk flow with the profile `linux`; Prague's uses ECN.
fn flow(from: NodeId, controller: &str) -> Flow {
    let mut flow = modern_flow(from, from + 1, TcpApp::Bulk);
    let congestion = Profile::Linux.controller(controller).expect("a known controller");
    flow.sender = Profile::Linux.config(MSS, congestion);
    (flow.sender.buffers.send, flow.sender.buffers.receive) = (32 << 20, 32 << 20);
    flow.sender.ecn.enabled = controller == "prague";
    flow.sender.ecn.echo = EcnEcho::Accurate;
    flow.receiver = flow.sender.clone();
    flow
}

/// Flows from a host each over a bottleneck with DualPI2.
fn path(controllers: &[&str], rate: f64, rtt: f64, seconds: u64) -> Scenario {
    let queue = Queue::DualPi2(DualPi2Config::default());
    let bottleneck = channel(mbit(rate), ms(rtt / 2.0), queue);
    let access = vec![Span::ZERO; controllers.len()];
    let mut scenario = dumbbell(bottleneck, &access, Span::from_secs(seconds));
    scenario.steady_from = Span::from_secs(seconds / 3);
    for link in &mut scenario.links[1..] {
        (link.forward.rate, link.backward.rate) = (None, None);
    }
    for (number, controller) in controllers.iter().enumerate() {
        let node = NodeId::try_from(2 + 2 * number).expect("few nodes");
        scenario.flows.push(flow(node, controller));
    }
    scenario
}

fn result(scenario: &Scenario, seed: u64) -> Summary {
    run(scenario, seed, &mut ()).expect("a sound scenario")
}

fn wait(summary: &Summary) -> &Distribution {
    summary.queues[0].queue_delay_ms.as_ref().expect("packets waited")
}

/// The bounds for a flow alone (RFC 9332 section 4.2.1: the step is at a millisecond).
#[test]
fn alone_its_packets_wait_less_than_a_millisecond() {
    for rate in RATES {
        for rtt in RTTS {
            let summary = result(&path(&["prague"], rate, rtt, 15), 1);
            let (wait, flow) = (wait(&summary), &summary.flows[0]);
            assert!(wait.mean < ms(1.0), "{rate} Mbit/s, {rtt} ms: mean {}", wait.mean);
            if rate >= 40.0 {
                assert!(wait.p99 < ms(2.0), "{rate} Mbit/s, {rtt} ms: p99 {}", wait.p99);
            }
            let used = flow.mbit_per_s.steady * WIRE_SHARE / rate;
            assert!(used > 0.93, "{rate} Mbit/s, {rtt} ms: {used} of the link");
            assert_eq!((flow.timeouts, flow.retransmitted_segments, flow.drops), (0, 0, 0));
        }
    }
}

#[test]
fn beside_cubic_its_packets_do_not_wait_for_cubics() {
    let summary = result(&path(&["prague", "cubic"], 40.0, 10.0, 20), 1);
    let [prague, cubic] = [0, 1].map(|flow: usize| {
        let flow = &summary.flows[flow];
        (flow.mbit_per_s.steady, flow.queue_delay_ms.as_ref().expect("packets waited"))
    });
    assert!(prague.1.p99 < ms(2.0), "{}", prague.1.p99);
    assert!(cubic.1.mean > ms(8.0), "{}", cubic.1.mean);
    let ratio = prague.0 / cubic.0;
    assert!((0.5..2.0).contains(&ratio), "{ratio}");
}

/// Section 2.4.4: below 25 ms, all RTTs count as 25 ms.
#[test]
fn a_shorter_rtt_brings_no_larger_share() {
    let mut scenario = path(&["prague", "prague"], 40.0, 5.0, 30);
    for link in &mut scenario.links[3..] {
        link.forward.delay = ms(5.0);
        link.backward.delay = ms(5.0);
    }
    let summary = result(&scenario, 1);
    let [short, long] = [0, 1].map(|flow: usize| &summary.flows[flow]);
    assert!(long.rtt_min_ms > 4.0 * short.rtt_min_ms, "{} ms", long.rtt_min_ms);
    let ratio = short.mbit_per_s.steady / long.mbit_per_s.steady;
    assert!((0.7..1.4).contains(&ratio), "{ratio}");
}

/// Many flows on a slow link with a short RTT have less than a segment each per RTT.
#[test]
fn windows_below_a_segment_share_a_slow_link_without_timeouts() {
    let mut scenario = path(&["prague"; 20], 8.0, 4.0, 20);
    // Twenty initial windows of ten segments would be an overload of 300 ms.
    scenario.flows.iter_mut().for_each(|flow| flow.sender.window.initial = 1);
    let summary = result(&scenario, 1);
    let windows = summary.flows.iter().filter_map(|flow| flow.cwnd_packets.time_mean_steady);
    assert!(windows.clone().count() == 20 && windows.clone().all(|cwnd| cwnd < 1.5));
    assert!(windows.clone().any(|cwnd| cwnd < 1.0));
    let timeouts = summary.flows.iter().map(|flow| flow.timeouts);
    assert_eq!(timeouts.sum::<u64>(), 0);
    let rates = summary.flows.iter().map(|flow| flow.mbit_per_s.steady);
    assert!(
        rates.clone().all(|rate| (0.1..0.8).contains(&rate)),
        "{:?}",
        rates.collect::<Vec<_>>()
    );
}

/// Prague, with its fallback or without, and CUBIC with ECN behind one queue that marks for all (RFC 3168); their rates.
fn in_classic_queue(classic_fallback: bool, seed: u64) -> [f64; 2] {
    let mut scenario = path(&["prague", "cubic"], 40.0, 20.0, 60);
    scenario.links[0].forward.queue = Queue::Pie(PieConfig::default());
    let factory = cc::Prague { classic_fallback, ..cc::Prague::default() };
    scenario.flows[0].sender.congestion = Arc::new(factory);
    let cubic = &mut scenario.flows[1];
    cubic.sender.ecn.enabled = true;
    cubic.receiver = cubic.sender.clone();
    let summary = result(&scenario, seed);
    [0, 1].map(|flow: usize| summary.flows[flow].mbit_per_s.steady)
}

#[test]
fn with_its_fallback_it_leaves_a_share_to_cubic_in_a_classic_queue() {
    let ratio = |fallback| {
        let [prague, cubic] = in_classic_queue(fallback, 1);
        prague / cubic
    };
    let (off, on) = (ratio(false), ratio(true));
    assert!(off > 4.0, "{off}");
    assert!(on < 2.0, "{on}");
}

/// Prints the table of docs/results/simulator.md, in some minutes.
#[test]
#[ignore = "prints a table"]
fn print_the_table_beside_cubic() {
    for rate in RATES {
        for rtt in RTTS {
            let mut ratios: Vec<f64> =
                (1..=10).map(|seed| ratio_beside_cubic(rate, rtt, seed)).collect();
            ratios.sort_by(f64::total_cmp);
            let median = (ratios[4] + ratios[5]) / 2.0;
            println!("| {rate} | {rtt} | {median:.2} | {:.2} to {:.2} |", ratios[0], ratios[9]);
        }
    }
    for rate in RATES {
        for rtt in RTTS {
            let summary = result(&path(&["prague"], rate, rtt, 60), 1);
            let (wait, used) =
                (wait(&summary), summary.flows[0].mbit_per_s.steady * WIRE_SHARE / rate);
            println!("| {rate} | {rtt} | {} | {} | {used:.3} |", wait.mean, wait.p99);
        }
    }
    for seed in 1..=3 {
        println!(
            "classic queue: {:?} {:?}",
            in_classic_queue(false, seed),
            in_classic_queue(true, seed)
        );
    }
}

fn ratio_beside_cubic(rate: f64, rtt: f64, seed: u64) -> f64 {
    let mut scenario = path(&["prague", "cubic"], rate, rtt, 60);
    scenario.jitter = ms(500.0);
    let summary = result(&scenario, seed);
    summary.flows[0].mbit_per_s.steady / summary.flows[1].mbit_per_s.steady
}
