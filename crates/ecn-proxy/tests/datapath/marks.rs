//! Marks both ways: the served host echoes what it was sent, and slows down when told.

use crate::skip;
use crate::testbed::{Connection, Place, Testbed};
use std::thread::sleep;
use std::time::{Duration, Instant};
use windlass_ecn_proxy::datapath::{Counters, Settings};

pub(crate) fn wait_for(bed: &Testbed, what: &str, mut is: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is() {
        assert!(
            Instant::now() < deadline,
            "{what}: {:?}, {:?}, {:?}\n{}\n{}",
            counters(bed),
            bed.upward.left(),
            bed.datapath.flows(),
            bed.ss(true),
            bed.ss(false)
        );
        sleep(Duration::from_millis(5));
    }
}

pub(crate) fn counters(bed: &Testbed) -> Counters {
    bed.datapath.counters().expect("readable")
}

/// Of a line of ss.
pub(crate) fn number(ss: &str, name: &str) -> f64 {
    let word = ss.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix(':'));
    word.and_then(|word| word.parse().ok()).unwrap_or(f64::INFINITY)
}

#[test]
fn marks_for_the_served_host_make_the_far_host_slow_down() {
    if skip("marks_for_the_served_host_make_the_far_host_slow_down") {
        return;
    }
    for (place, segments) in [(Place::Router, false), (Place::Router, true), (Place::Host, false)] {
        let bed = Testbed::new(place, segments, &Settings::default());
        for ipv6 in [false, true] {
            let before = counters(&bed);
            let connection = bed.connect(ipv6, true, "cubic");
            connection.while_sending(false, || {
                // cwnd grows until the receive window holds it.
                sleep(Duration::from_millis(1500));
                let cwnd = number(&bed.ss(false), "cwnd");
                bed.downward.mark(1);
                wait_for(&bed, "no cut", || {
                    let share = number(&bed.ss(false), "ssthresh") / cwnd;
                    (share - 0.7).abs() < 0.05
                });
                wait_for(&bed, "CWR", || counters(&bed).marks > before.marks);
                sleep(Duration::from_millis(200));
            });
            let after = counters(&bed);
            assert_eq!(after.marks - before.marks, 1);
            assert!(after.echoes > before.echoes, "{after:?}");
            assert_eq!(bed.downward.left()[2], 0, "data of the far host is ECT");
            assert_eq!((after.edit_failed, after.dropped), (0, 0));
        }
        assert_eq!(bed.host_counter("InCsumErrors"), 0);
    }
}

const HOLES: u64 = 4;

/// One mark after another; the share of cwnd that each left.
fn cut_by_marks(bed: &Testbed, connection: &Connection) -> Vec<f64> {
    let mut shares = Vec::new();
    connection.while_sending(true, || {
        for _ in 0..HOLES {
            let released = counters(bed).released;
            // cwnd grows until the receive window holds it.
            sleep(Duration::from_millis(1500));
            let cwnd = number(&bed.ss(true), "cwnd");
            bed.upward.mark(1);
            wait_for(bed, "no hole was repaired", || counters(bed).released > released);
            shares.push(number(&bed.ss(true), "ssthresh") / cwnd);
        }
        sleep(Duration::from_millis(200));
    });
    shares
}

fn assert_one_reduction_a_mark(place: Place, segments: bool, ipv6: bool, controller: &str) {
    let bed = Testbed::new(place, segments, &Settings::default());
    let case = format!("{place:?}, segments {segments}, IPv6 {ipv6}, {controller}");
    let shares = assert_one_retransmission_a_mark(&bed, ipv6, controller, &case);
    let beta = if controller == "cubic" { 0.7 } else { 0.5 };
    for share in &shares {
        assert!((share - beta).abs() < 0.05, "{case}: left {shares:?} of cwnd");
    }
}

/// Marks an upload, and returns the share of cwnd that each mark left.
pub(crate) fn assert_one_retransmission_a_mark(
    bed: &Testbed,
    ipv6: bool,
    controller: &str,
    case: &str,
) -> Vec<f64> {
    let connection = bed.connect(ipv6, true, controller);
    let shares = cut_by_marks(bed, &connection);
    let counters = counters(bed);
    assert_eq!((counters.holes, counters.released), (HOLES, HOLES), "{case}: {counters:?}");
    assert_eq!((counters.edit_failed, counters.dropped), (0, 0), "{case}");
    for name in ["TCPDSACKUndo", "TCPFullUndo", "TCPPartialUndo", "TCPLossUndo", "TCPTimeouts"] {
        assert_eq!(bed.host_counter(name), 0, "{case}: {name}");
    }
    assert_eq!(bed.host_counter("TCPFastRetrans"), HOLES, "{case}: one fast retransmit a hole");
    shares
}

#[test]
fn a_mark_makes_a_served_sender_reduce_once_without_losing_anything() {
    if skip("a_mark_makes_a_served_sender_reduce_once_without_losing_anything") {
        return;
    }
    for ipv6 in [false, true] {
        for segments in [false, true] {
            assert_one_reduction_a_mark(Place::Router, segments, ipv6, "cubic");
        }
    }
    assert_one_reduction_a_mark(Place::Router, false, false, "reno");
}

#[test]
fn a_machine_that_serves_itself_reduces_too() {
    if skip("a_machine_that_serves_itself_reduces_too") {
        return;
    }
    for ipv6 in [false, true] {
        assert_one_reduction_a_mark(Place::Host, false, ipv6, "cubic");
    }
}

/// ACKs on data cannot speak of holes: pure ones made from them do.
#[test]
fn a_sender_that_is_sent_data_is_told_by_pure_acks() {
    if skip("a_sender_that_is_sent_data_is_told_by_pure_acks") {
        return;
    }
    for (place, ipv6, segments) in [
        (Place::Router, false, false),
        (Place::Router, true, true),
        (Place::Host, false, false),
        (Place::Host, true, true),
    ] {
        let bed = Testbed::new(place, segments, &Settings::default());
        let connection = bed.connect(ipv6, true, "cubic");
        connection.while_sending(true, || {
            connection.while_sending(false, || {
                sleep(Duration::from_millis(1500));
                bed.upward.mark(1);
                wait_for(&bed, "no hole was repaired", || counters(&bed).released == 1);
            });
        });
        let counters = counters(&bed);
        assert!(counters.cloned > 0 && counters.edit_failed == 0, "{place:?}: {counters:?}");
        for name in ["InCsumErrors", "TCPDSACKUndo", "TCPFullUndo", "TCPLossUndo", "TCPTimeouts"] {
            assert_eq!(bed.host_counter(name), 0, "{place:?}, IPv6 {ipv6}: {name}");
        }
    }
}

/// What the above is held against.
#[test]
fn a_real_drop_looks_the_same_to_the_sender() {
    if skip("a_real_drop_looks_the_same_to_the_sender") {
        return;
    }
    let bed = Testbed::new(Place::Router, true, &Settings::default());
    let connection = bed.connect(false, true, "cubic");
    connection.while_sending(true, || {
        sleep(Duration::from_millis(1500));
        let cwnd = number(&bed.ss(true), "cwnd");
        bed.upward.drop(1);
        wait_for(&bed, "no retransmission", || bed.host_counter("TCPFastRetrans") == 1);
        wait_for(&bed, "no cut", || number(&bed.ss(true), "ssthresh") < f64::INFINITY);
        let share = number(&bed.ss(true), "ssthresh") / cwnd;
        assert!((share - 0.7).abs() < 0.05, "left {share} of cwnd");
    });
    assert_eq!(counters(&bed).holes, 0);
}
