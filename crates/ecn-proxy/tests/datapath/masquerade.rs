//! A router that runs the proxy and masquerades its served hosts, as most home routers do. The hooks at the
//! interface of the served hosts see their own addresses in both directions: a packet from them before the
//! translation, a packet for them after it.

use crate::marks::{
    assert_cuts, assert_downloads_slow_down_on, assert_one_retransmission_a_mark, counters,
};
use crate::skip;
use crate::steady::steady;
use crate::testbed::{ProxyMachine, Testbed};
use std::net::IpAddr;
use windlass_ecn_proxy::datapath::{EcnUse, Settings};
use windlass_testbed::{Need, skip_unless};

/// The far host sees the router's address, and the marks of both directions do what they do without.
#[test]
fn behind_masquerade_marks_slow_senders_down_both_ways() {
    if skip() || skip_unless(&[Need::Program("nft")]) {
        return;
    }
    for ipv6 in [false, true] {
        steady(|| {
            let bed = Testbed::new(ProxyMachine::Router, false, &Settings::default());
            bed.masquerade();
            let case = format!("masqueraded upload, IPv6 {ipv6}");
            let cuts = assert_one_retransmission_a_mark(&bed, ipv6, "cubic", &case);
            assert_cuts(&cuts, 0.7, &case);
            assert_downloads_slow_down_on(&bed, &[ipv6], "masqueraded download");
            let connection = bed.connect(ipv6, true, "cubic");
            let (peer, own) = (connection.far.peer_addr(), connection.host.local_addr());
            let (peer, own) = (peer.expect("connected"), own.expect("connected"));
            let router: IpAddr = if ipv6 { "fd09:2::1" } else { "10.9.2.1" }.parse().expect("one");
            assert_eq!(peer.ip(), router, "the far host sees the router");
            let flows = bed.datapath.flows().expect("readable");
            assert!(
                flows.iter().any(|flow| flow.host == own),
                "the proxy sees the host: {flows:?}"
            );
            let hosts = bed.datapath.served_hosts().expect("readable");
            assert!(hosts.len() == 1 && hosts[0].address == own.ip(), "{hosts:?}");
            assert_eq!(hosts[0].ecn, EcnUse::Served);
            assert_eq!(counters(&bed).edit_failed, 0);
            assert_eq!(bed.far_counter("InCsumErrors") + bed.host_counter("InCsumErrors"), 0);
        });
    }
}
