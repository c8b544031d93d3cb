//! Paths that drop SYNs which ask for ECN.

use crate::marks::counters;
use crate::skip;
use crate::testbed::{ProxyMachine, Testbed};
use std::time::Duration;
use windlass_ecn_proxy::datapath::{HostEcn, Settings};
use windlass_testbed::wait_until;

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

#[test]
fn a_closed_port_is_not_taken_for_a_path_that_fails() {
    if skip() {
        return;
    }
    let bed = Testbed::new(ProxyMachine::Router, false, &Settings::default());
    for upgraded in 1..=3 {
        bed.connect_to_closed_port();
        assert_eq!(asked(&bed), (upgraded, 0));
    }
    assert_eq!(host(&bed), HostEcn::Unreachable);
    bed.connect_to_closed_port();
    assert_eq!((asked(&bed), host(&bed)), ((3, 0), HostEcn::Unknown));
    bed.connect(false, true, "cubic");
    assert_eq!((asked(&bed), host(&bed)), ((4, 0), HostEcn::Capable));
    assert_eq!(counters(&bed).plain_refused, 1);
}
