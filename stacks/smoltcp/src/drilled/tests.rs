use super::*;
use windlass_drill::{Choice, Plan, Verdict, run};

fn verdict(script: &str) -> Verdict {
    let plan = Plan::new(script, &Choice::default()).expect("a script");
    run(&plan, &Drilled { control: Control::Reno }).verdict
}

const SERVER: &str = "
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 257
+0 accept(3, ..., ...) = 4
";

#[test]
fn a_server_reads_and_writes() {
    let script = format!(
        "{SERVER}
+0 < P. 1:101(100) ack 1 win 257
+0 read(4, ..., 1000) = 100
+0~+.02 > . 1:1(0) ack 101
+.1 write(4, ..., 500) = 500
+0 > P. 1:501(500) ack 101
+.1 < . 101:101(0) ack 501 win 257
+0 close(4) = 0
+0 > F. 501:501(0) ack 101
"
    );
    assert_eq!(verdict(&script), Verdict::Passed);
}

#[test]
fn a_lost_segment_is_sent_again_after_a_second() {
    let script = format!(
        "{SERVER}\n+0 write(4, ..., 500) = 500\n+0 > P. 1:501(500) ack 1\n+.9~+1.3 > P. 1:501(500) ack 1\n"
    );
    assert_eq!(verdict(&script), Verdict::Passed);
}

#[test]
fn another_answer_is_a_failure() {
    let script = format!("{SERVER}\n+0 write(4, ..., 500) = 500\n+0 > P. 1:401(400) ack 1\n");
    assert!(matches!(verdict(&script), Verdict::Failed(_)));
}

#[test]
fn what_it_lacks_is_skipped() {
    let script = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 setsockopt(3, SOL_TCP, TCP_CORK, [1], 4) = 0\n";
    assert!(matches!(verdict(script), Verdict::Skipped(_)));
}
