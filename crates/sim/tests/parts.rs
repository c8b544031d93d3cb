//! Runs in parts give the bytes of one thread.

use std::num::NonZeroUsize;
use windlass_sim::parts::{OneThread, PartsError, Plan, run_in_parts};
use windlass_sim::series::columns::{ColumnSeries, Table};
use windlass_sim::{Scenario, run};

fn scenario(text: &str) -> Scenario {
    let text = format!("schema = 2\nname = \"parts\"\n{text}");
    windlass_scenario::from_toml("parts.toml", &text, &[]).expect("a scenario").scenario
}

fn plan(scenario: &Scenario, parts: usize) -> Result<Plan, OneThread> {
    Plan::forced(scenario, NonZeroUsize::new(parts).expect("above zero"))
}

/// Summary and series of a run in one thread.
fn whole(scenario: &Scenario, seed: u64) -> (String, Vec<Table>) {
    let mut series = ColumnSeries::in_memory(scenario, true);
    let summary = run(scenario, seed, &mut series).expect("a network");
    (serde_json::to_string(&summary).expect("plain data"), series.into_tables())
}

/// The same in parts.
fn divided(
    scenario: &Scenario,
    seed: u64,
    plan: &Plan,
) -> Result<(String, Vec<Table>), PartsError> {
    let mut series = ColumnSeries::in_memory(scenario, true);
    let summary = run_in_parts(scenario, seed, plan, &mut series)?;
    Ok((serde_json::to_string(&summary).expect("plain data"), series.into_tables()))
}

fn assert_same(scenario: &Scenario, seed: u64, parts: usize) {
    let plan = plan(scenario, parts).expect("a plan");
    assert!(plan.parts() > 1);
    let (expected, tables) = whole(scenario, seed);
    let (found, found_tables) = divided(scenario, seed, &plan).expect("a result");
    assert_eq!(found, expected, "{parts} parts, seed {seed}");
    for (found, expected) in found_tables.iter().zip(&tables) {
        assert_eq!(found.name, expected.name);
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
        for (found, expected) in found.columns.iter().zip(&expected.columns) {
            let equal = found.values.len() == expected.values.len()
                && found.values.iter().zip(&expected.values).all(same);
            assert!(equal, "column {} differs", expected.name);
        }
    }
}

const FABRIC: &str = "
[leaf_spine]
leaves = 4
spines = 2
hosts_per_leaf = 4
access = { rate = \"1Gbit/s\", delay = \"3us\", queue = \"port\" }
fabric = { rate = \"2Gbit/s\", delay = \"5us\", queue = \"port\" }
[queues.port]
kind = \"droptail\"
limit = \"50 packets\"
";

#[test]
fn a_fabric_in_lockstep_is_the_same_in_any_number_of_parts() {
    // All hosts start at once, and many events tie.
    let text = format!(
        "duration = \"60ms\"\nflows = [{{ from = \"each\", controller = \"cubic\" }}]\n{FABRIC}"
    );
    let scenario = scenario(&text);
    for parts in [2, 3, 4] {
        assert_same(&scenario, 1, parts);
    }
}

#[test]
fn a_fabric_with_jitter_is_the_same() {
    let text = format!(
        "duration = \"60ms\"\nflows = [{{ from = \"each\", controller = \"dctcp\", count = 2, ecn = true }}]\n{FABRIC}"
    );
    let mut scenario = scenario(&text);
    scenario.jitter = windlass_base::Span::from_micros(100);
    for seed in 1..4 {
        assert_same(&scenario, seed, 2);
    }
}
