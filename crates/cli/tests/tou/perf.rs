//! `windlass tou perf`.

use crate::bed::{Running, run, text};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

const SERVER: [&str; 6] = ["perf", "server", "--bind", "127.0.0.1", "--port", "0"];

fn server(more: &[&str]) -> Running {
    Running::listener(&[&SERVER, more].concat())
}

/// A client of that server, and the object that it prints.
fn client(server: &Running, more: &[&str]) -> Value {
    let address = format!("127.0.0.1:{}", server.port);
    let output = run(&[&["perf", "client", &address, "--json"], more].concat());
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{more:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_file(&path);
    path
}

fn sum(list: &Value, key: &str) -> u64 {
    list.as_array().expect("a list").iter().flat_map(|entry| entry[key].as_u64()).sum()
}

#[test]
fn every_byte_asked_for_is_counted_once_at_both_ends() {
    let server = server(&[]);
    for (more, streams) in [
        (&["--cc", "new-ecn", "--ecn", "--parallel", "3"][..], 3),
        (&["--cc", "vegas", "--reverse"], 1),
        (&["--cc", "none"], 1),
        (&["--reverse", "--parallel", "4", "--profile", "rfc2581"], 4),
    ] {
        let report = client(&server, &[&["--bytes", "1000001"], more].concat());
        assert_eq!((&report["schema"], &report["kind"]), (&1.into(), &"tou.perf".into()));
        assert_eq!(report["test"]["bytes"], 1_000_001);
        assert_eq!(report["test"]["streams"], streams);
        assert_eq!(sum(&report["intervals"], "bytes"), 1_000_001);
        for end in ["sender", "receiver"] {
            let end = &report[end];
            assert_eq!(end["bytes"], 1_000_001);
            assert_eq!(sum(&end["streams"], "bytes"), 1_000_001);
            assert_eq!(end["streams"].as_array().map(Vec::len), Some(streams));
            assert!(end["duration_s"].as_f64().is_some_and(|s| s > 0.0), "{end}");
            assert!(end["bit_per_s"].as_f64().is_some_and(|rate| rate > 0.0), "{end}");
            assert!(end["cpu_user_s"].is_f64() && end["cpu_system_s"].is_f64(), "{end}");
        }
        let sender = &report["sender"]["streams"][0];
        let packets = 1_000_001 / streams as u64 / 1456;
        assert!(sender["data_segments"].as_u64() >= Some(packets), "{sender}");
        assert!(sender["rtt_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{sender}");
        let samples = |name: &str| sender["rtt_samples_ms"][name].as_f64().unwrap_or_default();
        assert!(0.0 < samples("p50") && samples("p50") <= samples("p99_9"), "{sender}");
        assert!(samples("p99_9") <= samples("max"), "{sender}");
        assert_eq!(sender["ecn"], more.contains(&"--ecn"), "agreed on if the client offers it");
        let up = report["test"]["direction"] == "up";
        assert_eq!(up, !more.contains(&"--reverse"));
        assert_eq!(report["intervals"][0]["streams"][0]["cwnd_bytes"].is_u64(), up, "{report}");
    }
}

#[test]
fn a_timed_test_lasts_its_time_and_tells_of_each_interval() {
    let server = server(&["--one-off", "--json"]);
    let report = client(&server, &["--time", "0.3", "--interval", "100ms", "--cc", "tahoe"]);
    assert_eq!(report["test"]["time_s"], 0.3);
    let lasted = report["sender"]["duration_s"].as_f64().expect("a time");
    assert!(lasted >= 0.3, "{lasted}");
    let intervals = report["intervals"].as_array().expect("a list");
    assert!(!intervals.is_empty() && intervals[0]["from_s"] == 0.0);
    for pair in intervals.windows(2) {
        assert_eq!(pair[0]["to_s"], pair[1]["from_s"]);
    }
    assert_eq!(intervals[intervals.len() - 1]["to_s"], report["sender"]["duration_s"]);
    assert_eq!(
        sum(&report["intervals"], "bytes"),
        report["sender"]["bytes"].as_u64().expect("bytes")
    );
    // Acknowledged bytes have arrived.
    assert!(report["receiver"]["bytes"].as_u64() >= report["sender"]["bytes"].as_u64(), "{report}");
    let served = server.output();
    assert_eq!(served.status.code(), Some(0), "{}", text(&served.stderr));
    let served: Value = serde_json::from_slice(&served.stdout).expect("one object");
    for key in ["sender", "receiver", "test"] {
        assert_eq!(served[key], report[key], "both ends say the same");
    }
}

#[test]
fn omitted_intervals_are_shown_and_not_summed() {
    let server = server(&["--json"]);
    for way in [&[][..], &["--reverse"]] {
        let omit = ["--time", "0.2", "--omit", "0.3", "--interval", "200ms"];
        let report = client(&server, &[&omit, way].concat());
        assert_eq!(
            (&report["test"]["omit_s"], &report["test"]["time_s"]),
            (&0.3.into(), &0.2.into())
        );
        let intervals = report["intervals"].as_array().expect("a list");
        let count = |omitted: bool| -> u64 {
            let counted = intervals.iter().filter(|interval| interval["omitted"] == omitted);
            counted.map(|interval| interval["bytes"].as_u64().expect("bytes")).sum()
        };
        // The first count; one ends where they do.
        let first = intervals.iter().find(|one| one["omitted"] == false).expect("what counts");
        assert!(first["from_s"].as_f64().is_some_and(|from| from >= 0.3), "{report}");
        assert_eq!(intervals[0]["omitted"], true, "{report}");
        let own = if way.is_empty() { "sender" } else { "receiver" };
        assert_eq!(report[own]["bytes"], count(false), "{report}");
        let lasted = report["sender"]["duration_s"].as_f64().expect("a time");
        let whole = intervals.last().and_then(|last| last["to_s"].as_f64()).expect("a time");
        assert!(lasted > 0.0 && (own == "receiver" || lasted <= whole - 0.299_999), "{report}");
    }
    let report = client(&server, &["--bytes", "50k", "--omit", "1h"]);
    assert_eq!(
        (&report["sender"]["bytes"], &report["sender"]["bit_per_s"]),
        (&0.into(), &Value::Null)
    );
}

#[test]
fn a_timed_test_the_other_way_ends_too() {
    let server = server(&["--one-off"]);
    let report = client(&server, &["--time", "0.2", "--reverse", "--parallel", "2"]);
    assert!(report["sender"]["duration_s"].as_f64().is_some_and(|s| s >= 0.2), "{report}");
    assert!(report["receiver"]["bytes"].as_u64() >= report["sender"]["bytes"].as_u64(), "{report}");
    let served = server.output();
    assert_eq!(served.status.code(), Some(0));
    let report = text(&served.stdout);
    for part in ["down, 2 connections, 0.2 s, cubic", "sender ", "receiver ", "CPU"] {
        assert!(report.contains(part), "{part}: {report}");
    }
}

#[test]
fn the_trace_has_the_columns_of_the_page_and_ends_with_all_bytes() {
    let server = server(&[]);
    let file = fresh("tou-trace.csv");
    let name = file.to_str().expect("UTF-8");
    // Without a loss NewReno has no ssthresh. CUBIC has one as soon as HyStart++ sees the RTT rise, which
    // a busy machine makes it do.
    let more = ["--bytes", "300000", "--parallel", "2", "--cc", "newreno"];
    client(&server, &[&more[..], &["--trace", name, "--trace-interval", "1ms"]].concat());
    let csv = fs::read_to_string(&file).expect("written");
    let mut lines = csv.lines();
    let header = lines.next().expect("a header");
    assert_eq!(
        header,
        "time_s,stream,cwnd_bytes,ssthresh_bytes,srtt_ms,in_flight_bytes,acked_bytes,\
         retransmitted_segments,inflation_bytes"
    );
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/tou.md");
    let page = fs::read_to_string(page).expect("the page");
    for column in header.split(',') {
        assert!(page.contains(&format!("| `{column}` |")), "{column}");
    }
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert!(rows.len() >= 4 && rows.iter().all(|row| row.len() == 9), "{csv}");
    let number = |text: &str| text.parse::<f64>().expect("a number");
    for stream in ["0", "1"] {
        let own: Vec<_> = rows.iter().filter(|row| row[1] == stream).collect();
        assert!(own.windows(2).all(|pair| number(pair[0][0]) < number(pair[1][0])), "{csv}");
        assert!(own.windows(2).all(|pair| number(pair[0][6]) <= number(pair[1][6])), "{csv}");
        assert_eq!(own.last().map(|row| row[6]), Some("150000"));
        assert!(
            own.iter().all(|row| number(row[2]) > 0.0 && row[3].is_empty() && row[8] == "0"),
            "no loss: {csv}"
        );
    }
    let again = run(&["perf", "client", "127.0.0.1", "--trace", name]);
    assert_eq!(again.status.code(), Some(2), "the file is there already");
}

#[test]
fn text_has_a_line_an_interval_both_ends_and_round_trip_times() {
    let server = server(&[]);
    let address = format!("127.0.0.1:{}", server.port);
    let output = run(&["perf", "client", &address, "--bytes", "50k"]);
    let report = text(&output.stdout);
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(lines.len(), 4, "{report}");
    for (line, part) in lines.iter().zip(["cwnd", "sender ", "receiver "]) {
        assert!(line.contains("50.00 kB") && line.contains(part), "{report}");
    }
    assert!(lines[3].starts_with("RTT in ms") && lines[3].contains("p99.9"), "{report}");
}

/// Another test is under way: the first client's time has not come when the second one asks.
#[test]
fn a_busy_server_says_so_and_a_client_that_goes_leaves_it_free() {
    let mut server = server(&[]);
    let address = format!("127.0.0.1:{}", server.port);
    let mut first =
        Running::start(&["perf", "client", &address, "--time", "1h", "--interval", "1ms"]);
    let mut begun = [0];
    // Kept open: without a reader the client would end.
    let mut output = first.stdout();
    output.read_exact(&mut begun).expect("a first line");
    let second = run(&["perf", "client", &address]);
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second.stderr).contains("busy with another test"), "{}", text(&second.stderr));
    assert!(server.stderr_line().contains("busy"));
    first.terminate();
    assert_eq!(first.wait().code(), Some(130));
    assert!(server.stderr_line().contains("reset"), "reported, and the server goes on");
    client(&server, &["--bytes", "1"]);
}

