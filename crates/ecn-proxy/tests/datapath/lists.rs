//! Lists of GRO (`rx-gro-list`): an edit reaches every packet of a list, not only the first.

use crate::marks::{counters, mark_until_a_virtual_loss};
use crate::skip;
use crate::testbed::{ProxyMachine, Testbed};
use windlass_ecn_proxy::datapath::Settings;
use windlass_testbed::{Need, skip_unless, wait_until};

const BYTES: u64 = 4_000_000;

/// A link fast enough that packets arrive together, or `None` where the kernel has no lists of TCP.
fn bed() -> Option<Testbed> {
    let bed = Testbed::with_rate(ProxyMachine::Router, false, &Settings::default(), "1gbit");
    if windlass_bpf::older(&bed.datapath.features().kernel, (6, 12)) {
        windlass_testbed::skip("needs Linux 6.12");
        return None;
    }
    bed.let_lists_form();
    Some(bed)
}

#[test]
fn all_data_of_an_upload_in_lists_is_ect() {
    if skip() || skip_unless(&[Need::Program("ethtool")]) {
        return;
    }
    for ipv6 in [false, true] {
        let Some(bed) = bed() else { return };
        bed.connect(ipv6, true, "cubic").send(BYTES, || ());
        let counters = counters(&bed);
        assert!(counters.lists > 10 && counters.edit_failed == 0, "{counters:?}");
        let (ect, not_ect) = bed.codepoints(false, ipv6);
        assert!(ect > BYTES / 1500 && not_ect * 10 < ect, "{ect} ECT, {not_ect} not");
    }
}

#[test]
fn no_codepoint_of_a_download_in_lists_reaches_the_served_host() {
    if skip() || skip_unless(&[Need::Program("ethtool")]) {
        return;
    }
    for ipv6 in [false, true] {
        let Some(bed) = bed() else { return };
        let marker = bed.at_far_host();
        let connection = bed.connect(ipv6, true, "cubic");
        connection.while_sending(false, || {
            for _ in 0..5 {
                marker.mark(1);
                connection.wait_for_bytes(false, BYTES / 5);
            }
        });
        let counters = counters(&bed);
        assert!(counters.lists > 10 && counters.marks > 0, "{counters:?}");
        assert_eq!((counters.edit_failed, counters.malformed), (0, 0), "{counters:?}");
        let (with, without) = bed.codepoints(true, ipv6);
        assert!(with == 0 && without > BYTES / 1500, "{with} with a codepoint, {without} without");
        assert_eq!(bed.host_counter("InCsumErrors"), 0);
    }
}

/// As on kernels before Linux 6.12: lists are dropped, until somebody switches them off.
#[test]
fn no_codepoint_reaches_the_served_host_where_lists_cannot_be_edited_whole() {
    if skip() || skip_unless(&[Need::Program("ethtool")]) || bed().is_none() {
        return;
    }
    let settings = Settings { keep_lists: true, ..Settings::default() };
    let bed = Testbed::with_rate(ProxyMachine::Router, false, &settings, "1gbit");
    bed.let_lists_form();
    let connection = bed.connect(false, true, "cubic");
    connection.while_sending(false, || {
        wait_until("lists are dropped", || counters(&bed).edit_failed > 2);
        bed.let_no_lists_form();
        connection.wait_for_bytes(false, 1_000_000);
    });
    let counters = counters(&bed);
    assert!(counters.lists == 0 && counters.lists_kept > 2, "{counters:?}");
    assert_eq!(bed.codepoints(true, false).0, 0);
}

/// Data both ways: the proxy clones lists to give their ACKs the blocks of a virtual loss.
#[test]
fn lists_with_data_both_ways_arrive_whole_through_virtual_losses() {
    if skip() || skip_unless(&[Need::Program("ethtool")]) {
        return;
    }
    for ipv6 in [false, true] {
        let Some(bed) = bed() else { return };
        let connection = bed.connect(ipv6, true, "cubic");
        connection.while_sending(true, || {
            connection.while_sending(false, || {
                connection.wait_for_bytes(true, BYTES / 4);
                for _ in 0..30 {
                    mark_until_a_virtual_loss(&bed);
                    if counters(&bed).cloned > 0 {
                        break;
                    }
                }
                connection.wait_for_bytes(true, BYTES / 4);
            });
        });
        let counters = counters(&bed);
        assert!(counters.lists > 10 && counters.cloned > 0, "{counters:?}");
        assert_eq!(counters.edit_failed, 0, "{counters:?}");
        assert_eq!(bed.host_counter("InCsumErrors") + bed.far_counter("InCsumErrors"), 0);
        assert_eq!(bed.codepoints(true, ipv6).0, 0);
    }
}
