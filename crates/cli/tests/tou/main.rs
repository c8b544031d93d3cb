//! `windlass tou` over the loopback device, as a user meets it.

#![cfg(unix)]

mod bed;
#[cfg(target_os = "linux")]
mod cell;
mod live;
#[cfg(target_os = "linux")]
mod matrix;
#[cfg(target_os = "linux")]
mod nat;
mod perf;
#[cfg(target_os = "linux")]
mod rendezvous;
#[cfg(target_os = "linux")]
mod unlucky;
#[cfg(target_os = "linux")]
mod verify;

use bed::{Running, bytes, run, text, windlass};
use std::io::Read;
use std::net::UdpSocket;
use std::process::Stdio;

#[test]
fn files_go_both_ways_at_once_and_arrive_whole() {
    for address in ["127.0.0.1", "[::1]"] {
        let (there, back) = (bytes(7, 3_000_001), bytes(8, 1_234_567));
        let listener = Running::listener(&["listen", &format!("{address}:0")]);
        let peer = format!("{address}:{}", listener.port);
        let connector = Running::start(&["connect", &peer, "--cc", "newreno", "--ecn"]);
        let listener = listener.feed(back.clone());
        let connector = connector.feed(there.clone());
        let (arrived, returned) = (listener.output(), connector.output());
        assert!(arrived.status.success(), "{}", text(&arrived.stderr));
        assert!(returned.status.success(), "{}", text(&returned.stderr));
        assert!(arrived.stdout == there && returned.stdout == back);
        assert_eq!(text(&returned.stderr), "", "silent unless asked");
    }
}

#[test]
fn the_end_of_the_input_ends_that_direction_alone() {
    let mut listener = Running::listener(&["listen", "127.0.0.1:0"]);
    let peer = format!("127.0.0.1:{}", listener.port);
    let connector = Running::start(&["connect", &peer]).feed(b"question".to_vec());
    let mut question = [0; 8];
    listener.stdout().read_exact(&mut question).expect("it comes");
    assert_eq!(&question, b"question");
    let listener = listener.feed(b"answer".to_vec());
    let answer = connector.output();
    assert_eq!((answer.status.code(), text(&answer.stdout)), (Some(0), "answer".to_owned()));
    assert!(listener.output().status.success());
}

#[test]
fn the_connection_is_reported_as_text_and_as_json() {
    let listener = Running::listener(&["listen", "127.0.0.1:0", "--json"]);
    let peer = format!("127.0.0.1:{}", listener.port);
    let listener = listener.feed(Vec::new());
    let connected = Running::start(&["connect", &peer, "-v"]).feed(b"12345".to_vec()).output();
    let printed = text(&connected.stderr);
    assert!(printed.contains(&format!("connected to {peer}, MSS ")), "{printed}");
    assert!(printed.contains("5 bytes sent, 0 received"), "{printed}");
    let listened = listener.output();
    let lines: Vec<serde_json::Value> = text(&listened.stderr)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!((&lines[0]["kind"], &lines[0]["schema"]), (&"tou.connected".into(), &1.into()));
    assert_eq!((&lines[1]["kind"], &lines[1]["received_bytes"]), (&"tou.ended".into(), &5.into()));
}

