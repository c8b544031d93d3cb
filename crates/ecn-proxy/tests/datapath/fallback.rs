//! Paths that drop SYNs which ask for ECN.

use crate::marks::counters;
use crate::skip;
use crate::testbed::{ProxyMachine, Testbed};
use std::time::Duration;
use windlass_ecn_proxy::datapath::{HostEcn, Settings};
use windlass_testbed::{Need, skip_unless, wait_until};

/// SYNs with ECN so far, and those that went without as the first was lost.
fn asked(bed: &Testbed) -> (u64, u64) {
    let counters = counters(bed);
    (counters.upgraded, counters.fallbacks)
}

fn host(bed: &Testbed) -> HostEcn {
    bed.datapath.hosts().expect("readable")[0].ecn
}

#[test]
fn a_lost_syn_does_not_put_a_destination_off_ecn() {
    if skip() {
        return;
    }
    let bed = Testbed::new(ProxyMachine::Router, false, &Settings::default());
    bed.upward.drop_ecn_syns(1);
    bed.connect(false, true, "cubic");
    assert_eq!((asked(&bed), host(&bed)), ((1, 1), HostEcn::Unknown));
    bed.connect(false, true, "cubic");
    assert_eq!((asked(&bed), host(&bed)), ((2, 1), HostEcn::Capable));
    // The count has begun anew.
    bed.upward.drop_ecn_syns(2);
    bed.connect(false, true, "cubic");
    bed.connect(false, true, "cubic");
    bed.connect(false, true, "cubic");
    assert_eq!((asked(&bed), host(&bed)), ((5, 3), HostEcn::Capable));
    assert_eq!(counters(&bed).proxied, 2);
}

#[test]
fn a_destination_that_fails_three_times_is_left_alone_for_a_while() {
    if skip() {
        return;
    }
    let memory = Duration::from_secs(5);
    let settings = Settings { fallback_memory: memory, ..Settings::default() };
    let bed = Testbed::new(ProxyMachine::Router, false, &settings);
    bed.upward.drop_ecn_syns(3);
    for failures in 1..=3 {
        bed.connect(false, true, "cubic");
        assert_eq!(asked(&bed), (failures, failures));
    }
    assert_eq!(host(&bed), HostEcn::Unreachable);
    // Nothing would be lost now, but it is not tried.
    let plain = bed.connect(false, true, "cubic");
    plain.while_sending(true, || plain.wait_for_bytes(true, 100_000));
    assert_eq!((asked(&bed), counters(&bed).ect), ((3, 3), 0));
    wait_until("the destination is tried again", || {
        bed.connect(false, true, "cubic");
        asked(&bed) != (3, 3)
    });
    assert_eq!((asked(&bed), host(&bed)), ((4, 3), HostEcn::Capable));
}

/// The SYN to a refused port is the one without ECN, which shows that ECN was not the cause.
#[test]
fn closed_ports_do_not_put_a_destination_off_ecn() {
    if skip() {
        return;
    }
    let bed = Testbed::new(ProxyMachine::Router, false, &Settings::default());
    for round in 1..=3 {
        bed.connect_to_closed_port(1);
        assert_eq!(asked(&bed), (round, 0));
        bed.connect_to_closed_port(1);
        assert_eq!((asked(&bed), counters(&bed).plain_refused), ((round, 0), round));
    }
    // As a port scan does.
    for port in 2..=9 {
        bed.connect_to_closed_port(port);
    }
    assert_eq!((asked(&bed), host(&bed)), ((11, 0), HostEcn::Unknown));
    bed.connect(false, true, "cubic");
    assert_eq!((asked(&bed), host(&bed)), ((12, 0), HostEcn::Capable));
}

#[test]
fn closed_ports_of_a_host_that_has_agreed_are_asked_as_before() {
    if skip() {
        return;
    }
    let bed = Testbed::new(ProxyMachine::Router, false, &Settings::default());
    bed.connect(false, true, "cubic");
    for upgraded in 2..=6 {
        bed.connect_to_closed_port(1);
        assert_eq!((asked(&bed), host(&bed)), ((upgraded, 0), HostEcn::Capable));
    }
}

#[test]
fn syns_lost_in_one_outage_count_as_one_failure() {
    const SYNS: u32 = 6;
    if skip() {
        return;
    }
    let bed = Testbed::new(ProxyMachine::Router, false, &Settings::default());
    bed.connect(false, true, "cubic");
    bed.upward.drop_ecn_syns(SYNS);
    bed.connect_at_once(SYNS);
    assert_eq!(counters(&bed).destinations_failed, u64::from(SYNS));
    assert_eq!((asked(&bed), host(&bed)), ((7, 6), HostEcn::Capable));
    bed.connect(false, true, "cubic");
    assert_eq!((asked(&bed), counters(&bed).proxied), ((8, 6), 2));
}

/// RFC 3168 section 6.1.1.1: the connection after a refused one gets through without ECN.
#[test]
fn a_device_that_resets_syns_with_ecn_is_found_out() {
    if skip() || skip_unless(&[Need::Program("nft")]) {
        return;
    }
    let bed = Testbed::new(ProxyMachine::Router, false, &Settings::default());
    let server = bed.reset_ecn_syns();
    for round in 1..=3 {
        server.refuses();
        server.accepts();
        assert_eq!((asked(&bed), counters(&bed).plain_accepted), ((round, 0), round));
    }
    assert_eq!(host(&bed), HostEcn::Unreachable);
    server.accepts();
    assert_eq!(asked(&bed), (3, 0));
}

/// Its SYN is sent again without ECN, which the far host has agreed on.
#[test]
fn a_host_with_ecn_of_its_own_that_misses_the_answer_falls_back_by_itself() {
    if skip() || skip_unless(&[Need::Program("nft")]) {
        return;
    }
    let bed = Testbed::new(ProxyMachine::Router, false, &Settings::default());
    bed.set_on_host("tcp_ecn", "1");
    bed.lose_answers(2);
    bed.connect(false, true, "cubic");
    assert!(bed.host_counter("TCPSynRetrans") > 0);
    assert_eq!((asked(&bed), counters(&bed).proxied), ((0, 0), 0));
    bed.set_on_host("tcp_ecn", "0");
    bed.connect(false, true, "cubic");
    assert_eq!((asked(&bed), counters(&bed).proxied), ((1, 0), 1));
}
