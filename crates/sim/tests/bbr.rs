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