#[test]
fn a_host_without_a_listener_gives_one_line_and_status_1() {
    let free = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let peer = free.local_addr().expect("bound").to_string();
    drop(free);
    for arguments in [&["connect", &peer][..], &["perf", "client", &peer]] {
        let output = run(arguments);
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{printed}");
        assert!(printed.contains("refused") && printed.lines().count() == 1, "{printed}");
    }
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let peer = silent.local_addr().expect("bound").to_string();
    let output = run(&["connect", &peer, "--timeout", "50ms"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("timed out"), "{}", text(&output.stderr));
    let taken = run(&["listen", &peer]);
    assert_eq!(taken.status.code(), Some(1));
    assert!(text(&taken.stderr).contains("in use"), "{}", text(&taken.stderr));
}

#[test]
fn bad_options_are_refused_with_status_2() {
    for (arguments, printed) in [
        (&["connect", "host"][..], "HOST:PORT"),
        (&["connect", "host:0"], "HOST:PORT"),
        (&["connect", "::1:7000"], "HOST:PORT"),
        (&["connect", "a:1", "-4", "-6"], "cannot be used with"),
        (&["connect", "a:1", "--cc", "fast"], "expected one of tahoe"),
        (&["connect", "a:1", "--profile", "windows"], "expected one of ns2-reno"),
        (&["connect", "a:1", "--mss", "12"], "--mss"),
        (&["connect", "a:1", "--send-buffer", "1"], "expected 4KiB to 4GiB"),
        (&["listen", "70000"], "PORT"),
        (&["listen", "[::1]:0", "-4"], "is an IPv6 address"),
        (&["perf"], "client"),
        (&["perf", "client", "h", "--time", "1", "--bytes", "1"], "cannot be used with"),
        (&["perf", "client", "h", "--parallel", "129"], "from 1 to 128"),
        (&["perf", "client", "h", "--time", "0"], "above zero"),
        (&["perf", "client", "h", "--time", "48h"], "expected a time"),
        (&["perf", "client", "h", "--bytes", "0"], "above zero"),
        (&["perf", "client", "h", "--trace", "t.csv", "--reverse"], "cannot be used with"),
        (&["perf", "client", "h", "--trace", "/no/such/folder/t.csv"], "--trace"),
    ] {
        let output = run(arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(printed), "{arguments:?}: {stderr}");
    }
}

/// The listener's output is not read, so that the window closes before the end of the input.
#[test]
fn input_that_was_not_acknowledged_is_a_failure() {
    let mut listener =
        Running::listener(&["listen", "127.0.0.1:0", "-v", "--receive-buffer", "64KiB"]);
    let peer = format!("127.0.0.1:{}", listener.port);
    let arguments = ["connect", &peer, "-v"];
    let mut connector = Running::start(&arguments);
    assert!(connector.stderr_line().starts_with("connected"));
    assert!(listener.stderr_line().starts_with("connected"));
    let connector = connector.feed(bytes(1, 20_000_000));
    listener.terminate();
    let listened = listener.wait();
    assert_eq!(listened.code(), Some(130), "interrupted");
    let output = connector.output();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("reset"), "{}", text(&output.stderr));
}

#[test]
fn an_interrupted_end_resets_the_connection() {
    let mut listener = Running::listener(&["listen", "127.0.0.1:0", "-v"]);
    let peer = format!("127.0.0.1:{}", listener.port);
    let mut connector = Running::start(&["connect", &peer, "-v"]);
    assert!(connector.stderr_line().starts_with("connected"));
    assert!(listener.stderr_line().starts_with("connected"));
    connector.terminate();
    assert_eq!(connector.wait().code(), Some(130));
    let output = listener.output();
    assert_eq!(output.status.code(), Some(1), "cut short is not ended");
    assert!(text(&output.stderr).contains("reset"), "{}", text(&output.stderr));
}

#[test]
fn a_reader_that_has_enough_ends_it_like_any_filter() {
    let listener = Running::listener(&["listen", "127.0.0.1:0"]).feed(bytes(2, 20_000_000));
    let peer = format!("127.0.0.1:{}", listener.port);
    let mut connector = windlass(&["connect", &peer]).stdin(Stdio::null()).spawn().expect("starts");
    let mut first = [0; 10];
    connector.stdout.take().expect("piped").read_exact(&mut first).expect("much comes");
    assert_eq!(&first[..], &bytes(2, 10));
    assert_eq!(connector.wait().expect("ends").code(), Some(0));
    assert_eq!(listener.wait().code(), Some(1), "not all of it arrived");
}

#[test]
fn with_keep_open_one_connection_follows_the_other_until_a_signal() {
    let mut listener = Running::listener(&["listen", "127.0.0.1:0", "--keep-open", "--json"]);
    let peer = format!("127.0.0.1:{}", listener.port);
    for input in [&b"one "[..], b"two ", b"three"] {
        let output = Running::start(&["connect", &peer]).feed(input.to_vec()).output();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
        assert!(listener.stderr_line().contains("connected"));
        assert!(listener.stderr_line().contains("ended"));
    }
    listener.terminate();
    let output = listener.output();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "one two three".to_owned()));
}

#[test]
fn help_and_man_pages_show_examples_and_exit_codes() {
    for words in [&["listen"][..], &["connect"], &["perf", "server"], &["perf", "client"]] {
        let help = run(&[words, &["--help"]].concat());
        let mut man = std::process::Command::new(env!("CARGO_BIN_EXE_windlass"));
        let man = man.args(["man", "tou"]).args(words).output().expect("starts");
        for printed in [text(&help.stdout), text(&man.stdout)] {
            let printed = printed.replace("\\-", "-");
            let example = format!("windlass tou {} ", words.join(" "));
            assert!(printed.contains(&example) && printed.contains("Exit status: 0"), "{printed}");
        }
    }
}
