//! [`AckPolicy::Split`]: a receiver that divides its ACKs (papers/003).

use super::script::{Script, plain};
use crate::Config;
use crate::config::AckPolicy;
use crate::conn::State;

fn split(parts: u32) -> Script {
    Script::established(Config { ack_policy: AckPolicy::Split { parts }, ..plain() })
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
