//! The scenario of docs/guide/stacks.md.

use windlass_sim::run;
use windlass_stacks_seeded::on_seeded_thread;

const GUIDE: &str = include_str!("../../../docs/guide/stacks.md");

#[test]
fn the_scenario_of_the_guide_runs_and_its_flows_get_through() {
    let block = GUIDE.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let text = block.expect("a scenario in the guide");
    let registry = windlass_stacks::registry();
    let document = registry.read_toml("guide", text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let summary = on_seeded_thread(1, || run(&document.scenario, 1, &mut ())).expect("a network");
    for flow in &summary.endpoints {
        assert_eq!(flow.failure, None, "{}", flow.name);
        assert!(flow.receiver.delivered_bytes > 1_000_000, "{flow:?}");
    }
}
