//! Runs a scenario with its own queue at the bottleneck, and then with a queue of yours in its
//! place. `cargo run --example compare -- FILE`; without a file `crowd.toml`.

use std::error::Error;
use windlass_aqm::Config;
use windlass_example_queue::Blue;
use windlass_sim::Summary;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1);
    let path = path.as_deref().unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/crowd.toml"));
    let text = std::fs::read_to_string(path)?;
    let document = windlass_scenario::from_toml(path, &text, &[])?;

    let mut scenario = document.scenario;
    print("its own", &windlass_sim::run(&scenario, document.seed, &mut ())?);
    scenario.channel_mut(scenario.bottleneck).queue = Config::custom(Blue::default());
    print("yours", &windlass_sim::run(&scenario, document.seed, &mut ())?);
    Ok(())
}

fn print(whose: &str, summary: &Summary) {
    println!(
        "{whose:8} {:7.1} packets/s  {:6} marks  {:6} drops  {:5.1} packets queued",
        summary.total_packets_per_s.steady,
        summary.marks,
        summary.drops,
        summary.mean_queue_packets.steady.unwrap_or(0.0),
    );
}
