//! `windlass split-ack` as a user meets it: programs as they are fetch a file between two network
//! namespaces. Tests that need root or another program skip without it.
#![cfg(target_os = "linux")]

mod bed;
mod life;
mod rounds;

use bed::{Bed, Waiting, answer_bytes, eventually, file, skipped, text};
use std::fs;
use std::process::{Command, Output};

const PYTHON: &str = "import sys, urllib.request
sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read())";

/// Fetches the same, ends the connection, and writes to a file how many segments the kernel has sent
/// for it (tcpi_segs_out of struct tcp_info).
const COUNTING: &str = "import socket, struct, sys, urllib.parse
url = urllib.parse.urlsplit(sys.argv[1])
client = socket.create_connection((url.hostname, url.port))
client.sendall(f'GET {url.path} HTTP/1.1\\r\\nHost: {url.hostname}\\r\\n\\r\\n'.encode())
stream = client.makefile('rb')
while stream.readline() != b'\\r\\n':
    pass
sys.stdout.buffer.write(stream.read(1500000))
client.shutdown(socket.SHUT_WR)
assert stream.read() == b''
printed = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
open('segments', 'w').write(str(struct.unpack_from('=I', printed, 136)[0]))";

/// Segments that the kernel sent for the last program of that kind.
fn segments_sent(bed: &Bed) -> u64 {
    let text = fs::read_to_string(bed.path("segments")).expect("written");
    text.parse().expect("a number")
}

/// Each fetches what is at the URL to standard output.
fn programs(url: &str) -> [(&'static str, Vec<&str>); 4] {
    [
        ("curl", vec!["curl", "-s", url]),
        ("wget", vec!["wget", "-q", "-O", "-", url]),
        ("python3", vec!["python3", "-c", PYTHON, url]),
        ("python3, counting", vec!["python3", "-c", COUNTING, url]),
    ]
}

fn assert_whole(output: &Output) {
    assert!(output.status.success(), "{}", text(&output.stderr));
    // Equal bytes have equal digests.
    assert!(output.stdout == file(), "{} bytes", output.stdout.len());
}

fn fetch_with_each_program(ipv6: bool, offloads: bool) {
    let bed = Bed::new();
    if !offloads {
        bed.without_offloads();
    }
    let url = bed.url(ipv6);
    for (program, command) in programs(&url) {
        let mut capture = bed.capture(ipv6);
        let options = ["--split", "4", "--acks", "3"];
        assert_whole(&bed.split_ack(&options, &command).output().expect("starts"));
        let report = bed.report();
        let connections = report["connections"].as_array().expect("a list");
        assert_eq!(connections.len(), 1, "{program}: {report}");
        let connection = &connections[0];
        assert_eq!(connection["acks_split"], 3, "{program}: {report}");
        assert_eq!(connection["acks_sent"], 12, "{program}: {report}");
        assert_eq!(connection["acked_bytes"], answer_bytes(), "{program}: {report}");
        let mss = if ipv6 { 1428 } else { 1448 };
        assert_eq!(connection["mss_seen"], mss, "{program}: {report}");
        let segments = connection["data_segments"].as_u64().expect("a number");
        assert!(segments >= (answer_bytes() / mss) as u64, "{program}: {report}");
        let seen = capture.connections();
        assert_eq!(seen.len(), 1, "{program}");
        seen[0].assert_split(4, 3);
        if !offloads {
            assert_eq!(seen[0].damaged, 0, "{program}");
        }
        if program.ends_with("counting") {
            // Nothing else became more or less.
            assert_eq!(seen[0].segments, segments_sent(&bed) + 12 - 3);
        }
    }
}

#[test]
fn each_of_the_first_acks_of_any_program_becomes_n_on_the_wire() {
    if !skipped(&["wget", "python3"]) {
        fetch_with_each_program(false, true);
    }
}

#[test]
fn the_same_with_ipv6_and_with_checksums_made_before_the_wire() {
    if !skipped(&["wget", "python3", "ethtool"]) {
        fetch_with_each_program(true, false);
    }
}

#[test]
fn another_programs_connections_stay_as_they_are() {
    if skipped(&["python3"]) {
        return;
    }
    let bed = Bed::new();
    let url = bed.url(false);
    let mut capture = bed.capture(false);
    let script = format!("touch ready; read go; curl -s {url}");
    let waiting = Waiting::start(
        bed.split_ack(&["--split", "8"], &["sh", "-c", &script]),
        &bed.path("ready"),
    );
    // While the programs stand at the interface.
    assert_whole(&bed.on_client("python3").args(["-c", COUNTING, &url]).output().expect("starts"));
    assert_whole(&waiting.go_on());
    let seen = capture.connections();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].segments, segments_sent(&bed));
    seen[1].assert_split(8, 3);
    let report = bed.report();
    assert_eq!(report["connections"].as_array().map(Vec::len), Some(1), "{report}");
    assert!(
        report["connections"][0]["local"]
            .as_str()
            .is_some_and(|end| end.ends_with(&format!(":{}", seen[1].port))),
        "{report}"
    );
}

#[test]
fn a_split_of_one_changes_nothing_and_counts() {
    if skipped(&["python3"]) {
        return;
    }
    let bed = Bed::new();
    let mut capture = bed.capture(false);
    let url = bed.url(false);
    let command = ["python3", "-c", COUNTING, &url];
    assert_whole(&bed.split_ack(&["--split", "1"], &command).output().expect("starts"));
    assert_eq!(capture.connections()[0].segments, segments_sent(&bed));
    let connection = &bed.report()["connections"][0];
    assert_eq!((&connection["acks_split"], &connection["acks_sent"]), (&3.into(), &3.into()));
    assert_eq!(connection["acked_bytes"], answer_bytes());
}

