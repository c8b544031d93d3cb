//! RFC 3742: how slow start grows above max_ssthresh.

use super::script::{Script, plain};
use crate::cc::NAMES;
use crate::{Config, Profile, Span};
use alloc::vec::Vec;

/// cwnd after each of `acks` ACKs of a segment of 1000 bytes, from four segments on, with a max_ssthresh of four.
fn windows(initial_ssthresh: Option<u64>, acks: u64) -> Vec<f64> {
    let mut s = Script::established(plain().with(|c| {
        c.window.initial = 4;
        c.window.initial_ssthresh = initial_ssthresh;
        c.growth.limited_slow_start = Some(4);
    }));
    s.write(100_000);
    s.skip();
    let after = (1..=acks).map(|segment| {
        s.recv(&alloc::format!(". 1 ack {}", 1 + segment * 1000));
        s.skip();
        s.connection.cwnd()
    });
    after.collect()
}

/// RFC 3742 section 2, ACK by ACK: K is 1 at 4 segments, 2 from there on, 3 from 6 segments on.
#[test]
fn each_ack_adds_the_part_of_a_segment_that_the_window_gives() {
    let grown = [5000.0, 5500.0, 6000.0, 6333.0, 6666.0, 7000.0];
    assert_eq!(windows(None, 6), grown);
}

#[test]
fn in_congestion_avoidance_an_ack_counts_in_full() {
    let grown = windows(Some(5000), 2);
    assert_eq!(grown, [5000.0, 5200.0]);
}

fn config(controller: &str, change: fn(&mut Config)) -> Config {
    super::config(Profile::Linux, controller).with(|c| {
        c.window.initial = 10;
        change(c);
    })
}

/// cwnd in bytes after half a second of bulk data.
fn bulk(controller: &str, change: fn(&mut Config)) -> f64 {
    let mut pair = super::Pair::new(config(controller, change), config(controller, change));
    pair.run_for(Span::from_millis(300));
    pair.a.connection.write(u64::MAX).expect("room");
    pair.run_for(Span::from_millis(500));
    pair.a.connection.cwnd()
}

#[test]
fn every_controller_with_the_standard_slow_start_keeps_to_it() {
    // These have another slow start, or none.
    let others = ["none", "bbr", "bbr3", "prague"];
    for controller in NAMES.into_iter().filter(|name| !others.contains(name)) {
        let limited = bulk(controller, |c| c.growth.limited_slow_start = Some(10));
        let free = bulk(controller, |_| ());
        assert!(limited < 0.7 * free, "{controller}: {limited} of {free}");
    }
}
