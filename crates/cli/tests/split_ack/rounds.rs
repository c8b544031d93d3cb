//! `--rounds` and `--baseline`: what splitting gains from a server that counts ACKs, and from one that
//! counts bytes.

use crate::bed::{Bed, WINDLASS, Waiting, answer_bytes, eventually, file, skipped, text};
use serde_json::Value;
use std::fs;
use std::process::Output;
use windlass_testbed::{Need, run, skip_unless};

/// A figure of each round of a connection in a report.
fn rounds(connection: &Value, figure: &str) -> Vec<u64> {
    let rounds = connection["transfer"]["rounds"].as_array().expect("a list of rounds");
    rounds.iter().map(|round| round[figure].as_u64().expect("a number")).collect()
}

/// The only connection of a run.
fn only(run: &Value) -> &Value {
    let connections = run["connections"].as_array().expect("a list");
    assert_eq!(connections.len(), 1, "{run}");
    &connections[0]
}

/// Nothing is missing in the rounds, and duration and rate are those of the transfer.
fn assert_complete(connection: &Value, bytes: usize) {
    let transfer = &connection["transfer"];
    for (figure, all) in [("packets", "data_segments"), ("bytes", "bytes")] {
        let later = transfer["later_rounds"][figure].as_u64().unwrap_or(0);
        let sum = rounds(connection, figure).iter().sum::<u64>() + later;
        assert_eq!(connection[all], sum, "{figure}: {connection}");
    }
    assert_eq!(transfer["bytes"], bytes, "{connection}");
    let number = |key: &str| transfer[key].as_f64().expect("a number");
    let rate = bytes as f64 * 8.0 / number("duration_s");
    assert!((number("bit_per_s") / rate - 1.0).abs() < 1e-6, "{connection}");
    let starts: Vec<f64> = transfer["rounds"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|round| round["at_ms"].as_f64().expect("a number"))
        .collect();
    let rtt_ms = number("rtt_ms");
    // A round lasts at least seven eighths of the smallest RTT.
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] > rtt_ms * 0.87), "{connection}");
    // The last segment may begin a round of its own. In whole nanoseconds: a number that went through
    // JSON can have changed in its last digit.
    let end_ns = (number("duration_s") * 1e9).round();
    assert!(starts.last().is_some_and(|last| (last * 1e6).round() <= end_ns), "{connection}");
}

/// An ACK counter answers each ACK with the segments that it acknowledges, and one more.
fn assert_counts_acks(connection: &Value) {
    let (packets, acks) = (rounds(connection, "packets"), rounds(connection, "acks"));
    for i in 0..2 {
        assert_eq!(packets[i + 1], packets[i] + acks[i], "round {}: {connection}", i + 2);
    }
}

