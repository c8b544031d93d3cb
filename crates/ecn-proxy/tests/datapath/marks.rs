//! Marks in both directions: the served host echoes those it receives and slows down for those of its
//! own data.

use crate::connection::Connection;
use crate::skip;
use crate::steady::steady;
use crate::testbed::{ProxyMachine, Testbed};
use windlass_ecn_proxy::datapath::{Counters, Settings};
use windlass_testbed::{Need, eventually, skip_unless};

/// Polls `is` until it is true; `missing` describes what never came otherwise.
pub(crate) fn wait_for(bed: &Testbed, missing: &str, is: impl FnMut() -> bool) {
    assert!(
        eventually(is),
        "{missing}: {:?}, {:?}, {:?}\n{}\n{}",
        counters(bed),
        bed.upward.left(),
        bed.datapath.flows(),
        bed.ss(true),
        bed.ss(false)
    );
}

pub(crate) fn counters(bed: &Testbed) -> Counters {
    bed.datapath.counters().expect("readable")
}

/// Of a line of ss.
pub(crate) fn number(ss: &str, name: &str) -> f64 {
    let word = ss.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix(':'));
    word.and_then(|word| word.parse().ok()).unwrap_or(f64::INFINITY)
}

/// cwnd before a reduction and ssthresh after it, in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    cwnd: f64,
    ssthresh: f64,
}

impl Cut {
    /// `mark` marks a packet and waits for the answer; the window is read before and after.
    pub(crate) fn by(
        bed: &Testbed,
        connection: &Connection,
        of_host: bool,
        mark: impl FnOnce(),
    ) -> Cut {
        // cwnd grows until the receive window holds it.
        connection.wait_for_bytes(of_host, 3_500_000);
        let cwnd = number(&bed.ss(of_host), "cwnd");
        mark();
        Cut { cwnd, ssthresh: number(&bed.ss(of_host), "ssthresh") }
    }
}

/// By their median, since a window may grow between its reading and its cut; to a segment, since
/// windows are whole ones.
pub(crate) fn assert_cuts(cuts: &[Cut], beta: f64, case: &str) {
    let off = |cut: &Cut| (cut.ssthresh / cut.cwnd - beta).abs() - 1.0 / cut.cwnd;
    let mut offs: Vec<_> = cuts.iter().map(off).collect();
    offs.sort_by(f64::total_cmp);
    assert!(offs[offs.len() / 2] < 0.05, "{case}: not cut to {beta}: {cuts:?}");
}

#[test]
fn marks_for_the_served_host_make_the_far_host_slow_down() {
    if skip() {
        return;
    }
    for (place, segments) in
        [(ProxyMachine::Router, false), (ProxyMachine::Router, true), (ProxyMachine::Host, false)]
    {
        steady(|| assert_downloads_slow_down(place, segments));
    }
}

fn assert_downloads_slow_down(place: ProxyMachine, segments: bool) {
    let bed = Testbed::new(place, segments, &Settings::default());
    let case = format!("{place:?}, segments {segments}");
    assert_downloads_slow_down_on(&bed, &[false, true], &case);
}

/// Marks downloads over IPv4 and IPv6, as `families` says.
pub(crate) fn assert_downloads_slow_down_on(bed: &Testbed, families: &[bool], case: &str) {
    const MARKS: u64 = 3;
    for &ipv6 in families {
        let before = counters(bed);
        let connection = bed.connect(ipv6, true, "cubic");
        let cuts: Vec<_> = connection.while_sending(false, || {
            let mark = || {
                let before = number(&bed.ss(false), "delivered_ce");
                bed.downward.mark(1);
                wait_for(bed, "no echo", || number(&bed.ss(false), "delivered_ce") != before);
            };
            let cuts = (0..MARKS).map(|_| Cut::by(bed, &connection, false, mark)).collect();
            connection.wait_for_bytes(false, 400_000);
            cuts
        });
        assert_cuts(&cuts, 0.7, &format!("{case}, IPv6 {ipv6}"));
        let after = counters(bed);
        assert_eq!(after.marks - before.marks, MARKS);
        assert!(after.echoes - before.echoes >= MARKS, "{after:?}");
        assert_eq!(bed.downward.left()[2], 0, "data of the far host is ECT");
        assert_eq!((after.edit_failed, after.dropped), (0, 0));
    }
    assert_eq!(bed.host_counter("InCsumErrors"), 0);
}

const VIRTUAL_LOSSES: u64 = 5;

/// Marks a packet, and another where the sender had too little in flight: on a busy machine it has
/// its turns, and nothing to send between them.
pub(crate) fn mark_until_a_virtual_loss(bed: &Testbed) {
    for _ in 0..30 {
        let before = counters(bed);
        let of_floor = || counters(bed).answered_floor > before.answered_floor;
        bed.upward.mark(1);
        wait_for(bed, "no virtual loss was repaired", || {
            counters(bed).released > before.released || of_floor()
        });
        if !of_floor() {
            return;
        }
        let seen = bed.upward.left()[3];
        wait_for(bed, "no data", || bed.upward.left()[3] >= seen + 40);
    }
    panic!("no mark met a flight of more than two segments: {:?}", counters(bed));
}

/// One mark after another.
fn cut_by_marks(bed: &Testbed, connection: &Connection) -> Vec<Cut> {
    connection.while_sending(true, || {
        let cuts = (0..VIRTUAL_LOSSES)
            .map(|_| Cut::by(bed, connection, true, || mark_until_a_virtual_loss(bed)))
            .collect();
        connection.wait_for_bytes(true, 400_000);
        cuts
    })
}

