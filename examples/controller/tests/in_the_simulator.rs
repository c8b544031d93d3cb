//! The controller in scenarios of the simulator.

use std::sync::Arc;
use windlass_example_controller::Binomial;
use windlass_sim::{Scenario, Summary, run};

const SCENARIO: &str = include_str!("../share.toml");

/// `share.toml` with `binomial` for its flows `mine-1` and `mine-2`, run.
fn shared_by(binomial: Option<Binomial>) -> Summary {
    let document = windlass_scenario::from_toml("share.toml", SCENARIO, &["duration=40s".into()])
        .expect("a sound scenario");
    let mut scenario: Scenario = document.scenario;
    for flow in scenario.flows.iter_mut().filter(|flow| flow.name.starts_with("mine")) {
        if let Some(binomial) = binomial {
            flow.sender.congestion = Arc::new(binomial);
        }
    }
    run(&scenario, document.seed, &mut ()).expect("it can be built")
}

fn rates(summary: &Summary) -> Vec<f64> {
    summary.flows.iter().map(|flow| flow.packets_per_s.steady).collect()
}

#[test]
fn with_the_exponents_of_aimd_a_run_is_renos_to_the_last_packet() {
    let (aimd, reno) = (shared_by(Some(Binomial::AIMD)), shared_by(None));
    assert_eq!(aimd.flows[0].controller, "binomial");
    assert_eq!(reno.flows[0].controller, "reno");
    assert_eq!(rates(&aimd), rates(&reno));
    assert_eq!(aimd.events, reno.events);
}

/// k + l = 1 makes it compatible with TCP (Bansal and Balakrishnan, section 3.2): no flow starves,
/// and its own window moves less than Reno's.
#[test]
fn the_square_root_shares_with_reno() {
    let summary = shared_by(Some(Binomial::SQRT));
    let rates = rates(&summary);
    let (mine, reno) = (rates[0] + rates[2], rates[1] + rates[3]);
    assert!((0.5..=2.0).contains(&(mine / reno)), "{rates:?}");
    assert!((rates[0] / rates[2] - 1.0).abs() < 0.25, "{rates:?}");
    assert!(summary.total_packets_per_s.steady > 0.95 * 10e6 / 8.0 / 1500.0, "{rates:?}");
}
