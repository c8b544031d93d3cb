//! Served senders of other kinds, and the other policies.

use crate::marks::{Cut, assert_cuts, assert_one_retransmission_a_mark, counters, wait_for};
use crate::skip;
use crate::steady::steady;
use crate::testbed::{ProxyMachine, Testbed};
use windlass_ecn_proxy::datapath::{Policy, Settings};

#[test]
fn a_sender_without_timestamps_reduces_once_a_mark() {
    if skip() {
        return;
    }
    for (controller, beta) in [("cubic", 0.7), ("reno", 0.5)] {
        steady(|| {
            let bed = Testbed::new(ProxyMachine::Router, false, &Settings::default());
            bed.set_on_host("tcp_timestamps", "0");
            let cuts = assert_one_retransmission_a_mark(&bed, false, controller, controller);
            assert_cuts(&cuts, beta, controller);
        });
    }
}

/// It works; what such senders make of many marks is another matter (see docs/reference/ecn-proxy.md).
#[test]
fn a_sender_without_sack_can_be_notified_by_duplicates() {
    if skip() {
        return;
    }
    let settings = Settings { without_sack: true, ..Settings::default() };
    for (controller, beta, timestamps) in [("cubic", 0.7, "1"), ("reno", 0.5, "0")] {
        steady(|| {
            let bed = Testbed::new(ProxyMachine::Router, false, &settings);
            bed.set_on_host("tcp_sack", "0");
            bed.set_on_host("tcp_timestamps", timestamps);
            let cuts = assert_one_retransmission_a_mark(&bed, false, controller, controller);
            assert_cuts(&cuts, beta, controller);
        });
    }
}

/// With SACK and timestamps each on and off, IPv4 and IPv6, offloads on and off: one fast retransmit a virtual loss,
/// and where the controller reduces by `beta` that cut.
fn assert_every_kind(controller: &str, beta: Option<f64>) {
    let settings = Settings { without_sack: true, ..Settings::default() };
    for kind in 0..16 {
        let [ipv6, offloads, sack, timestamps] = [8, 4, 2, 1].map(|bit| kind & bit != 0);
        let case = format!(
            "{controller}, IPv6 {ipv6}, offloads {offloads}, SACK {sack}, timestamps {timestamps}"
        );
        steady(|| {
            let bed = Testbed::new(ProxyMachine::Router, false, &settings);
            if !offloads {
                bed.without_offloads();
            }
            bed.set_on_host("tcp_sack", if sack { "1" } else { "0" });
            bed.set_on_host("tcp_timestamps", if timestamps { "1" } else { "0" });
            let cuts = assert_one_retransmission_a_mark(&bed, ipv6, controller, &case);
            if let Some(beta) = beta {
                assert_cuts(&cuts, beta, &case);
            }
            assert_eq!(bed.host_counter("InCsumErrors"), 0, "{case}");
        });
    }
}

#[test]
#[ignore = "sixteen kinds take minutes; the other tests have some of them"]
fn every_kind_of_cubic_reduces_once_a_mark() {
    if !skip() {
        assert_every_kind("cubic", Some(0.7));
    }
}

#[test]
#[ignore = "sixteen kinds take minutes; the other tests have some of them"]
fn every_kind_of_reno_reduces_once_a_mark() {
    if !skip() {
        assert_every_kind("reno", Some(0.5));
    }
}

#[test]
#[ignore = "sixteen kinds take minutes; the other tests have some of them"]
fn every_kind_of_bbr_sends_again_once_a_mark() {
    if !skip() && has_bbr() {
        assert_every_kind("bbr", None);
    }
}

/// True, or a line that says that the tests of BBR cannot run.
fn has_bbr() -> bool {
    let controllers = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let has = std::fs::read_to_string(controllers).is_ok_and(|names| names.contains("bbr"));
    if !has {
        windlass_testbed::skip("needs the kernel's tcp_bbr");
    }
    has
}

/// It does not slow down for a loss, but it must not take a virtual one for worse than it is.
#[test]
fn bbr_sends_again_once_a_mark() {
    if skip() || !has_bbr() {
        return;
    }
    steady(|| {
        let bed = Testbed::new(ProxyMachine::Router, false, &Settings::default());
        assert_one_retransmission_a_mark(&bed, false, "bbr", "bbr");
    });
}

#[test]
fn a_sender_without_sack_gets_no_ect() {
    if skip() {
        return;
    }
    let bed = Testbed::new(ProxyMachine::Router, false, &Settings::default());
    bed.set_on_host("tcp_sack", "0");
    let connection = bed.connect(false, true, "cubic");
    bed.upward.mark(1);
    connection.while_sending(true, || connection.wait_for_bytes(true, 500_000));
    let counters = counters(&bed);
    assert_eq!(
        (counters.proxied, counters.ect, counters.virtual_losses),
        (1, 0, 0),
        "{counters:?}"
    );
    let [marks, _, not_ect, _] = bed.upward.left();
    assert!(marks == 1 && not_ect > 0, "nothing could be marked");
}

#[test]
fn policy_drop_drops_one_packet_a_mark() {
    if skip() {
        return;
    }
    let settings = Settings { policy: Policy::Drop, ..Settings::default() };
    steady(|| {
        let bed = Testbed::new(ProxyMachine::Router, true, &settings);
        let connection = bed.connect(false, true, "cubic");
        let cuts: Vec<_> = connection.while_sending(true, || {
            let mark = |marks| {
                bed.upward.mark(1);
                wait_for(&bed, "no answer", || counters(&bed).answered_drop == marks);
            };
            (1..=3).map(|marks| Cut::by(&bed, &connection, true, || mark(marks))).collect()
        });
        assert_cuts(&cuts, 0.7, "policy drop");
        let counters = counters(&bed);
        assert_eq!((counters.dropped, counters.virtual_losses), (3, 0), "{counters:?}");
        assert_eq!(bed.host_counter("TCPFastRetrans"), 3);
        assert_eq!(bed.host_counter("TCPTimeouts"), 0);
    });
}

#[test]
fn policy_no_ect_leaves_uploads_alone_and_marks_downloads() {
    if skip() {
        return;
    }
    let settings = Settings { policy: Policy::NoEct, ..Settings::default() };
    let bed = Testbed::new(ProxyMachine::Router, false, &settings);
    let connection = bed.connect(false, true, "cubic");
    bed.upward.mark(1);
    connection.while_sending(true, || {
        connection.wait_for_bytes(true, 500_000);
        connection.while_sending(false, || {
            connection.wait_for_bytes(false, 500_000);
            bed.downward.mark(1);
            wait_for(&bed, "no echo", || counters(&bed).echoes > 0);
        });
    });
    let counters = counters(&bed);
    assert_eq!((counters.ect, counters.episodes, counters.marks), (0, 0, 1), "{counters:?}");
    let [marks, _, not_ect, _] = bed.upward.left();
    assert!(marks == 1 && not_ect > 0, "nothing could be marked");
}
