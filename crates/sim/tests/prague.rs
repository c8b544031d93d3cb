//! Prague behind DualPI2: alone, and beside CUBIC.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::*;
use windlass_aqm::{Config as Queue, DualPi2Config};
use windlass_base::{Distribution, Span};
use windlass_sim::model::{Flow, NodeId, TcpApp};
use windlass_sim::{Scenario, Summary, run};
use windlass_tcp::Profile;
use windlass_tcp::config::EcnEcho;

const MSS: u16 = 1460;

/// A bulk flow with the profile `linux`; Prague's uses ECN.
fn flow(from: NodeId, controller: &str) -> Flow {
    let mut flow = modern_flow(from, from + 1, TcpApp::Bulk);
    let congestion = Profile::Linux.controller(controller).expect("a known controller");
    flow.sender = Profile::Linux.config(MSS, congestion);
    (flow.sender.buffers.send, flow.sender.buffers.receive) = (32 << 20, 32 << 20);
    flow.sender.ecn.enabled = controller == "prague";
    flow.receiver = flow.sender.clone();
    flow.receiver.ecn.echo = EcnEcho::Dctcp;
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

#[test]
fn explore_alone() {
    for rate in [12.0, 40.0, 120.0] {
        for rtt in [10.0, 40.0] {
            let s = result(&path(&["prague"], rate, rtt, 30), 1);
            let w = wait(&s);
            println!(
                "{rate} {rtt}: mean {} p99 {} util {:.3} timeouts {} retx {} rate {:.2} marks {} {:?}",
                w.mean,
                w.p99,
                s.flows[0].mbit_per_s.steady / rate,
                s.flows[0].timeouts,
                s.flows[0].retransmitted_segments,
                s.flows[0].mbit_per_s.steady,
                s.flows[0].marks,
                s.flows[0].cwnd_packets
            );
        }
    }
}

#[test]
fn explore_beside() {
    for rate in [12.0, 40.0, 120.0] {
        for rtt in [10.0, 40.0] {
            let mut ratios = vec![];
            let mut extra = String::new();
            for seed in 1..=3 {
                let mut scenario = path(&["prague", "cubic"], rate, rtt, 60);
                scenario.jitter = ms(500.0);
                let s = result(&scenario, seed);
                ratios.push(s.flows[0].mbit_per_s.steady / s.flows[1].mbit_per_s.steady);
                extra = format!(
                    "{:?} {:?} util {:?}",
                    s.flows[0].queue_delay_ms.as_ref().map(|d| (d.mean, d.p99)),
                    s.flows[1].queue_delay_ms.as_ref().map(|d| d.mean),
                    s.queues[0].utilisation
                );
            }
            println!("{rate} {rtt}: {ratios:.3?} {extra}");
        }
    }
}
