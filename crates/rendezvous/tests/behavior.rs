//! The discovery of NAT behaviour through every gateway of the testbed, with coturn as the server.
//! As root.
#![cfg(target_os = "linux")]

use std::net::SocketAddr;
use std::thread;
use windlass_rendezvous::behavior::{Dependence, Findings, discover};
use windlass_testbed::nat::{Access, Crossing, Family, Gateway};
use windlass_testbed::{Need, skip_unless};

fn cannot_run() -> bool {
    let programs = ["ip", "nft", "turnserver"].map(Need::Program);
    skip_unless(&[&[Need::Root, Need::Tun], &programs[..]].concat())
}

/// Checks two gateways in each network, and all networks at once: a finding is mostly that nothing
/// arrives in some time.
fn check(family: Family, gateways: &[Gateway]) {
    thread::scope(|scope| {
        for pair in gateways.chunks(2) {
            scope.spawn(|| check_pair(family, pair));
        }
    });
}

fn check_pair(family: Family, pair: &[Gateway]) {
    let crossing = Crossing::new("nb", family, pair[0], *pair.last().expect("one or two"));
    let _coturn = crossing.start_coturn(&["--stun-only"]);
    let server = SocketAddr::new(crossing.rendezvous_addresses()[0], 3478);
    thread::scope(|scope| {
        for (host, gateway) in pair.iter().enumerate() {
            let crossing = &crossing;
            scope.spawn(move || {
                let findings = crossing.hosts[host].inside(|| discover(server)).expect("sockets");
                compare(*gateway, &findings);
            });
        }
    });
}

fn compare(gateway: Gateway, findings: &Findings) {
    let name = gateway.name();
    match gateway.access() {
        Access::Udp { mapping, filtering } => {
            let expected = (Some(mapping), Some(filtering));
            assert_eq!((findings.mapping, findings.filtering), expected, "{name}");
            let translated = !matches!(gateway, Gateway::Public | Gateway::Firewall);
            assert_eq!(findings.is_translated(), translated, "{name}");
            assert_eq!(findings.hairpin, hairpin(gateway), "{name}");
        }
        Access::Tcp443 | Access::Nothing => assert_eq!(findings.mapped, None, "{name}"),
    }
}

/// The result that the discovery can have for hairpinning, see `Findings::hairpin`.
fn hairpin(gateway: Gateway) -> Option<bool> {
    use Dependence::Independent;
    match gateway {
        Gateway::Nat(Independent, _) => Some(true),
        // The home's gateway does not hairpin, and the carrier's does.
        Gateway::Masquerade => Some(false),
        Gateway::CarrierGrade => Some(true),
        _ => None,
    }
}

#[test]
fn every_gateway_of_ipv4_is_found_as_it_is() {
    if !cannot_run() {
        check(Family::V4, &Gateway::all(Family::V4));
    }
}

#[test]
fn every_gateway_of_ipv6_is_found_as_it_is() {
    if !cannot_run() {
        check(Family::V6, &Gateway::all(Family::V6));
    }
}
