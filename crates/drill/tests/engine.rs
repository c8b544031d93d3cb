//! Scripts of our own on the engine: what it agrees on, sends and answers, in every version of IP.

use windlass_drill::engine::Engine;
use windlass_drill::{Choice, IpVersion, Plan, Run, Verdict, run};

fn run_with(ip_version: IpVersion, source: &str) -> Run {
    let plan = Plan::new(source, &Choice { ip_version, ..Choice::default() }).expect("a script");
    run(&plan, &Engine)
}

/// Passes, with each version of IP, and twice the same.
#[track_caller]
fn passes(source: &str) {
    for (name, version) in IpVersion::NAMES {
        let first = run_with(version, source);
        if let Verdict::Failed(divergence) = &first.verdict {
            panic!("{name}: {divergence:#?}\n{:#?}", first.entries);
        }
        assert_eq!(first.verdict, Verdict::Passed, "{name}");
        assert_eq!(first, run_with(version, source), "{name}: another run");
    }
}

/// A listener on descriptor 3, and a connection without options on descriptor 4.
const ACCEPTED: &str = "
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 20000 <mss 1000>
+0 > S. 0:0(0) ack 1 <mss 1460>
+.05 < . 1:1(0) ack 1 win 20000
+0 accept(3, ..., ...) = 4
";

fn accepted(rest: &str) -> String {
    format!("`./defaults.sh`\n{ACCEPTED}{rest}")
}

#[test]
fn a_lost_segment_is_sent_again_after_three_duplicate_acks() {
    passes(&accepted(
        "
+0 write(4, ..., 5000) = 5000
+0 > P. 1:5001(5000) ack 1
+.05 < . 1:1(0) ack 1001 win 20000
+0 < . 1:1(0) ack 1001 win 20000
+0 < . 1:1(0) ack 1001 win 20000
+0 < . 1:1(0) ack 1001 win 20000
+0 > . 1001:2001(1000) ack 1
+.05 < . 1:1(0) ack 5001 win 20000
+0 %{ assert tcpi_total_retrans == 1, tcpi_total_retrans }%
",
    ));
}

#[test]
fn without_an_answer_data_is_sent_again_with_a_doubled_timeout() {
    passes(&accepted(
        "
+0 write(4, ..., 100) = 100
+0 > P. 1:101(100) ack 1
+.25 > P. 1:101(100) ack 1
+.5 > P. 1:101(100) ack 1
+0 %{ assert tcpi_ca_state == TCP_CA_Loss, tcpi_ca_state }%
",
    ));
}

#[test]
fn a_blocked_read_returns_when_data_arrives_and_a_nonblocking_one_at_once() {
    passes(&accepted(
        "
+0...0.100 read(4, ..., 500) = 300
+.1 < P. 1:301(300) ack 1 win 20000
+0 > . 1:1(0) ack 301
+0 recv(4, ..., 500, MSG_DONTWAIT) = -1 EAGAIN (Resource temporarily unavailable)
+0 < R. 301:301(0) ack 1 win 20000
+0 read(4, ..., 500) = -1 ECONNRESET (Connection reset by peer)
",
    ));
}

#[test]
fn poll_waits_for_the_event_or_its_timeout() {
    passes(&accepted(
        "
+0...0.050 poll([{fd=4, events=POLLIN, revents=0}], 1, 50) = 0
+.05...0.150 poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, 1000) = 1
+.1 < P. 1:11(10) ack 1 win 20000
+0 > . 1:1(0) ack 11
",
    ));
}

#[test]
fn a_closed_window_is_probed() {
    passes(&accepted(
        "
+0 write(4, ..., 1000) = 1000
+0 > P. 1:1001(1000) ack 1
+.05 < . 1:1(0) ack 1001 win 0
+0 write(4, ..., 10) = 10
+.25 > . 1001:1002(1) ack 1
+0 < . 1:1(0) ack 1001 win 20000
+0 > P. 1001:1011(10) ack 1
",
    ));
}

#[test]
fn accecn_counts_marks_in_ace_and_in_the_option() {
    passes(
        "`./defaults.sh
sysctl -q net.ipv4.tcp_ecn=3`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < [ect1] SEWA 0:0(0) win 20000 <mss 1012>
+0 > [noecn] SEW. 0:0(0) ack 1 <mss 1460,ECN e1b 1 ceb 0 e0b 1,nop>
+.05 < [ect1] W. 1:1(0) ack 1 win 20000 <ECN e1b 1 ceb 0 e0b 1,nop>
+0 accept(3, ..., ...) = 4
+0 < [ce] P.5 1:101(100) ack 1 win 20000
+0 > [ect0] .6 1:1(0) ack 101 <ECN e1b 1 ceb 100 e0b 1,nop>
+0 write(4, ..., 1000) = 1000
+0 > [ect0] P.6 1:1001(1000) ack 101 <ECN e1b 1 ceb 100 e0b 1,nop>
+.05 < [ect1] .6 101:101(0) ack 1001 win 20000 <ECN e1b 1 ceb 1000>
+0 %{
assert tcpi_delivered_ce == 1, tcpi_delivered_ce
assert tcpi_delivered_ce_bytes == 1000, tcpi_delivered_ce_bytes
assert tcpi_received_ce == 1, tcpi_received_ce
}%
",
    );
}

#[test]
fn cork_holds_a_small_write_for_200_ms() {
    passes(&accepted(
        "
+0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0
+0 write(4, ..., 10) = 10
+.2 > P. 1:11(10) ack 1
+0 < . 1:1(0) ack 11 win 20000
+0 write(4, ..., 20) = 20
+.01 setsockopt(4, SOL_TCP, TCP_CORK, [0], 4) = 0
+0 > P. 11:31(20) ack 1
",
    ));
}

#[test]
fn a_variable_that_the_engine_lacks_skips_the_script_with_the_reason() {
    let run = run_with(
        IpVersion::V4,
        "`sysctl -q net.ipv4.tcp_shrink_window=1`\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n",
    );
    let Verdict::Skipped(reason) = run.verdict else { panic!("{:?}", run.verdict) };
    assert!(reason.contains("tcp_shrink_window"), "{reason}");
}

#[test]
fn a_script_that_expects_something_else_fails_at_its_first_divergence() {
    let run =
        run_with(IpVersion::V4, &accepted("+0 < F. 1:1(0) ack 1 win 20000\n+0 > . 1:1(0) ack 1\n"));
    let Verdict::Failed(divergence) = run.verdict else { panic!("{:?}", run.verdict) };
    assert!(divergence.summary.contains("ack"), "{divergence:?}");
}
