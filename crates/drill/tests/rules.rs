//! The rules by which the runner compares: each change of a script that passes makes it fail, for that reason.

use windlass_drill::engine::Engine;
use windlass_drill::{Choice, Plan, Run, Verdict, run};

const HANDSHAKE: &str = "`./defaults.sh`
   0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
  +0 bind(3, ..., ...) = 0
  +0 listen(3, 1) = 0
  +0 < S 0:0(0) win 64240 <mss 1000,sackOK,nop,nop,nop,wscale 7>
  +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 8>
 +.1 < . 1:1(0) ack 1 win 502
  +0 accept(3, ..., ...) = 4
";

/// Three segments, an answer, and a read that blocks until data comes.
const DATA: &str = "
  +0 write(4, ..., 3000) = 3000
  +0 > P. 1:3001(3000) ack 1
 +.1 < . 1:1(0) ack 3001 win 502
  +0 ... 0.2 read(4, ..., 1000) = 100
 +.2 < P. 1:101(100) ack 3001 win 502
 +0~+.01 > . 3001:3001(0) ack 101
  +0 getsockopt(4, SOL_SOCKET, SO_ERROR, [0], [4]) = 0
  +0 %{ assert tcpi_unacked == 0, 'left' }%
";

fn played(script: &str) -> Run {
    let plan =
        Plan::new(script, &Choice::default()).unwrap_or_else(|error| panic!("{script}{error}"));
    run(&plan, &Engine)
}

fn failure(script: &str) -> String {
    match played(script).verdict {
        Verdict::Failed(divergence) => {
            format!("{}: {}", divergence.position.line, divergence.summary)
        }
        other => panic!("{script}{other:?}"),
    }
}

#[test]
fn each_change_of_a_script_is_found() {
    let script = format!("{HANDSHAKE}{DATA}");
    assert_eq!(played(&script).verdict, Verdict::Passed);
    let cases = [
        ("= 3000", "= 2999", "10: write: expected 2999, returned 3000"),
        ("P. 1:3001(3000) ack 1", "P. 1:3001(3000) ack 2", "11: ack: expected 2, was 1"),
        ("P. 1:3001(3000)", ". 1:3001(3000)", "11: flags: expected ., was P."),
        ("P. 1:3001(3000)", "P. 2:3002(3000)", "11: seq: expected 2, was 1"),
        ("P. 1:3001(3000) ack 1", "P. 1:3001(3000) ack 1 win 7", "11: win: expected 7, was 1049"),
        ("P. 1:3001(3000) ack 1", "P. 1:3001(3000) ack 1 urg 5", "11: urg: expected 5, was 0"),
        ("> P. 1:3001", "> [ect0] P. 1:3001", "11: ECN: expected [ect0], was [noecn]"),
        ("> P. 1:3001", "> [ttl 3] P. 1:3001", "11: ttl: expected 3, was 64"),
        (
            "wscale 8>",
            "wscale 9>",
            "6: options: expected <mss 1460,nop,nop,sackOK,nop,wscale 9>, was <mss 1460,nop,nop,sackOK,nop,wscale 8>",
        ),
        (
            "  +0 > P. 1",
            " +.1 > P. 1",
            "11: time: expected at 0.200000 s, tolerance 0.012500 s; happened at 0.100000 s",
        ),
        (
            "... 0.2 read",
            "... 0.3 read",
            "13: read returned: expected at 0.500000 s, tolerance 0.037500 s; happened at 0.400000 s",
        ),
        (
            "... 0.2 read(4, ..., 1000) = 100",
            "... 0.2 read(4, ..., 1000) = -1 ECONNRESET",
            "13: read: expected -1 ECONNRESET, returned 100",
        ),
        ("  +0 ... 0.2 read", "  +0 read", "13: read blocks"),
        ("SO_ERROR, [0]", "SO_ERROR, [1]", "16: getsockopt: expected 1, was 0"),
        ("tcpi_unacked == 0", "tcpi_unacked == 1", "17: assertion failed (left)"),
        (
            "> . 3001:3001(0) ack 101",
            "> . 3001:3001(0) ack 101 <nop,nop,sack 1:2>",
            "15: options: expected <nop,nop,sack 1:2>, was <>",
        ),
    ];
    for (from, to, summary) in cases {
        assert!(script.contains(from), "{from}");
        assert_eq!(failure(&script.replacen(from, to, 1)), summary, "{to}");
    }
}