#[test]
fn several_connections_are_split_each_by_itself_and_many_parts_take_force() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let url = bed.url(false);
    let refused =
        bed.split_ack(&["--split", "65"], &["curl", "-s", &url]).output().expect("starts");
    assert_eq!(refused.status.code(), Some(125), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("--force"), "{}", text(&refused.stderr));
    let mut capture = bed.capture(false);
    let script = format!("curl -s -o a {url}; curl -s -o b {url}");
    let options = ["--split", "200", "--acks", "2", "--force"];
    let output = bed.split_ack(&options, &["sh", "-c", &script]).output().expect("starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    for name in ["a", "b"] {
        assert!(fs::read(bed.path(name)).expect("fetched") == file(), "{name}");
    }
    let seen = capture.connections();
    assert_eq!(seen.len(), 2);
    seen.iter().for_each(|acks| acks.assert_split(200, 2));
    let report = bed.report();
    for connection in report["connections"].as_array().expect("a list") {
        assert_eq!((&connection["acks_split"], &connection["acks_sent"]), (&2.into(), &400.into()));
    }
}

#[test]
fn it_works_behind_ip_netns_exec_over_loopback_and_by_clsact() {
    if skipped(&["tc"]) {
        return;
    }
    let bed = Bed::new();
    let (url, home) = (bed.url(false), bed.url_at_home());
    let check = |output: &Output| {
        assert_whole(output);
        let report = bed.report();
        let connection = &report["connections"][0];
        let split = connection["acks_split"].as_u64().expect("a number");
        assert!((1..=3).contains(&split), "{report}");
        assert_eq!(connection["acks_sent"], 4 * split, "{report}");
        assert_eq!(connection["acked_bytes"], answer_bytes(), "{report}");
    };
    let mut hidden = bed.by_ip_netns(bed::WINDLASS);
    bed::add_arguments(&mut hidden, &[], &["curl", "-s", &url]);
    check(&hidden.output().expect("starts"));
    check(&bed.split_ack(&["--interface", "lo"], &["curl", "-s", &home]).output().expect("starts"));
    let mut capture = bed.capture(false);
    check(&bed.split_ack(&["--clsact"], &["curl", "-s", &url]).output().expect("starts"));
    capture.connections()[0].assert_split(4, 3);
    assert_eq!(bed.report()["hook"], "clsact");
    assert_eq!(bed.filters(), "");
}

#[test]
fn an_interface_that_comes_up_later_is_served_too() {
    if skipped(&["tc"]) {
        return;
    }
    let bed = Bed::new();
    let set = |state: &str| {
        let arguments = ["link", "set", "veth0", state];
        assert!(bed.on_client("ip").args(arguments).status().expect("iproute2").success());
    };
    set("down");
    let script = format!("touch ready; read go; curl -s {}", bed.url(false));
    // By clsact, since tc shows that.
    let options = ["--clsact", "--split", "4"];
    let windlass = bed.split_ack(&options, &["sh", "-c", &script]);
    let waiting = Waiting::start(windlass, &bed.path("ready"));
    assert_eq!(bed.filters(), "");
    set("up");
    assert!(eventually(|| !bed.filters().is_empty()), "no filter at the interface");
    let mut capture = bed.capture(false);
    assert_whole(&waiting.go_on());
    capture.connections()[0].assert_split(4, 3);
    let report = bed.report();
    let interfaces = report["interfaces"].as_array().expect("a list");
    assert!(interfaces.contains(&"lo".into()) && interfaces.contains(&"veth0".into()), "{report}");
    assert_eq!(report["connections"][0]["acks_sent"], 12, "{report}");
    assert_eq!(bed.filters(), "");
}

#[test]
fn devices_without_a_link_header_are_served() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let home = bed.url_at_home();
    let port = home.trim_end_matches("/file").rsplit(':').next().expect("a port").to_owned();
    let script = format!(
        "exec {} split-ack --json --report report.json -- curl -s http://$WINDLASS_OUTSIDE:{port}/file",
        bed::WINDLASS
    );
    let mut link = bed.on_client(bed::WINDLASS);
    assert_whole(&link.args(["link", "--", "sh", "-c", &script]).output().expect("starts"));
    let connection = &bed.report()["connections"][0];
    assert_eq!((&connection["acks_split"], &connection["acks_sent"]), (&3.into(), &12.into()));
    assert_eq!(connection["acked_bytes"], answer_bytes());
}

#[test]
fn the_table_names_the_connection() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let mut windlass = bed.on_client(bed::WINDLASS);
    windlass.args(["split-ack", "--", "curl", "-s", &bed.url(true)]);
    let output = windlass.output().expect("starts");
    assert_whole(&output);
    let printed = text(&output.stderr);
    for part in ["ACKs split", "MSS seen", " <- [fd09::2]:", &answer_bytes().to_string()] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let mut idle = bed.on_client(bed::WINDLASS);
    let output = idle.args(["split-ack", "--", "true"]).output().expect("starts");
    assert!(text(&output.stderr).contains("no TCP connection"), "{}", text(&output.stderr));
}

#[test]
fn help_and_man_page_show_examples_and_exit_codes() {
    let windlass = |arguments: &[&str]| {
        text(&Command::new(bed::WINDLASS).args(arguments).output().expect("starts").stdout)
    };
    for printed in [windlass(&["split-ack", "--help"]), windlass(&["man", "split-ack"])] {
        let printed = printed.replace("\\-", "-");
        for part in ["windlass split-ack -- curl -O", "125 split-ack itself", "CAP_BPF"] {
            assert!(printed.contains(part), "{part}: {printed}");
        }
    }
}
