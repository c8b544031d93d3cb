//! Runs scenarios and watches their BBRv3 senders: states, the least RTT and each Drain. `studies/bbr.py` asks it.
//!
//! The argument is a scenario. Each line of the standard input is a run, `{"id": .., "set": ["key=value"], "seed": 1}`;
//! each line of the standard output its result, with the summary of `windlass sim run --json` and, for each flow with
//! BBRv3, the notes of `watch`.

mod watch;

use serde_json::{Value, json};
use std::error::Error;
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use watch::Watched;
use windlass_sim::{Scenario, run};

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let path = std::env::args().nth(1).ok_or("usage: bbr3_watch SCENARIO.toml < RUNS.jsonl")?;
    let text = std::fs::read_to_string(Path::new(&path))?;
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let result = result(&path, &text, &request)?;
        writeln!(std::io::stdout(), "{result}")?;
    }
    Ok(())
}

fn result(path: &str, text: &str, request: &Value) -> Result<Value, Failure> {
    let set: Vec<String> = serde_json::from_value(request["set"].clone())?;
    let seed = request["seed"].as_u64().ok_or("a run has a seed")?;
    let mut document = windlass_scenario::from_toml(path, text, &set)?;
    let watched = watch_flows(&mut document.scenario);
    let summary = serde_json::to_value(run(&document.scenario, seed, &mut ())?)?;
    let bbr: Vec<Value> = watched.iter().map(|(name, flow)| flow.report(name)).collect();
    Ok(json!({ "id": request["id"], "seed": seed, "summary": summary, "bbr": bbr }))
}

/// Puts a watch on each flow with BBRv3.
fn watch_flows(scenario: &mut Scenario) -> Vec<(String, Watched)> {
    let mut watched = vec![];
    for flow in &mut scenario.flows {
        let controller = &mut flow.sender.congestion;
        if controller.name() == "bbr3" {
            let factory = Watched::new(Arc::clone(controller));
            *controller = Arc::new(factory.clone());
            watched.push((flow.name.clone(), factory));
        }
    }
    watched
}