/// The engine's host sends two segments in one packet, as a network card splits them, and the third alone.
#[test]
fn a_packet_of_the_script_is_the_segments_that_make_it() {
    let script = format!("{HANDSHAKE}{DATA}");
    let with = |packets: &str| script.replacen("> P. 1:3001(3000) ack 1", packets, 1);
    let two = "> P. 1:2001(2000) ack 1\n+0 > P. 2001:3001(1000) ack 1";
    assert_eq!(played(&with(two)).verdict, Verdict::Passed);
    let between = "11: payload: expected 2500 bytes, was 3000 in 2 segments";
    assert_eq!(failure(&with("> P. 1:2501(2500) ack 1")), between);
    assert_eq!(failure(&with("> P. 1:1001(1000) ack 1")), "11: payload: expected 1000, was 2000");
    let strict = format!("--strict_segments\n{script}");
    assert_eq!(failure(&strict), "12: payload: expected 3000, was 2000");
}

#[test]
fn what_does_not_happen_is_waited_for_and_then_missing() {
    let script = format!("{HANDSHAKE}+0 > . 1:1(0) ack 1\n");
    assert_eq!(failure(&script), "9: no packet until 2.104000 s");
    let script = format!("{HANDSHAKE}+.01 ... 3 read(4, ..., 10) = 10\n");
    assert_eq!(failure(&script), "9: read blocks");
}

#[test]
fn what_a_subject_lacks_skips_the_script() {
    for (event, reason) in [
        ("+0 pipe([5, 6]) = 0", "the call pipe is not supported"),
        ("+0 `nstat -n`", "it has no shell for `nstat -n`"),
        ("+0 %{ assert tcpi_nothing == 0 }%", "it has no tcpi_nothing"),
        ("+0 < udp (10)", "UDP packets are not supported"),
        ("+0 < gre: . 1:1(0) ack 1 win 5", "packets in gre are not supported"),
    ] {
        let verdict = played(&format!("{HANDSHAKE}{event}\n")).verdict;
        assert_eq!(verdict, Verdict::Skipped(reason.to_owned()), "{event}");
    }
}

/// A call that no TCP could take is an error of the script, which needs no run.
#[test]
fn calls_are_checked_before_the_script_runs() {
    for (event, message) in [
        (
            "+0 lisen(3, 1) = 0",
            "9:1: lisen: no system call is named `lisen`; did you mean \"listen\"?",
        ),
        ("+0 listen(3) = 0", "9:1: listen: expected 2 arguments, found 1"),
        ("+0 write(4, ..., SO_FOO) = 1", "9:1: write: no constant is named `SO_FOO`"),
        (
            "+0 setsockopt(4, SOL_TCP, TCP_NODELAY, 1, 4) = 0",
            "9:1: setsockopt: expected a value as [1], \"text\" or {onoff=1, linger=2}, found `1`",
        ),
        (
            "+0 read(4, ..., 10) = -1 EAGIAN (x)",
            "9:1: read: no constant is named `EAGIAN`; did you mean \"EAGAIN\"?",
        ),
        ("+0 read(4, ..., -1) = 0", "9:1: read: expected a length from 0 to 67108864, found -1"),
    ] {
        let error =
            Plan::new(&format!("{HANDSHAKE}{event}\n"), &Choice::default()).expect_err(event);
        assert_eq!(error.to_string(), message);
    }
}
