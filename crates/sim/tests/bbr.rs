//! BBR version 1 on plain paths.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::*;
use windlass_base::Span;
use windlass_sim::model::{Channel, Loss, TcpApp};
use windlass_sim::{Scenario, run};
use windlass_tcp::Profile;

const MSS: u16 = 1460;

/// A bulk flow with the profile `linux` over 20 Mbit/s and 40 ms, with a queue of so many BDP.
fn path(controller: &str, queue_bdp: f64) -> Scenario {
    let bdp_packets = 20e6 / 8.0 * 0.04 / 1500.0;
    let queue = drop_tail((bdp_packets * queue_bdp) as u32);
    let there = channel(mbit(20.0), ms(20.0), queue);
    bulk(controller, there, channel(None, ms(20.0), drop_tail(1000)))
}

fn bulk(controller: &str, there: Channel, back: Channel) -> Scenario {
    let mut scenario = pair(there, back, Span::from_secs(30));
    scenario.steady_from = Span::from_secs(5);
    let mut flow = modern_flow(0, 1, TcpApp::Bulk);
    let congestion = Profile::Linux.controller(controller).expect("a known controller");
    flow.sender = Profile::Linux.config(MSS, congestion);
    // More than any window here.
    (flow.sender.buffers.send, flow.sender.buffers.receive) = (16 << 20, 16 << 20);
    flow.receiver = flow.sender.clone();
    scenario.flows.push(flow);
    scenario
}

/// The steady share of the link, and the mean wait in the queue in ms.
fn result(scenario: &Scenario) -> (f64, f64) {
    let found = run(scenario, 1, &mut ()).expect("a sound scenario");
    let share = found.flows[0].packets_per_s.steady / (20e6 / 8.0 / 1500.0);
    let wait = found.queues[0].queue_delay_ms.as_ref().expect("packets waited");
    (share, wait.mean.as_secs_f64() * 1e3)
}

#[test]
fn it_fills_the_link_with_a_queue_much_shorter_than_cubics() {
    let (share, wait) = result(&path("bbr", 4.0));
    let (_, cubic) = result(&path("cubic", 4.0));
    assert!(share > 0.93, "{share}");
    assert!(wait < 15.0 && wait < cubic / 3.0, "{wait} ms, CUBIC {cubic}");
}

#[test]
fn random_loss_of_a_percent_costs_it_little() {
    let with_loss = |controller| {
        let mut scenario = path(controller, 1.0);
        scenario.links[0].forward.loss = Loss::Random { probability: 0.01 };
        result(&scenario).0
    };
    let (bbr, cubic) = (with_loss("bbr"), with_loss("cubic"));
    assert!(bbr > 0.85 && bbr > 2.0 * cubic, "{bbr}, CUBIC {cubic}");
}

/// Medians of three runs of Linux 6.18's bbr through `windlass link` on 30 November 2026 on an idle machine, `iperf3 -C bbr -t 30 -O 5`
/// with a queue of one BDP: the link's Mbit/s, the RTT without a queue in ms, goodput in Mbit/s, mean RTT in ms.
const KERNEL: [(f64, f64, f64, f64); 6] = [
    (10.0, 20.0, 9.48, 30.20),
    (10.0, 50.0, 9.42, 59.81),
    (10.0, 100.0, 9.37, 113.65),
    (100.0, 20.0, 94.42, 24.04),
    (100.0, 50.0, 94.64, 53.64),
    (100.0, 100.0, 93.87, 111.47),
];

#[test]
fn rate_and_rtt_are_those_of_the_kernel_within_a_tenth() {
    for (rate, rtt, goodput, mean_rtt) in KERNEL {
        let bdp = (rate * 1e6 / 8.0 * rtt / 1e3 / 1500.0).round() as u32;
        let there = channel(mbit(rate), ms(rtt / 2.0), drop_tail(bdp));
        let back = channel(None, ms(rtt / 2.0), drop_tail(1000));
        let mut scenario = bulk("bbr", there, back);
        scenario.duration = Span::from_secs(35);
        let found = run(&scenario, 1, &mut ()).expect("a sound scenario");
        let flow = &found.flows[0];
        // Payload beside timestamps.
        let simulated = flow.packets_per_s.steady * 1448.0 * 8.0 / 1e6;
        let sampled = flow.rtt_samples_ms.as_ref().expect("it has samples").mean;
        let sampled = sampled.as_secs_f64() * 1e3;
        let (of_rate, of_rtt) = (simulated / goodput - 1.0, sampled / mean_rtt - 1.0);
        assert!(of_rate.abs() < 0.1, "{rate} Mbit/s, {rtt} ms: {simulated}, kernel {goodput}");
        assert!(of_rtt.abs() < 0.1, "{rate} Mbit/s, {rtt} ms: {sampled} ms, kernel {mean_rtt}");
    }
}
