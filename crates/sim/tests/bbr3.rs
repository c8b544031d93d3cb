//! BBR version 3 on plain paths, alone and beside others of its kind. `bbr3_cases` has the cases of the draft.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::*;
use windlass_base::Span;
use windlass_sim::model::{Loss, TcpApp};
use windlass_sim::{Scenario, Summary, run};
use windlass_tcp::Profile;

const MSS: u16 = 1460;

/// Bulk flows with the profile `linux` for half a minute, of which 20 s count; each begins a second after the one
/// before. The queue has so many bandwidth-delay products.
fn path(controller: &str, flows: usize, mbit_per_s: f64, rtt_ms: f64, queue_bdp: f64) -> Scenario {
    let bdp_packets = mbit_per_s * 1e6 / 8.0 * rtt_ms / 1e3 / 1500.0;
    let queue = drop_tail((bdp_packets * queue_bdp) as u32);
    let there = channel(mbit(mbit_per_s), ms(rtt_ms / 2.0), queue);
    let back = channel(None, ms(rtt_ms / 2.0), drop_tail(1000));
    let mut scenario = pair(there, back, Span::from_secs(30));
    scenario.steady_from = Span::from_secs(10);
    for number in 0..flows {
        let mut flow = modern_flow(0, 1, TcpApp::Bulk);
        flow.name = format!("flow{number}");
        flow.start = Span::from_secs(number as u64);
        let congestion = Profile::Linux.controller(controller).expect("a known controller");
        flow.sender = Profile::Linux.config(MSS, congestion);
        // More than any window here.
        (flow.sender.buffers.send, flow.sender.buffers.receive) = (32 << 20, 32 << 20);
        flow.receiver = flow.sender.clone();
        scenario.flows.push(flow);
    }
    scenario
}

fn result(scenario: &Scenario, seed: u64) -> Summary {
    run(scenario, seed, &mut ()).expect("a sound scenario")
}

/// The steady share of the link, and the mean wait in the queue in ms.
fn share_and_wait(scenario: &Scenario) -> (f64, f64) {
    let found = result(scenario, 1);
    let wait = found.queues[0].queue_delay_ms.as_ref().expect("packets waited");
    (found.utilisation.expect("a rate").steady, wait.mean.as_secs_f64() * 1e3)
}

#[test]
fn it_fills_the_link_with_a_queue_much_shorter_than_cubics() {
    let (share, wait) = share_and_wait(&path("bbr3", 1, 20.0, 40.0, 4.0));
    let (_, cubic) = share_and_wait(&path("cubic", 1, 20.0, 40.0, 4.0));
    assert!(share > 0.93, "{share}");
    assert!(wait < 15.0 && wait < cubic / 3.0, "{wait} ms, CUBIC {cubic}");
}

#[test]
fn random_loss_of_a_percent_costs_it_little() {
    let with_loss = |controller| {
        let mut scenario = path(controller, 1, 20.0, 40.0, 1.0);
        scenario.links[0].forward.loss = Loss::Random { probability: 0.01 };
        share_and_wait(&scenario).0
    };
    let (bbr, cubic) = (with_loss("bbr3"), with_loss("cubic"));
    assert!(bbr > 0.8 && bbr > 2.0 * cubic, "{bbr}, CUBIC {cubic}");
}

/// A queue of half a BDP: version 1 fills it and loses packets all the time, version 3 keeps out of it.
#[test]
fn a_shallow_queue_drops_much_less_than_with_version_1() {
    let drops = |controller| {
        let found = result(&path(controller, 2, 20.0, 40.0, 0.5), 1);
        (found.drops as f64, found.utilisation.expect("a rate").steady)
    };
    let ((first, _), (third, share)) = (drops("bbr"), drops("bbr3"));
    assert!(third < 0.5 * first && share > 0.85, "{third} of {first} drops, share {share}");
}

/// docs/results/simulator.md has the table of a faster path; this is 10 Mbit/s, and `--nocapture` shows its rates. As
/// there, the second half of a minute counts: five flows need half a minute until all have seen the queue empty.
#[test]
fn two_to_five_flows_share_a_deep_queue() {
    for flows in 2..=5 {
        let mut scenario = path("bbr3", flows, 10.0, 50.0, 8.0);
        (scenario.duration, scenario.steady_from) = (Span::from_secs(60), Span::from_secs(30));
        let found = result(&scenario, 1);
        let rates: Vec<f64> = found.flows.iter().map(|flow| flow.mbit_per_s.steady).collect();
        let wait = found.queues[0].queue_delay_ms.as_ref().expect("packets waited");
        let share = found.utilisation.expect("a rate").steady;
        println!("{flows}: {rates:.2?} Mbit/s, {share:.3} of the link, mean queue {:?}", wait.mean);
        assert!(share > 0.95, "{flows} flows use {share}");
        assert!(rates.iter().all(|rate| *rate > 10.0 / flows as f64 / 5.0), "{rates:?}");
        assert!(wait.mean < ms(8.0 * 50.0 / 2.0), "{flows} flows queue for {:?}", wait.mean);
    }
}
