//! ECN negotiation between two real kernels with the proxy between them.

use crate::skip;
use crate::testbed::{ProxyMachine, Testbed};
use windlass_ecn_proxy::datapath::{FlowState, HostEcn, Settings};

fn says_ecn(ss: &str) -> bool {
    ss.split_whitespace().any(|word| word == "ecn")
}

#[test]
fn the_far_host_has_ecn_and_the_served_host_knows_nothing_of_it() {
    if skip() {
        return;
    }
    for place in [ProxyMachine::Router, ProxyMachine::Host] {
        let bed = Testbed::new(place, false, &Settings::default());
        for (ipv6, by_host) in [(false, true), (true, true), (false, false), (true, false)] {
            let case = format!("{place:?}, IPv6 {ipv6}, opened by the served host {by_host}");
            let connection = bed.connect(ipv6, by_host, "cubic");
            connection.while_sending(true, || {
                connection.wait_for_bytes(true, 150_000);
                let (host, far) = (bed.ss(true), bed.ss(false));
                let counters = bed.datapath.counters().expect("readable");
                assert!(!says_ecn(&host) && says_ecn(&far), "{case}:\n{host}\n{far}\n{counters:?}");
                let flows = bed.datapath.flows().expect("readable");
                let ends = (connection.host.local_addr(), connection.far.local_addr());
                let own = flows
                    .iter()
                    .find(|flow| flow.host.port() == ends.0.as_ref().expect("bound").port());
                let own = own.unwrap_or_else(|| panic!("{case}: not in {flows:?}"));
                assert_eq!(own.state, FlowState::Simulated, "{case}");
                assert_eq!(own.far, ends.1.expect("bound"), "{case}");
            });
            drop(connection);
        }
        let counters = bed.datapath.counters().expect("readable");
        assert_eq!((counters.proxied, counters.server_only, counters.client_only), (4, 2, 2));
        assert_eq!(counters.edit_failed, 0);
        let hosts = bed.datapath.hosts().expect("readable");
        assert!(
            hosts.len() == 2 && hosts.iter().all(|host| host.ecn == HostEcn::Capable),
            "{hosts:?}"
        );
    }
}
