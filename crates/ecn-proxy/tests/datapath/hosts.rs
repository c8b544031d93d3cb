//! Marks and reductions in the entry of a served host.

use crate::marks::wait_for;
use crate::skip;
use crate::testbed::{ProxyMachine, Testbed};
use windlass_ecn_proxy::datapath::{EcnUse, ServedHost, Settings};

fn host(bed: &Testbed) -> ServedHost {
    let hosts = bed.datapath.served_hosts().expect("readable");
    assert_eq!(hosts.len(), 1, "{hosts:?}");
    hosts[0].clone()
}

#[test]
fn reductions_and_marks_are_those_of_the_host() {
    if skip() {
        return;
    }
    for place in [ProxyMachine::Router, ProxyMachine::Host] {
        let bed = Testbed::new(place, true, &Settings::default());
        let connection = bed.connect(false, true, "reno");
        connection.while_sending(true, || {
            for reductions in 1..=2 {
                connection.wait_for_bytes(true, 500_000);
                bed.upward.mark(1);
                wait_for(&bed, "no reduction", || host(&bed).reductions == reductions);
            }
        });
        connection.while_sending(false, || {
            bed.downward.mark(3);
            wait_for(&bed, "no mark", || host(&bed).marks == 3);
        });
        let found = host(&bed);
        assert_eq!((found.ecn, found.connections.served), (EcnUse::Served, 1));
        assert!(found.mac.is_some() && found.bytes.served > 1_000_000, "{found:?}");
        assert_eq!(found.bytes.own + found.bytes.without, 0, "{found:?}");
        assert!(found.idle <= found.age, "{found:?}");
    }
}