#[test]
fn the_baseline_shows_what_an_ack_counter_gives_for_split_acks() {
    if skipped(&[]) || skip_unless(&[Need::Tun]) {
        return;
    }
    let bed = Bed::new();
    // A long RTT, so that a busy machine does not tear the flights apart.
    let (_server, url) =
        bed.engine(&["--stack", "rfc2581", "--initial-window", "3", "--rtt", "200ms"]);
    let windlass = bed.split_ack(&["--baseline", "--split", "4"], &["curl", "-s", &url]).output();
    let output = windlass.expect("starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(output.stdout.len(), 200_000, "the standard output of the second run alone");
    let report = bed.report();
    assert_eq!(report["kind"], "split-ack.connections");
    assert_eq!((&report["split"], &report["baseline"]["exit_status"]), (&4.into(), &0.into()));
    let (before, after) = (only(&report["baseline"]), only(&report));
    assert_eq!((&before["acks_split"], &before["acks_sent"]), (&3.into(), &3.into()));
    assert_eq!((&after["acks_split"], &after["acks_sent"]), (&3.into(), &12.into()));
    for connection in [before, after] {
        assert!(connection["transfer"]["rtt_ms"].as_f64().is_some_and(|ms| ms >= 200.0));
        let bytes = connection["acked_bytes"].as_u64().expect("a number") as usize;
        assert_complete(connection, bytes);
        assert_counts_acks(connection);
    }
    let (few, many) = (rounds(before, "packets"), rounds(after, "packets"));
    assert_eq!((few[0], many[0]), (3, 3), "no ACK has been answered: {report}");
    // The ACKs of the first flight are split: three at most, and one at least.
    let acks = [rounds(before, "acks")[0], rounds(after, "acks")[0]];
    assert!((1..=3).contains(&acks[0]) && [4, 8, 12].contains(&acks[1]), "{report}");
    assert!(many[1] > few[1] && many[2] > few[2], "{report}");
    let pair = &report["pairs"][0];
    assert_eq!((&pair["baseline"], &pair["split"]), (&0.into(), &0.into()));
    let over = |figure: &str| {
        let of = |connection: &Value| connection["transfer"][figure].as_f64().expect("a number");
        of(after) / of(before)
    };
    for (ratio, figure) in [("duration_ratio", "duration_s"), ("rate_ratio", "bit_per_s")] {
        let ratio = pair[ratio].as_f64().expect("a number");
        assert!((ratio / over(figure) - 1.0).abs() < 1e-9, "{ratio} of {figure}: {report}");
    }
}

#[test]
fn this_kernel_answers_with_the_same_rounds_at_each_split() {
    if skipped(&[]) || skip_unless(&[Need::Tun]) {
        return;
    }
    let bed = Bed::new();
    bed.reno_at_home();
    let home = bed.url_at_home();
    let path = home.split_once("127.0.0.1").expect("a URL").1;
    for split in ["4", "16"] {
        // A delayed ACK can wait for as long as a round.
        let script = format!(
            "ip route change $(ip route show default) quickack 1; \
             exec {WINDLASS} split-ack --baseline --split {split} --json --report report.json \
             -- curl -s http://$WINDLASS_OUTSIDE{path}"
        );
        let mut link = bed.on_client(WINDLASS);
        link.args(["link", "--delay", "100ms", "--", "sh", "-c", &script]);
        let output = link.output().expect("starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(output.stdout == file(), "{} bytes", output.stdout.len());
        let report = bed.report();
        let (before, after) = (only(&report["baseline"]), only(&report));
        for connection in [before, after] {
            assert_complete(connection, answer_bytes());
            // RFC 6928's initial window, then as many segments again as were acknowledged.
            assert_eq!(rounds(connection, "packets")[..3], [10, 20, 40], "{connection}");
        }
        assert!(rounds(after, "acks")[0] > rounds(before, "acks")[0], "{report}");
    }
}

#[test]
fn later_rounds_are_summed_and_without_the_option_there_are_none() {
    if skipped(&[]) || skip_unless(&[Need::Tun]) {
        return;
    }
    let bed = Bed::new();
    let (_server, url) = bed.engine(&["--rtt", "60ms", "--page", "8000000"]);
    let fetched = |options: &[&str]| {
        let output = bed.split_ack(options, &["curl", "-s", &url]).output().expect("starts");
        assert_eq!(output.stdout.len(), 8_000_000, "{}", text(&output.stderr));
        bed.report()
    };
    let report = fetched(&["--rounds"]);
    let connection = only(&report);
    assert_eq!(rounds(connection, "packets").len(), 16, "{report}");
    let later = &connection["transfer"]["later_rounds"];
    assert!(later["count"].as_u64().is_some_and(|count| count > 0), "{report}");
    let bytes = connection["acked_bytes"].as_u64().expect("a number") as usize;
    assert_complete(connection, bytes);
    assert_eq!((report.get("baseline"), report.get("pairs")), (None, None));
    let plain = fetched(&[]);
    assert_eq!(only(&plain).get("transfer"), None, "{plain}");
    let mut windlass = bed.on_client(WINDLASS);
    windlass.args(["split-ack", "--baseline", "--", "curl", "-s", &url]);
    let printed = text(&windlass.output().expect("starts").stderr);
    for part in [
        "without splitting",
        "split in 4",
        "packets: split 1",
        "ratio",
        "from 17",
        "sum of all later rounds",
        "duration",
        "Mbit/s",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
}

#[test]
fn a_connection_without_data_and_one_without_a_counterpart_are_named() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let printed = |options: &[&str], script: &str| {
        let mut windlass = bed.on_client(WINDLASS);
        windlass.arg("split-ack").args(options).args(["--", "sh", "-c", script]);
        text(&windlass.output().expect("starts").stderr)
    };
    // The port is closed.
    let table = printed(&["--rounds"], "curl -s http://10.9.0.2:1/");
    assert!(table.contains(" <- 10.9.0.2:1: no data\n"), "{table}");
    let script = format!("[ -e file ] || curl -s -o file {}", bed.url(false));
    let table = printed(&["--baseline"], &script);
    for part in ["only without splitting: 10.9.0.1:", "had no TCP connection", "Mbit/s in "] {
        assert!(table.contains(part), "{part}: {table}");
    }
}

/// Runs `script` by `--baseline`. Each run adds a line to a file: returns how many there were, and the
/// output.
fn runs(bed: &Bed, script: &str) -> (usize, Output) {
    let _ = fs::remove_file(bed.path("runs"));
    let script = format!("echo >> runs; {script}");
    let output = bed.split_ack(&["--baseline"], &["sh", "-c", &script]).output().expect("starts");
    let lines = fs::read_to_string(bed.path("runs")).unwrap_or_default();
    (lines.lines().count(), output)
}

#[test]
fn a_baseline_that_fails_is_the_only_run_and_gives_its_exit_status() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let (count, output) = runs(&bed, "exit 7");
    assert_eq!((count, output.status.code()), (1, Some(7)));
    assert!(text(&output.stderr).contains("was not run again"), "{}", text(&output.stderr));
    assert!(!bed.path("report.json").exists(), "a report is whole or is not there");
    // The second run's status counts, and its standard output.
    let (count, output) = runs(&bed, "read line; wc -l < runs; exit $(($(wc -l < runs) * 4 - 4))");
    assert_eq!((count, output.status.code()), (2, Some(4)));
    assert_eq!(text(&output.stdout).trim(), "2");
    let report = bed.report();
    assert_eq!(report["exit_status"], 4);
    assert_eq!(
        (&report["baseline"]["exit_status"], &report["pairs"]),
        (&0.into(), &Value::Array(vec![]))
    );
}

#[test]
fn a_signal_ends_either_run_and_there_is_none_after_it() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    // The command's trap for the signal, the run in which the signal comes, and the exit status.
    for (trap, during, signal, status) in [
        ("-", 1, "INT", 130),
        ("-", 1, "TERM", 143),
        ("'exit 0'", 1, "INT", 130),
        ("'exit 5'", 1, "INT", 5),
        ("-", 2, "INT", 130),
        ("'exit 0'", 2, "INT", 0),
    ] {
        let case = format!("trap {trap} in run {during}");
        let _ = fs::remove_file(bed.path("runs"));
        let _ = fs::remove_file(bed.path("ready"));
        let script = format!(
            "trap {trap} INT; echo >> runs; if [ $(wc -l < runs) = {during} ]; \
             then touch ready; while :; do sleep 0.01; done; fi"
        );
        let windlass = bed.split_ack(&["--baseline"], &["sh", "-c", &script]);
        let waiting = Waiting::start(windlass, &bed.path("ready"));
        run("kill", &format!("-{signal} {}", waiting.pid()));
        let output = waiting.0.wait_with_output().expect("ends");
        assert_eq!(output.status.code(), Some(status), "{case}: {}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "", "{case}");
        let lines = fs::read_to_string(bed.path("runs")).expect("written");
        assert_eq!(lines.lines().count(), during, "{case}");
        assert!(eventually(|| bed.filters().is_empty()), "{case}");
    }
}
