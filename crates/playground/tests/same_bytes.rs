//! The playground gives the bytes that `windlass sim run` writes: the hashes of `tests/determinism.sha256`,
//! which `scripts/check-determinism` compares with the command's.

use data_encoding::HEXLOWER;
use ring::digest::{SHA256, digest};
use std::fs;
use std::path::Path;
use windlass_playground::{Files, Session};

fn files(text: &str, step: f64) -> Files {
    let mut session = Session::new(text, true).expect("a scenario");
    while session.advance(step) < 1.0 {}
    session.finish_with_files().expect("files in memory")
}

fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(digest(&SHA256, bytes).as_ref())
}

/// The hash that `scripts/check-determinism` computes.
fn output_hash(files: &Files) -> String {
    let mut hashes: Vec<String> = files
        .iter()
        .map(|(name, contents)| format!("run/{name} {}", sha256(contents.as_bytes())))
        .collect();
    // The command prints its summary and writes it.
    hashes.push(format!("stdout {}", sha256(files[0].1.as_bytes())));
    hashes.sort();
    let line = |entry: &String| {
        let (name, hash) = entry.split_once(' ').expect("a name and a hash");
        format!("{hash}  {name}\n")
    };
    sha256(hashes.iter().map(line).collect::<String>().as_bytes())
}

#[test]
fn the_determinism_scenarios_give_the_bytes_of_the_command() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let hashes = fs::read_to_string(root.join("tests/determinism.sha256")).expect("the hashes");
    assert!(hashes.lines().count() > 3);
    for line in hashes.lines() {
        let (expected, path) = line.split_once("  ").expect("a hash and a path");
        let text = fs::read_to_string(root.join(path)).expect(path);
        assert_eq!(output_hash(&files(&text, 0.01)), expected, "{path}");
    }
}

#[test]
fn the_size_of_the_steps_changes_nothing() {
    let text = include_str!("../../../experiments/examples/parking_lot.toml");
    assert_eq!(files(text, 0.003), files(text, 1.0));
}
