//! Data arrives whole and once, wherever virtual losses open. Every byte is compared.

use crate::marks::counters;
use crate::skip;
use crate::testbed::{ProxyMachine, Testbed};
use windlass_ecn_proxy::datapath::Settings;

/// One upload at `rate` with a mark every few milliseconds; returns how many virtual losses there were.
fn upload(bytes: u64, rate: &str) -> u64 {
    let bed = Testbed::with_rate(ProxyMachine::Router, false, &Settings::default(), rate);
    let connection = bed.connect(false, true, "cubic");
    connection.send(bytes, || bed.upward.mark(1));
    let counters = counters(&bed);
    assert_eq!((counters.edit_failed, counters.dropped), (0, 0), "{counters:?}");
    counters.virtual_losses
}

#[test]
fn a_bulk_transfer_arrives_whole_through_many_virtual_losses() {
    if skip() {
        return;
    }
    assert!(upload(64 << 20, "1gbit") >= 10);
}

#[test]
#[ignore = "a gigabyte: minutes without optimisation"]
fn a_gigabyte_at_a_gigabit_arrives_whole_through_many_virtual_losses() {
    let virtual_losses = upload(1_000_000_000, "1gbit");
    println!("{virtual_losses} virtual losses");
    assert!(virtual_losses >= 100, "{virtual_losses} virtual losses");
}

/// Of lengths around everything that matters: a window, a segment, none.
#[test]
fn four_hundred_short_transfers_arrive_whole_with_virtual_losses_anywhere() {
    if skip() {
        return;
    }
    let bed = Testbed::with_rate(ProxyMachine::Router, false, &Settings::default(), "100mbit");
    for n in 0..400 {
        let connection = bed.connect(n % 2 == 1, true, "cubic");
        bed.upward.mark(1);
        // Up to 60 segments, by a step that has nothing to do with their size.
        connection.send(n * 7919 % 86_000, || {});
    }
    let counters = counters(&bed);
    assert_eq!(counters.proxied, 400);
    assert_eq!((counters.edit_failed, counters.dropped), (0, 0), "{counters:?}");
    assert!(counters.virtual_losses > 100, "{counters:?}");
    assert_eq!(bed.host_counter("InCsumErrors"), 0);
}
