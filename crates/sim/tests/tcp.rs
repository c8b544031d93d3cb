//! TCP over simulated networks.

mod common;

use common::*;
use windlass_base::Span;
use windlass_sim::scenario::model::{Loss, TcpApp};
use windlass_sim::{Scenario, Summary, run};

fn result(scenario: &Scenario) -> Summary {
    run(scenario, 1, &mut ()).expect("a sound scenario")
}

/// Setup 1 of papers/002, section 4.2.
fn setup_1(controller: &str, ecn: bool) -> Scenario {
    let bottleneck = channel(mbit(10.0), ms(1.0), red());
    let delays = [1.0, 14.0, 34.0, 94.0].map(ms);
    let mut scenario = dumbbell(bottleneck, &delays, Span::from_secs(60));
    for (n, start) in [1.5, 1.0, 0.5, 0.0].into_iter().enumerate() {
        let mut flow = ns2_flow(2 + 2 * n, 3 + 2 * n, controller, ecn);
        flow.start = Span::from_secs_f64(start);
        scenario.flows.push(flow);
    }
    scenario.steady_from = Span::from_secs(10);
    scenario
}

#[test]
fn new_ecn_shares_what_reno_does_not() {
    let new_ecn = result(&setup_1("new-ecn", true));
    println!("{}", serde_json::to_string_pretty(&new_ecn).expect("json"));
    let fair = new_ecn.fairness_index.steady.expect("flows");
    assert!(fair > 0.96, "fairness index {fair}");
    let reno = result(&setup_1("reno", true));
    let unfair = reno.fairness_index.steady.expect("flows");
    assert!(unfair < 0.55, "fairness index {unfair}");
    assert!(new_ecn.total_packets_per_s.steady > 2_350.0);
}
