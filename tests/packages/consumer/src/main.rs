//! Simulates two flows, and prints the rate of both together.

use windlass_sim::run;
use windlass_tcp::Profile;

const SCENARIO: &str = r#"
    schema = 1
    name = "two-flows"
    duration = "10s"
    flows = [{ from = "each", controller = "cubic" }]
    [dumbbell]
    access = [{ delay = "1ms", count = 2 }]
    bottleneck = { rate = "10Mbit/s", delay = "5ms", queue = "codel" }
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    assert!(Profile::Linux.controller("cubic").is_some());
    let document = windlass_scenario::from_toml("two-flows.toml", SCENARIO, &[])?;
    let summary = run(&document.scenario, document.seed, &mut ())?;
    // 10 Mbit/s are 833 packets of 1,500 bytes per second.
    println!("{:.0} packets/s", summary.total_packets_per_s.whole_run);
    Ok(())
}
