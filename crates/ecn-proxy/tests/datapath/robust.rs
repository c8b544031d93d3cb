//! Disturbances by paths and hosts: with any of them a stream arrives whole through many virtual
//! losses, and no sender needs a timeout. Every byte is compared. (A receive buffer of 128 KiB is
//! every test's; bulk both ways is in marks.rs, short transfers are in whole.rs.)

use crate::connection::Connection;
use crate::marks::{counters, mark_until_a_virtual_loss, wait_for};
use crate::skip;
use crate::steady::steady;
use crate::testbed::{ProxyMachine, Testbed};
use windlass_ecn_proxy::datapath::Settings;

/// Two seconds of the link, and more while virtual losses are repaired.
const BYTES: u64 = 5_000_000;

fn bed() -> Testbed {
    // A packet is a segment, so that what overtakes or gets lost is one.
    Testbed::new(ProxyMachine::Router, true, &Settings::default())
}

/// No timeout, no damage, and no packet that the proxy dropped or could not edit.
fn assert_intact(bed: &Testbed) {
    let counters = counters(bed);
    assert_eq!((counters.edit_failed, counters.dropped), (0, 0), "{counters:?}");
    for name in ["TCPTimeouts", "InCsumErrors"] {
        assert_eq!(bed.host_counter(name), 0, "{name}: {counters:?}");
    }
}

/// Nothing was lost but virtually, and the sender believes that to the end.
fn assert_no_undo(bed: &Testbed) {
    for name in ["TCPDSACKUndo", "TCPFullUndo", "TCPPartialUndo", "TCPLossUndo"] {
        assert_eq!(bed.host_counter(name), 0, "{name}");
    }
}

/// An upload with one mark after another.
fn upload(bed: &Testbed, send: impl Fn(&Connection, &dyn Fn())) {
    let connection = bed.connect(false, true, "cubic");
    send(&connection, &|| bed.upward.mark(1));
    assert!(counters(bed).virtual_losses >= 10, "{:?}", counters(bed));
    assert_intact(bed);
}

#[test]
fn reordering_is_distinguished_from_virtual_losses() {
    if skip() {
        return;
    }
    for timestamps in ["1", "0"] {
        steady(|| {
            let bed = bed();
            bed.set_on_host("tcp_timestamps", timestamps);
            bed.let_one_overtake_in(40);
            upload(&bed, |connection, mark| connection.send(BYTES, mark));
            // Else none overtook another.
            assert!(bed.far_counter("TCPOFOQueue") > 10);
        });
    }
}

/// A real loss behind an open virtual loss: both are repaired, without a timeout.
#[test]
fn a_real_loss_in_the_window_of_a_virtual_loss_is_repaired_too() {
    const LOSSES: u64 = 5;
    if skip() {
        return;
    }
    for timestamps in ["1", "0"] {
        steady(|| {
            let bed = bed();
            bed.set_on_host("tcp_timestamps", timestamps);
            let connection = bed.connect(false, true, "cubic");
            connection.while_sending(true, || {
                connection.wait_for_bytes(true, 1_000_000);
                for _ in 0..LOSSES {
                    let before = counters(&bed).virtual_losses;
                    bed.upward.mark(1);
                    wait_for(&bed, "no virtual loss", || counters(&bed).virtual_losses > before);
                    bed.upward.drop(1);
                    connection.wait_for_bytes(true, 1_500_000);
                }
            });
            let repaired = bed.host_counter("RetransSegs");
            assert!(
                repaired >= 2 * LOSSES,
                "{repaired} of {LOSSES} virtual losses and as many losses"
            );
            assert_intact(&bed);
        });
    }
}

#[test]
fn without_window_scaling_a_virtual_loss_is_one_fast_retransmit() {
    if skip() {
        return;
    }
    assert_one_fast_retransmit_a_virtual_loss(|bed| bed.set_on_host("tcp_window_scaling", "0"));
}

/// The far host then does not report data that arrives twice.
#[test]
fn without_dsack_a_virtual_loss_is_one_fast_retransmit() {
    if skip() {
        return;
    }
    assert_one_fast_retransmit_a_virtual_loss(|bed| bed.set_on_far_host("tcp_dsack", "0"));
}

fn assert_one_fast_retransmit_a_virtual_loss(prepare: impl Fn(&Testbed)) {
    const VIRTUAL_LOSSES: u64 = 5;
    steady(|| {
        let bed = bed();
        prepare(&bed);
        let connection = bed.connect(false, true, "cubic");
        connection.while_sending(true, || {
            for _ in 0..VIRTUAL_LOSSES {
                connection.wait_for_bytes(true, 1_000_000);
                mark_until_a_virtual_loss(&bed);
            }
            connection.wait_for_bytes(true, 400_000);
        });
        assert_eq!(counters(&bed).virtual_losses, VIRTUAL_LOSSES);
        assert_eq!(bed.host_counter("TCPFastRetrans"), VIRTUAL_LOSSES);
        assert_intact(&bed);
        assert_no_undo(&bed);
    });
}

/// Segments of many sizes, most of them small; the link is slow, so that whoever writes fills the window.
#[test]
fn writes_of_three_hundred_bytes_arrive_whole() {
    if skip() {
        return;
    }
    steady(|| {
        let bed = Testbed::with_rate(ProxyMachine::Router, true, &Settings::default(), "2mbit");
        upload(&bed, |connection, mark| {
            connection.host.set_nodelay(true).expect("a socket");
            connection.send_in_writes_of(300, BYTES / 10, mark);
        });
        assert_no_undo(&bed);
    });
}
