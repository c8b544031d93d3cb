//! The cycle model beside the simulator.

use windlass_base::{Span, Time};
use windlass_sim::Simulation;
use windlass_sim::cycle_model::{Parameters, flow};

const SCENARIO: &str = include_str!("../../../experiments/new-ecn/fixed_probability.toml");
const SEGMENT: f64 = 472.0;

/// The mean and the quantiles of the simulated window, sampled every millisecond from 60 s on.
fn simulated(rtt_ms: f64, probability: f64) -> (f64, [f64; 5]) {
    let overrides = [
        format!("dumbbell.access.0.delay={}ms", rtt_ms / 2.0 - 1.0),
        format!("queues.marking.probability={probability}"),
    ];
    let read =
        windlass_scenario::from_toml("fixed.toml", SCENARIO, &overrides).expect("a scenario");
    let mut simulation = Simulation::new(&read.scenario, 5).expect("a network");
    let mut windows = Vec::new();
    let mut now = Time::ZERO + Span::from_secs(60);
    while !simulation.is_over() {
        simulation.advance(now, &mut (), || false);
        let sender = simulation.sender(0).expect("a sender");
        windows.push(sender.cwnd() as f64 / SEGMENT);
        now += Span::from_millis(1);
    }
    windows.sort_by(f64::total_cmp);
    let at = |share: f64| windows[(share * windows.len() as f64) as usize];
    let mean = windows.iter().sum::<f64>() / windows.len() as f64;
    (mean, [0.05, 0.25, 0.5, 0.75, 0.95].map(at))
}

/// With windows above some segments and up to a tenth of the packets marked.
#[test]
fn windows_are_distributed_as_in_the_simulator() {
    let parameters = Parameters { window_limit: 2000.0, ..Parameters::default() };
    for (rtt_ms, probability) in [(30.0, 0.01), (70.0, 0.03), (190.0, 0.03), (190.0, 0.1)] {
        let (mean, quantiles) = simulated(rtt_ms, probability);
        let model = flow(&parameters, rtt_ms / 1e3, probability, 1);
        let near = |model: f64, simulated: f64| (model / simulated - 1.0).abs() < 0.1;
        assert!(near(model.window, mean), "{rtt_ms} ms, {probability}: {} {mean}", model.window);
        for (model, simulated) in model.window_quantiles.into_iter().zip(quantiles) {
            assert!(near(model, simulated), "{rtt_ms} ms, {probability}: {model} {simulated}");
        }
    }
}
