//! Runs a scenario as it is, and then with each kind of bleacher at a node.
//! `cargo run --example bleach -- FILE NODE`; without arguments `path.toml` and its node `before`.

use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;
use windlass_example_middlebox::{Bleach, Bleacher};
use windlass_sim::{Simulation, Summary};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next();
    let path = path.as_deref().unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/path.toml"));
    let name = args.next().unwrap_or_else(|| "before".into());
    let document = windlass_scenario::from_toml(path, &std::fs::read_to_string(path)?, &[])?;
    let scenario = &document.scenario;
    let node = scenario.node(&name).ok_or_else(|| format!("{path} has no node {name:?}"))?;

    print("none", 0, &windlass_sim::run(scenario, document.seed, &mut ())?);
    for bleach in [Bleach::Handshake, Bleach::Field, Bleach::Marks] {
        let bleacher = Rc::new(RefCell::new(Bleacher::new(bleach)));
        let mut simulation = Simulation::new(scenario, document.seed)?;
        simulation.add_middlebox(node, Rc::clone(&bleacher));
        let summary = simulation.run(&mut ());
        print(&format!("{bleach:?}"), bleacher.borrow().changed, &summary);
    }
    Ok(())
}

fn print(bleach: &str, changed: u64, summary: &Summary) {
    let cuts: u64 = summary.flows.iter().map(|flow| flow.window_cuts_by_ecn).sum();
    println!(
        "{bleach:9}  {changed:6} changed  {:5} marks  {cuts:4} cuts by ECN  {:4} drops  \
         {:5.1} packets queued",
        summary.marks,
        summary.drops,
        summary.mean_queue_packets.steady.unwrap_or(0.0),
    );
}
