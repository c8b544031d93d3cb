//! Runs a scenario with the example controller: flows whose names begin with `mine` use it, the
//! others keep theirs. `cargo run --example share -- FILE`; without a file it runs `share.toml`.

use std::error::Error;
use std::sync::Arc;
use windlass_example_controller::Binomial;
use windlass_tcp::cc::ControllerFactory;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1);
    let path = path.as_deref().unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/share.toml"));
    let text = std::fs::read_to_string(path)?;
    let document = windlass_scenario::from_toml(path, &text, &[])?;

    let mut scenario = document.scenario;
    let factory: Arc<dyn ControllerFactory> = Arc::new(Binomial::SQRT);
    for flow in scenario.flows.iter_mut().filter(|flow| flow.name.starts_with("mine")) {
        flow.sender.congestion = Arc::clone(&factory);
    }

    // `&mut ()` ignores all events; `windlass_sim::series` or `pcapng` would write files.
    let summary = windlass_sim::run(&scenario, document.seed, &mut ())?;
    for flow in &summary.flows {
        println!(
            "{:8} {:10} {:7.1} packets/s  {:3} cuts  {:3} drops",
            flow.name,
            flow.controller,
            flow.packets_per_s.steady,
            flow.window_cuts_by_ecn + flow.fast_retransmits,
            flow.drops,
        );
    }
    if let Some(index) = summary.fairness_index.steady {
        println!("fairness index {index:.3}");
    }
    Ok(())
}
