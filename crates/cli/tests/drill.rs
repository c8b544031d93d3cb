//! `windlass drill` as a user runs it.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use windlass_testbed::{Need, skip_unless};

/// A folder of its own for a test.
fn bench(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("drill-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("writable");
    folder
}

/// The scripts of the crate.
fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../drill/scripts")
}

fn script(name: &str) -> String {
    scripts().join(name).display().to_string()
}

fn windlass(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.arg("drill").args(arguments).current_dir(folder).output().expect("starts")
}

/// Exit status, standard output, standard error.
fn parts(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_folder_of_scripts_passes_with_the_same_bytes_for_any_number_of_jobs() {
    let folder = bench("bytes");
    let all = scripts().display().to_string();
    let runs = ["1", "3"].map(|jobs| windlass(&folder, &[&all, "--json", "--jobs", jobs]));
    assert!(runs.iter().all(|run| run.stdout == runs[0].stdout && run.status.success()));
    let document: Value = serde_json::from_slice(&runs[0].stdout).expect("JSON");
    assert_eq!((&document["kind"], &document["failed"]), (&"drill".into(), &0.into()));
    assert_eq!(document["passed"], document["scripts"].as_array().expect("scripts").len());
    let (status, out, _) = parts(&windlass(&folder, &[&all, "--ip-version", "ipv6"]));
    assert_eq!(status, Some(0));
    assert!(out.lines().last().expect("a sum").contains(" passed, 0 failed, 0 skipped"), "{out}");
}

#[test]
fn a_failure_is_a_diff_and_the_exit_status_1() {
    let folder = bench("failed");
    let text = fs::read_to_string(script("nagle.pkt")).expect("a script");
    fs::write(
        folder.join("bad.pkt"),
        text.replace("P. 101:201(100) ack 1", "P. 101:201(100) ack 2"),
    )
    .expect("written");
    let (status, out, _) = parts(&windlass(&folder, &["bad.pkt", "--junit", "junit.xml"]));
    assert_eq!(status, Some(1));
    assert!(out.starts_with("FAILED  bad.pkt:"), "{out}");
    let sides =
        ["-   0.", "+   0."].map(|mark| out.lines().filter(|line| line.starts_with(mark)).count());
    assert_eq!(sides, [1, 1], "{out}");
    let junit = fs::read_to_string(folder.join("junit.xml")).expect("written");
    assert!(junit.contains("<failure") && junit.contains("101:201(100) ack 2"), "{junit}");
}

#[test]
fn what_is_no_script_and_bad_arguments_have_the_exit_status_2() {
    let folder = bench("invalid");
    fs::write(folder.join("bad.pkt"), "0 > S 0:0(0) <mss 1460,nop>\n").expect("written");
    let (status, out, _) = parts(&windlass(&folder, &["bad.pkt"]));
    assert_eq!(status, Some(2));
    assert!(out.starts_with("invalid bad.pkt:1:14: these options take 5 bytes"), "{out}");
    for (arguments, message) in [
        (vec!["none.pkt"], "none.pkt: No such file"),
        (vec!["."], "bad.pkt"),
        (vec!["bad.pkt", "bad.pkt", "--capture", "x"], "--capture takes one script; there are 2"),
        (vec!["bad.pkt", "--kernel", "seven"], "expected a version, as 7.3"),
    ] {
        let run = windlass(&folder, &arguments);
        let (status, out, errors) = parts(&run);
        assert_eq!(status, Some(2), "{arguments:?}");
        assert!(errors.contains(message) || out.contains(message), "{errors}{out}");
    }
}

#[test]
fn the_packets_of_a_script_are_written() {
    let folder = bench("packets");
    let files = ["--capture", "x.pcapng", "--qlog", "x.sqlog"];
    let run = windlass(&folder, &[&[script("fast_retransmit.pkt").as_str()], &files[..]].concat());
    assert_eq!(run.status.code(), Some(0));
    let capture = fs::read(folder.join("x.pcapng")).expect("written");
    assert_eq!(capture[..4], 0x0a0d_0d0a_u32.to_le_bytes());
    let log = fs::read_to_string(folder.join("x.sqlog")).expect("written");
    assert_eq!(log.matches("tcp:segment_sent").count(), 5, "{log}");
}

#[test]
fn the_kernel_that_runs_takes_scripts() {
    if skip_unless(&[Need::Root, Need::Tun]) {
        return;
    }
    let folder = bench("kernel");
    let arguments = [&script("handshake_passive.pkt"), "--tolerance-usecs", "200000", "--kernel"];
    let (status, out, errors) = parts(&windlass(&folder, &arguments));
    assert_eq!(status, Some(0), "{out}{errors}");
    assert!(out.contains("Linux ") && out.contains("1 script: 1 passed"), "{out}");
}
