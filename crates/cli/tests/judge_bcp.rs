//! `windlass judge --bcp` as a user runs it.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The command with the arguments behind `judge --bcp`.
fn windlass(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(["judge", "--bcp"]).args(arguments).output().expect("starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

const ONE_CELL: [&str; 5] = ["--quick", "--criterion", "packet-loss", "--setting", "tail-drop-shallow"];

#[test]
fn the_same_bytes_and_page_come_for_any_number_of_jobs() {
    let runs = ["1", "3"].map(|jobs| {
        let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bcp-{jobs}.html"));
        let page_text = page.to_str().expect("UTF-8");
        let rest = ["--json", "--jobs", jobs, "--report", page_text];
        let run = windlass(&[&["vegas"], &ONE_CELL[..], &rest].concat());
        assert_eq!(run.status.code(), Some(0), "{run:?}");
        (run.stdout, fs::read_to_string(page).expect("written"))
    });
    assert!(runs[0] == runs[1], "one job writes other bytes than three");
    let report: Value = serde_json::from_slice(&runs[0].0).expect("JSON");
    assert_eq!((&report["kind"], &report["seeds"]), (&"judge.bcp".into(), &3.into()));
    assert_eq!(report["cells"][0]["verdicts"][0], "met");
}

#[test]
fn the_table_shows_the_figure_that_is_not_met_and_the_status_stays_0() {
    let run = windlass(&[&["reno,bbr"], &ONE_CELL[..]].concat());
    let out = text(&run.stdout);
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    for part in ["NOT MET", "six-long", "reno: 1 met, 0 not met", "bbr: 0 met, 1 not met"] {
        assert!(out.contains(part), "{part} is not in\n{out}");
    }
}

#[test]
fn a_scenario_of_the_report_runs_as_it_stands() {
    let run = windlass(&[&["cubic"], &ONE_CELL[..], &["--json"]].concat());
    let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bcp-cell.toml");
    let scenario = report["cells"][0]["traffics"][0]["scenario"].as_str().expect("a text");
    fs::write(&file, scenario).expect("writable");
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    let run = command.args(["sim", "run"]).arg(&file).output().expect("starts");
    assert_eq!(run.status.code(), Some(0), "{run:?}");
}

#[test]
fn what_there_is_not_is_refused_with_the_names_there_are() {
    let cases = [
        (&["cubik"][..], "cubic"),
        (&["cubic", "--setting", "wirless"], "wireless"),
        (&["cubic", "--criterion", "losses"], "packet-loss"),
        (&["cubic", "--suite", "rfc5681"], "--suite"),
    ];
    for (arguments, expected) in cases {
        let run = windlass(arguments);
        assert_eq!(run.status.code(), Some(2), "{run:?}");
        assert!(text(&run.stderr).contains(expected), "{run:?}");
    }
}