fn assert_one_reduction_a_mark(place: ProxyMachine, segments: bool, ipv6: bool, controller: &str) {
    let case = format!("{place:?}, segments {segments}, IPv6 {ipv6}, {controller}");
    let beta = if controller == "cubic" { 0.7 } else { 0.5 };
    steady(|| {
        let bed = Testbed::new(place, segments, &Settings::default());
        let cuts = assert_one_retransmission_a_mark(&bed, ipv6, controller, &case);
        assert_cuts(&cuts, beta, &case);
    });
}

/// Marks an upload, and returns the cut that each mark made.
pub(crate) fn assert_one_retransmission_a_mark(
    bed: &Testbed,
    ipv6: bool,
    controller: &str,
    case: &str,
) -> Vec<Cut> {
    let connection = bed.connect(ipv6, true, controller);
    let with_sack = bed.ss(true).split_whitespace().any(|word| word == "sack");
    let cuts = cut_by_marks(bed, &connection);
    let counters = counters(bed);
    assert_eq!(
        (counters.virtual_losses, counters.released),
        (VIRTUAL_LOSSES, VIRTUAL_LOSSES),
        "{case}: {counters:?}"
    );
    assert_eq!(counters.edit_failed, 0, "{case}");
    // Without SACK window updates are kept back: they would count as duplicates.
    assert!(counters.dropped == 0 || !with_sack, "{case}: {counters:?}");
    for name in ["TCPDSACKUndo", "TCPFullUndo", "TCPPartialUndo", "TCPLossUndo", "TCPTimeouts"] {
        assert_eq!(bed.host_counter(name), 0, "{case}: {name}");
    }
    assert_eq!(
        bed.host_counter("TCPFastRetrans"),
        VIRTUAL_LOSSES,
        "{case}: one fast retransmit a virtual loss"
    );
    cuts
}

#[test]
fn a_mark_makes_a_served_sender_reduce_once_without_losing_anything() {
    if skip() {
        return;
    }
    for ipv6 in [false, true] {
        for segments in [false, true] {
            assert_one_reduction_a_mark(ProxyMachine::Router, segments, ipv6, "cubic");
        }
    }
    assert_one_reduction_a_mark(ProxyMachine::Router, false, false, "reno");
}

/// As on the wire: checksums in the packets, in those that an edit resizes too.
#[test]
fn without_offloads_a_mark_does_the_same() {
    if skip() || skip_unless(&[Need::Program("ethtool")]) {
        return;
    }
    for ipv6 in [false, true] {
        steady(|| {
            let bed = Testbed::new(ProxyMachine::Router, false, &Settings::default());
            bed.without_offloads();
            let case = format!("no offloads, IPv6 {ipv6}");
            let cuts = assert_one_retransmission_a_mark(&bed, ipv6, "cubic", &case);
            assert_cuts(&cuts, 0.7, &case);
            assert_eq!(bed.host_counter("InCsumErrors"), 0, "{case}");
        });
    }
}

#[test]
fn a_machine_that_serves_itself_reduces_too() {
    if skip() {
        return;
    }
    for ipv6 in [false, true] {
        assert_one_reduction_a_mark(ProxyMachine::Host, false, ipv6, "cubic");
    }
}

/// ACKs on data cannot speak of virtual losses: pure ones made from them do.
#[test]
fn a_sender_that_receives_data_too_gets_its_blocks_in_pure_acks() {
    if skip() {
        return;
    }
    for (place, ipv6, segments) in [
        (ProxyMachine::Router, false, false),
        (ProxyMachine::Router, true, true),
        (ProxyMachine::Host, false, false),
        (ProxyMachine::Host, true, true),
    ] {
        steady(|| assert_blocks_in_pure_acks(place, ipv6, segments));
    }
}

fn assert_blocks_in_pure_acks(place: ProxyMachine, ipv6: bool, segments: bool) {
    let bed = Testbed::new(place, segments, &Settings::default());
    let connection = bed.connect(ipv6, true, "cubic");
    connection.while_sending(true, || {
        connection.while_sending(false, || {
            connection.wait_for_bytes(true, 3_000_000);
            // A virtual loss is open for a few ACKs, and they may be pure ones all of them.
            for _ in 0..30 {
                mark_until_a_virtual_loss(&bed);
                if counters(&bed).cloned > 0 {
                    break;
                }
            }
        });
    });
    let counters = counters(&bed);
    assert!(counters.cloned > 0 && counters.edit_failed == 0, "{place:?}: {counters:?}");
    // One that is kept back counts as sent, also for a sender on the same machine.
    assert_eq!(bed.host_counter("TCPRetransFail"), 0, "{place:?}, IPv6 {ipv6}");
    for name in ["InCsumErrors", "TCPDSACKUndo", "TCPFullUndo", "TCPLossUndo", "TCPTimeouts"] {
        assert_eq!(bed.host_counter(name), 0, "{place:?}, IPv6 {ipv6}: {name}");
    }
}

/// The baseline of the tests above: real drops.
#[test]
fn a_real_drop_looks_the_same_to_the_sender() {
    if skip() {
        return;
    }
    const DROPS: u64 = 3;
    steady(|| {
        let bed = Testbed::new(ProxyMachine::Router, true, &Settings::default());
        let connection = bed.connect(false, true, "cubic");
        let cuts: Vec<_> = connection.while_sending(true, || {
            let drop = || {
                let before = bed.host_counter("TCPFastRetrans");
                bed.upward.drop(1);
                wait_for(&bed, "no retransmission", || bed.host_counter("TCPFastRetrans") > before);
            };
            (0..DROPS).map(|_| Cut::by(&bed, &connection, true, drop)).collect()
        });
        assert_cuts(&cuts, 0.7, "a real drop");
        assert_eq!(bed.host_counter("TCPFastRetrans"), DROPS);
        assert_eq!(counters(&bed).virtual_losses, 0);
    });
}