#[test]
fn a_peer_that_is_no_client_gets_one_line_and_does_no_harm() {
    let mut server = server(&[]);
    let address = format!("127.0.0.1:{}", server.port);
    for (input, report) in [
        ("GET / HTTP/1.1\r\n\r\n", "no message of a test"),
        ("\"start\"\n", "expected a test"),
        ("", "ended early"),
        (
            "{\"test\":{\"version\":9,\"id\":\"a\",\"direction\":\"up\",\"streams\":1,\
             \"limit\":{\"bytes\":1},\"controller\":\"reno\"}}\n",
            "version 9 of the protocol, expected 1",
        ),
    ] {
        let stranger = Running::start(&["connect", &address]).feed(input.as_bytes().to_vec());
        let line = server.stderr_line();
        assert!(line.contains(report), "{line}");
        let answer = text(&stranger.output().stdout);
        assert!(answer.starts_with("{\"error\":") && answer.contains(report), "{answer}");
    }
    client(&server, &["--bytes", "1000"]);
}

#[test]
fn a_signal_ends_the_server_in_order_and_its_port_is_free_again() {
    let server = server(&[]);
    let port = server.port.to_string();
    let address = format!("127.0.0.1:{port}");
    let mut client = Running::start(&["perf", "client", &address, "--time", "1h", "--reverse"]);
    let mut begun = [0];
    // Kept open: without a reader the client would end.
    let mut output = client.stdout();
    output.read_exact(&mut begun).expect("a first line");
    server.terminate();
    assert_eq!(server.wait().code(), Some(0));
    let output = client.output();
    assert_eq!(output.status.code(), Some(1), "a test without its end");
    assert!(text(&output.stderr).contains("reset"), "{}", text(&output.stderr));
    let again = Running::listener(&["perf", "server", "--bind", "127.0.0.1", "--port", &port]);
    again.terminate();
    assert_eq!(again.wait().code(), Some(0));
}
