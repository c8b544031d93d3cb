//! [`AckPolicy::Split`]: a receiver that divides its ACKs (Normann 2011).

use super::script::{Script, plain};
use crate::config::{AckPolicy, Growth};
use crate::conn::State;

fn split(parts: u32) -> Script {
    Script::established(plain().with(|c| c.acks.policy = AckPolicy::Split { parts }))
}

#[test]
fn each_segment_is_acknowledged_in_ascending_parts() {
    let mut s = split(4);
    s.recv(". 1:1001 ack 1");
    s.expect(&[". 1 ack 251", ". 1 ack 501", ". 1 ack 751", ". 1 ack 1001"]);
    s.recv(". 1001:1101 ack 1");
    s.expect(&[". 1 ack 1026", ". 1 ack 1051", ". 1 ack 1076", ". 1 ack 1101"]);
}

#[test]
fn no_number_is_acknowledged_twice() {
    let mut s = split(10);
    s.recv(". 1:4 ack 1");
    s.expect(&[". 1 ack 2", ". 1 ack 3", ". 1 ack 4"]);
}

#[test]
fn a_duplicate_ack_is_one_ack() {
    let mut s = split(4);
    s.recv(". 1001:2001 ack 1");
    s.expect(&[". 1 ack 1"]);
    s.recv(". 1:1001 ack 1");
    s.expect(&[". 1 ack 2001"]);
}

#[test]
fn data_goes_after_the_parts() {
    let mut s = split(2);
    s.write(100);
    s.write(100);
    s.skip();
    s.recv(". 1:1001 ack 101");
    s.expect(&[". 101 ack 501", ". 101 ack 1001", "P. 101:201 ack 1001"]);
}

#[test]
fn the_last_part_acknowledges_the_fin() {
    let mut s = split(2);
    s.recv("FP. 1:1001 ack 1");
    s.expect(&[". 1 ack 501", ". 1 ack 1002"]);
    s.expect_state(State::CloseWait);
}

/// Growth to a window of 5,000 bytes in slow start, then beyond.
fn sender(slow_start: Growth, avoidance: Growth) -> Script {
    let mut s = Script::established(plain().with(|c| {
        c.window.initial = 4;
        c.window.initial_ssthresh = Some(5000);
        c.growth.credit = slow_start;
        c.growth.avoidance_credit = Some(avoidance);
        c.growth.cwnd_validation = false;
    }));
    s.write(30_000);
    s.skip();
    s
}

#[test]
fn the_credit_of_an_ack_may_differ_by_phase() {
    let per_byte = Growth::PerByte { limit: 1 };
    let mut s = sender(per_byte, Growth::PerAck);
    s.recv(". 1 ack 501");
    s.expect_windows(4500, 5000);
    s.recv(". 1 ack 1001");
    s.expect_windows(5000, 5000);
    // In congestion avoidance: a segment, of which the window makes a fifth.
    s.recv(". 1 ack 1501");
    s.expect_windows(5200, 5000);
    let mut s = sender(Growth::PerAck, per_byte);
    s.recv(". 1 ack 501");
    s.expect_windows(5000, 5000);
    s.recv(". 1 ack 1001");
    s.expect_windows(5100, 5000);
}
