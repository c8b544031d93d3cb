//! `windlass sim run --threads`: the bytes of one thread, or the reason for one thread.

use super::{Bench, good, stderr};
use std::fs;
use std::path::Path;

/// Long enough for threads to pay.
const DURATION: [&str; 4] = ["--set", "duration=3ms", "--set", "steady_from=1ms"];

fn leaf_spine() -> String {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/bench/leaf-spine.toml");
    file.to_str().expect("a path of letters").to_owned()
}

#[test]
fn two_threads_write_the_bytes_of_one() {
    let bench = Bench::new("threads-same-bytes");
    let run = |threads: &str| {
        let out = format!("out-{threads}");
        let file = leaf_spine();
        let args = ["sim", "run", &file, "--threads", threads, "--json", "--out", &out];
        let output = bench.windlass(&[&args[..], &DURATION].concat());
        assert_eq!(stderr(&output), "", "no reason to take one thread");
        good(&output)
    };
    assert!(run("1") == run("2"), "the summaries differ");
    let names = bench.file_names("out-1");
    assert!(names.len() > 256, "a file for each flow: {names:?}");
    assert_eq!(names, bench.file_names("out-2"));
    for name in names {
        let bytes = |out: &str| fs::read(bench.folder.join(out).join(&name)).expect("written");
        assert!(bytes("out-1") == bytes("out-2"), "{name} differs");
    }
}

#[test]
fn a_run_that_takes_one_thread_says_why_and_prints_the_same() {
    let bench = Bench::new("threads-reason");
    let one = bench.windlass(&["sim", "run", "short.toml", "--json"]);
    let two = bench.windlass(&["sim", "run", "short.toml", "--json", "--threads", "2"]);
    assert_eq!(good(&one), good(&two));
    assert_eq!(stderr(&one), "");
    let reason = stderr(&two);
    assert!(reason.starts_with("windlass: one thread: "), "{reason}");
    assert_eq!(reason.lines().count(), 1, "{reason}");
}

#[test]
fn threads_do_not_combine_with_replicates() {
    let bench = Bench::new("threads-replicates");
    let args = ["sim", "run", "short.toml", "--threads", "2", "--replicates", "2"];
    let output = bench.windlass(&args);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}
