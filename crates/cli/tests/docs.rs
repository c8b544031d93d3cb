//! The scenario that docs/guide/scenarios.md shows, run as a newcomer would.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The contents of each block ```` ```toml ```` of a page.
fn toml_blocks(page: &str) -> Vec<&str> {
    let blocks = page.split("```toml\n").skip(1);
    blocks.filter_map(|rest| rest.split_once("\n```")).map(|(block, _)| block).collect()
}

#[test]
fn the_scenario_of_the_page_runs_and_its_flows_share_the_link() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/scenarios.md");
    let page = fs::read_to_string(page).expect("the page");
    let blocks = toml_blocks(&page);
    assert!(!blocks.is_empty(), "the page begins with an example");
    for (number, block) in blocks.iter().enumerate() {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("page-{number}.toml"));
        fs::write(&file, block).expect("writable");
        let output = Command::new(env!("CARGO_BIN_EXE_windlass"))
            .args(["sim", "run", "--json"])
            .arg(&file)
            .output()
            .expect("starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*errors), (Some(0), ""), "block {number}");
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let flows = summary["flows"].as_array().expect("a list");
        let steady = flows.iter().flat_map(|flow| flow["packets_per_s"]["steady"].as_f64());
        assert!(steady.clone().count() > 0, "{summary}");
        assert!(steady.clone().all(|rate| rate > 10.0), "block {number}: a flow starves");
    }
}
