//! A far host with DCTCP (RFC 8257). It counts marks, where RFC 3168 asks for one answer a round: so it
//! slows down by less for few marks, and as a receiver it echoes each mark for itself, without waiting for
//! CWR.
//!
//! Debian's kernels have the module: `scripts/with-kernel -- target/debug/deps/datapath-... dctcp`.

use crate::marks::{counters, mark_until_a_virtual_loss, wait_for};
use crate::skip;
use crate::testbed::{ProxyMachine, Testbed};
use nix::sys::socket::{setsockopt, sockopt::TcpCongestion};
use rustix::net::{AddressFamily, SocketType, socket};
use std::ffi::OsString;
use windlass_ecn_proxy::datapath::Settings;

/// True, or a line that says that the tests of DCTCP cannot run. The kernel loads the module for this.
fn has_dctcp() -> bool {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    let has = setsockopt(&socket, TcpCongestion, &OsString::from("dctcp")).is_ok();
    if !has {
        windlass_testbed::skip("needs the kernel's tcp_dctcp");
    }
    has
}

fn assert_intact(bed: &Testbed, ipv6: bool) {
    let counters = counters(bed);
    assert_eq!((counters.proxied, counters.edit_failed), (1, 0), "{counters:?}");
    assert_eq!(bed.codepoints(true, ipv6).0, 0, "codepoints at the served host");
    assert_eq!(bed.host_counter("InCsumErrors") + bed.far_counter("InCsumErrors"), 0);
}

/// Each mark of a download reaches the sender as ECE, and slows it down.
#[test]
fn a_dctcp_sender_hears_of_marks() {
    if skip() || !has_dctcp() {
        return;
    }
    for ipv6 in [false, true] {
        let bed = Testbed::new(ProxyMachine::Router, true, &Settings::default());
        let marker = bed.at_far_host();
        let connection = bed.connect_with(ipv6, true, "cubic", "dctcp");
        connection.while_sending(false, || {
            connection.wait_for_bytes(false, 300_000);
            assert!(bed.ss(false).contains("dctcp"), "{}", bed.ss(false));
            let before = bed.far_counter("TCPDeliveredCE");
            for round in 1..=3 {
                marker.mark(1);
                wait_for(&bed, "no mark", || counters(&bed).marks >= round);
                connection.wait_for_bytes(false, 300_000);
            }
            assert!(bed.far_counter("TCPDeliveredCE") > before);
            let sender = bed.ss(false);
            assert!(sender.contains("ssthresh:"), "has not slowed down: {sender}");
        });
        assert!(counters(&bed).echoes > 0);
        assert_intact(&bed, ipv6);
    }
}

/// The echoes of a DCTCP receiver are answered by virtual losses.
#[test]
fn marks_on_the_way_to_a_dctcp_receiver_are_answered() {
    const VIRTUAL_LOSSES: u64 = 3;
    if skip() || !has_dctcp() {
        return;
    }
    for ipv6 in [false, true] {
        let bed = Testbed::new(ProxyMachine::Router, true, &Settings::default());
        let connection = bed.connect_with(ipv6, true, "cubic", "dctcp");
        connection.while_sending(true, || {
            for _ in 0..VIRTUAL_LOSSES {
                connection.wait_for_bytes(true, 500_000);
                mark_until_a_virtual_loss(&bed);
            }
            connection.wait_for_bytes(true, 300_000);
        });
        assert_eq!(counters(&bed).virtual_losses, VIRTUAL_LOSSES);
        assert_eq!(bed.host_counter("TCPTimeouts"), 0);
        assert_intact(&bed, ipv6);
    }
}
