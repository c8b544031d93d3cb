//! Ends of every kind: each setting of ECN, MPTCP, TCP Fast Open, and an MTU that changes meanwhile.
//! Every byte is compared.

use crate::marks::counters;
use crate::skip;
use crate::testbed::{ProxyMachine, Testbed};
use windlass_ecn_proxy::datapath::Settings;

const BYTES: u64 = 100_000;

fn bed() -> Testbed {
    Testbed::with_rate(ProxyMachine::Router, false, &Settings::default(), "1gbit")
}

/// Values of net.ipv4.tcp_ecn: no ECN; asks and agrees; agrees. With AccECN (RFC 9768), which all of these
/// agree to: asks for it; asks for ECN; does not ask.
const ALL: [u8; 6] = [0, 1, 2, 3, 4, 5];
const NEVER: u8 = 0;
const ASKING: [u8; 3] = [1, 3, 4];

fn is_served(host: u8, far: u8, by_host: bool) -> bool {
    let (opens, answers) = if by_host { (host, far) } else { (far, host) };
    let both = ASKING.contains(&opens) && answers != NEVER;
    let far_has = if by_host { far != NEVER } else { ASKING.contains(&far) };
    let host_has = by_host && ASKING.contains(&host);
    far_has && !host_has && !both
}

#[test]
fn all_settings_of_ecn_at_both_ends_carry_data_and_are_served_where_one_lacks_it() {
    if skip() {
        return;
    }
    let mut bed = bed();
    let values: Vec<_> = ALL.into_iter().filter(|value| bed.takes_ecn(*value)).collect();
    assert!(values.len() >= 3, "{values:?}");
    for &host in &values {
        bed.set_on_host("tcp_ecn", &host.to_string());
        for &far in &values {
            bed.set_on_far_host("tcp_ecn", &far.to_string());
            for on in [true, false] {
                bed.datapath.set_enabled(on).expect("written");
                for (by_host, ipv6) in [(true, false), (true, true), (false, false), (false, true)]
                {
                    let before = counters(&bed).proxied;
                    let connection = bed.connect(ipv6, by_host, "cubic");
                    connection.send(BYTES, || ());
                    let served = counters(&bed).proxied - before;
                    let expected = u64::from(on && is_served(host, far, by_host));
                    let case = format!("host {host}, far {far}, on {on}, by host {by_host}");
                    assert_eq!(served, expected, "{case}");
                }
            }
        }
        if host == NEVER {
            let seen = [false, true].map(|ipv6| bed.codepoints(true, ipv6).0);
            assert_eq!(seen, [0, 0], "a host without ECN sees none");
        }
    }
    assert_eq!(counters(&bed).edit_failed, 0);
}

/// RFC 8684: left alone.
#[test]
fn multipath_tcp_passes() {
    if skip() {
        return;
    }
    let bed = bed();
    let Some(connection) = bed.connect_multipath() else {
        windlass_testbed::skip("needs MPTCP in the kernel");
        return;
    };
    connection.while_sending(false, || connection.wait_for_bytes(false, BYTES));
    let counters = counters(&bed);
    assert_eq!((counters.upgraded, counters.proxied, counters.bypassed), (0, 0, 1));
}

/// RFC 7413: the SYN of the second connection carries data.
#[test]
fn fast_open_is_served() {
    if skip() {
        return;
    }
    let bed = bed();
    bed.set_on_far_host("tcp_fastopen", "0x403");
    let bytes: Vec<u8> = (0..BYTES).map(|i| (i * 7 % 251) as u8).collect();
    for _ in 0..3 {
        assert!(bed.send_with_fast_open(&bytes) == bytes, "the bytes differ");
    }
    assert_eq!(bed.host_counter("TCPFastOpenActive"), 2);
    let counters = counters(&bed);
    assert_eq!((counters.proxied, counters.edit_failed), (3, 0));
    assert!(counters.ect > 0, "{counters:?}");
}

#[test]
fn an_mtu_that_changes_meanwhile_stops_nothing() {
    if skip() {
        return;
    }
    let bed = bed();
    let connection = bed.connect(false, true, "cubic");
    connection.while_sending(true, || {
        for mtu in [1300, 1500, 1280, 1500] {
            bed.set_host_mtu(mtu);
            let before = counters(&bed).ect;
            connection.wait_for_bytes(true, 10 * BYTES);
            assert!(counters(&bed).ect > before, "served on at {mtu}");
            bed.upward.mark(1);
        }
    });
    assert_eq!(counters(&bed).edit_failed, 0);
    assert_eq!(bed.in_router(|bed| bed.datapath.attachments().len()), 1);
}
