//! The behaviours that RFC 4787 names, one after the other.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::{at, back, config, endpoint, out, try_out};
use std::net::IpAddr;
use windlass_base::Span;
use windlass_nat::Dependence::{Address, AddressAndPort, Independent};
use windlass_nat::{
    Config, Dependence, Dropped, Flow, Nat, Pooling, PortAllocation, Protocol, Side,
};

const INNER: &str = "10.0.0.2:5000";

/// The external endpoints of one inner endpoint towards three remote ones: two ports of one
/// address, and another address.
fn mappings(mapping: Dependence) -> [std::net::SocketAddr; 3] {
    let mut nat = Nat::new(config().behaving(mapping, Independent), 1);
    ["198.51.100.1:1", "198.51.100.1:2", "198.51.100.2:1"]
        .map(|remote| out(&mut nat, at(0), INNER, remote))
}

#[test]
fn mapping_is_independent_of_the_endpoint() {
    let [a, b, c] = mappings(Independent);
    assert!(a == b && b == c);
}

#[test]
fn mapping_depends_on_the_address() {
    let [a, b, c] = mappings(Address);
    assert!(a == b && b != c);
}

#[test]
fn mapping_depends_on_address_and_port() {
    let [a, b, c] = mappings(AddressAndPort);
    assert!(a != b && b != c && a != c);
}

/// Which remote endpoints reach an inner one that has sent to 198.51.100.1:1: that, another port
/// of it, another address.
fn filters(filtering: Dependence) -> [bool; 3] {
    let mut nat = Nat::new(config().behaving(Independent, filtering), 1);
    let external = out(&mut nat, at(0), INNER, "198.51.100.1:1");
    ["198.51.100.1:1", "198.51.100.1:2", "198.51.100.2:1"].map(|remote| {
        match back(&mut nat, at(1), remote, external) {
            Ok(inner) => inner == endpoint(INNER),
            Err(reason) => {
                assert_eq!(reason, Dropped::Filtered);
                false
            }
        }
    })
}

#[test]
fn filters_admit_as_they_are_named() {
    assert_eq!(filters(Independent), [true, true, true]);
    assert_eq!(filters(Address), [true, true, false]);
    assert_eq!(filters(AddressAndPort), [true, false, false]);
}

#[test]
fn a_port_is_preserved_until_another_host_has_it() {
    let mut nat = Nat::new(config(), 1);
    assert_eq!(out(&mut nat, at(0), "10.0.0.2:5000", "198.51.100.1:1").port(), 5000);
    assert_ne!(out(&mut nat, at(0), "10.0.0.3:5000", "198.51.100.1:1").port(), 5000);
}

#[test]
fn sequential_ports_follow_each_other_and_start_again_at_the_end() {
    let ports = PortAllocation::Sequential;
    let mut nat = Nat::new(Config { ports, port_range: 2000..=2002, ..config() }, 1);
    let port = |nat: &mut Nat, inner: &str, now| out(nat, at(now), inner, "198.51.100.1:1").port();
    assert_eq!(port(&mut nat, "10.0.0.2:1", 0), 2000);
    assert_eq!(port(&mut nat, "10.0.0.2:2", 200), 2001);
    assert_eq!(port(&mut nat, "10.0.0.2:3", 200), 2002);
    assert_eq!(try_out(&mut nat, at(200), "10.0.0.2:4", "198.51.100.1:1"), Err(Dropped::Full));
    // The first has expired.
    assert_eq!(port(&mut nat, "10.0.0.2:4", 300), 2000);
}

#[test]
fn random_ports_are_in_the_range_and_differ() {
    let settings =
        Config { ports: PortAllocation::Random, port_range: 40_000..=50_000, ..config() };
    let mut nat = Nat::new(settings, 1);
    let mut ports: Vec<u16> = (1..100)
        .map(|n| out(&mut nat, at(0), &format!("10.0.0.2:{n}"), "198.51.100.1:1").port())
        .collect();
    assert!(ports.iter().all(|port| (40_000..=50_000).contains(port)));
    assert!(!ports.is_sorted(), "{ports:?}");
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 99);
}

#[test]
fn a_binding_lives_from_its_last_outgoing_packet() {
    let mut nat = Nat::new(config(), 1);
    let external = out(&mut nat, at(0), INNER, "198.51.100.1:1");
    assert_eq!(out(&mut nat, at(200), INNER, "198.51.100.1:1"), external);
    assert!(back(&mut nat, at(499), "198.51.100.1:1", external).is_ok());
    assert_eq!(back(&mut nat, at(500), "198.51.100.1:1", external), Err(Dropped::NoBinding));
    assert_eq!(nat.bindings(at(500)), 0);
}

#[test]
fn incoming_packets_refresh_where_the_settings_say_so() {
    let settings = Config { lifetime: Span::from_secs(30), ..config() };
    for refresh_inbound in [false, true] {
        let mut nat = Nat::new(Config { refresh_inbound, ..settings.clone() }, 1);
        let external = out(&mut nat, at(0), INNER, "198.51.100.1:1");
        assert!(back(&mut nat, at(20), "198.51.100.1:1", external).is_ok());
        let later = back(&mut nat, at(40), "198.51.100.1:1", external);
        assert_eq!(later.is_ok(), refresh_inbound);
    }
}

/// Packets of either direction keep a TCP connection alive (RFC 5382 section 5), though settings let
/// UDP's be refreshed from inside only.
#[test]
fn incoming_segments_refresh_a_tcp_binding() {
    let settings = Config { refresh_inbound: false, ..config() };
    let mut nat = Nat::new(settings.behaving(Independent, AddressAndPort), 1);
    let pass = |nat: &mut Nat, seconds, side, source, destination| {
        let flow = Flow { protocol: Protocol::Tcp, source, destination };
        nat.translate(at(seconds), side, flow)
    };
    let (inner, remote) = (endpoint(INNER), endpoint("198.51.100.1:80"));
    let (_, out) = pass(&mut nat, 0, Side::Inside, inner, remote).expect("passes");
    // RFC 5382 section 5, REQ-5: a binding lasts for at least 2 h 4 min without a packet.
    for hours in [2, 4, 6] {
        let back = pass(&mut nat, hours * 3600, Side::Outside, remote, out.source);
        assert_eq!(back.map(|(_, flow)| flow.destination), Ok(inner), "after {hours} h");
    }
    let late = pass(&mut nat, 12 * 3600, Side::Outside, remote, out.source);
    assert_eq!(late, Err(Dropped::NoBinding));
}

#[test]
fn the_filter_forgets_an_endpoint_that_is_no_longer_sent_to() {
    let mut nat = Nat::new(config().behaving(Independent, AddressAndPort), 1);
    let external = out(&mut nat, at(0), INNER, "198.51.100.1:1");
    out(&mut nat, at(200), INNER, "198.51.100.1:2");
    assert_eq!(back(&mut nat, at(400), "198.51.100.1:1", external), Err(Dropped::Filtered));
    assert!(back(&mut nat, at(400), "198.51.100.1:2", external).is_ok());
}

#[test]
fn hairpinning_shows_the_external_source() {
    let mut nat = Nat::new(config().behaving(Independent, AddressAndPort), 1);
    let left = out(&mut nat, at(0), "10.0.0.2:5000", "198.51.100.1:1");
    let right = out(&mut nat, at(0), "10.0.0.3:6000", "198.51.100.1:1");
    let flow = |source: &str, destination| Flow {
        protocol: Protocol::Udp,
        source: endpoint(source),
        destination,
    };
    // The filter of the other side applies, until it has sent too.
    let first = nat.translate(at(1), Side::Inside, flow("10.0.0.2:5000", right));
    assert_eq!(first, Err(Dropped::Filtered));
    let second = nat.translate(at(1), Side::Inside, flow("10.0.0.3:6000", left));
    let received =
        Flow { protocol: Protocol::Udp, source: right, destination: endpoint("10.0.0.2:5000") };
    assert_eq!(second, Ok((Side::Inside, received)));
    assert!(nat.translate(at(1), Side::Inside, flow("10.0.0.2:5000", right)).is_ok());
    assert_eq!(nat.stats().hairpinned, 2);
}

#[test]
fn without_hairpinning_the_external_address_is_out_of_reach() {
    let mut nat = Nat::new(Config { hairpin: false, ..config() }, 1);
    let external = out(&mut nat, at(0), "10.0.0.2:5000", "198.51.100.1:1");
    let flow =
        Flow { protocol: Protocol::Udp, source: endpoint("10.0.0.3:6000"), destination: external };
    assert_eq!(nat.translate(at(0), Side::Inside, flow), Err(Dropped::Hairpin));
    assert_eq!(nat.stats().dropped(Dropped::Hairpin), 1);
}

#[test]
fn a_full_table_refuses_new_bindings_and_keeps_the_old_ones() {
    let mut nat = Nat::new(Config { bindings_max: 2, ..config() }, 1);
    out(&mut nat, at(0), "10.0.0.2:1", "198.51.100.1:1");
    out(&mut nat, at(0), "10.0.0.2:2", "198.51.100.1:1");
    assert_eq!(try_out(&mut nat, at(0), "10.0.0.2:3", "198.51.100.1:1"), Err(Dropped::Full));
    assert!(try_out(&mut nat, at(0), "10.0.0.2:2", "198.51.100.1:9").is_ok());
}

#[test]
fn after_a_reboot_old_endpoints_are_dead_and_new_ones_differ() {
    let mut nat = Nat::new(config(), 1);
    let before = out(&mut nat, at(0), INNER, "198.51.100.1:1");
    nat.reboot();
    assert_eq!(back(&mut nat, at(1), "198.51.100.1:1", before), Err(Dropped::NoBinding));
    let after = out(&mut nat, at(1), INNER, "198.51.100.1:1");
    assert!(after != before && after.ip() == before.ip());
}

#[test]
fn paired_addresses_stay_with_a_host_until_a_reboot() {
    let external: Vec<IpAddr> =
        ["192.0.2.1", "192.0.2.2"].map(|text| text.parse().expect("an address")).to_vec();
    let mut nat = Nat::new(Config { external, ..config() }, 1);
    let mut address = |inner: &str| out(&mut nat, at(0), inner, "198.51.100.1:1").ip();
    assert_eq!(address("10.0.0.2:1"), address("10.0.0.2:2"));
    assert_ne!(address("10.0.0.2:1"), address("10.0.0.3:1"));
    let before = address("10.0.0.2:1");
    nat.reboot();
    assert_ne!(out(&mut nat, at(0), "10.0.0.2:1", "198.51.100.1:1").ip(), before);
}

/// Hosts of one IPv6 network differ in the lower half of their addresses.
#[test]
fn paired_ipv6_addresses_are_spread_over_the_pool() {
    let pool: Vec<IpAddr> =
        ["2001:db8:1::1", "2001:db8:1::2"].map(|text| text.parse().expect("an address")).to_vec();
    let mut nat = Nat::new(Config::new(pool.clone()), 1);
    let mut external =
        |host| out(&mut nat, at(0), &format!("[fd00::{host}]:5000"), "[2001:db8:9::1]:80").ip();
    let (first, second) = (external(2), external(3));
    assert_ne!(first, second, "neighbours share the pool");
    assert_eq!([external(2), external(4)], [first, first]);
    assert!(pool.contains(&first) && pool.contains(&second));
}

#[test]
fn arbitrary_addresses_vary_for_one_host() {
    let external: Vec<IpAddr> =
        ["192.0.2.1", "192.0.2.2"].map(|text| text.parse().expect("an address")).to_vec();
    let mut nat = Nat::new(Config { external, pooling: Pooling::Arbitrary, ..config() }, 1);
    let mut seen: Vec<IpAddr> = (1..50)
        .map(|n| out(&mut nat, at(0), &format!("10.0.0.2:{n}"), "198.51.100.1:1").ip())
        .collect();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 2);
}

#[test]
fn a_family_without_an_external_address_is_filtered_and_not_translated() {
    let mut nat = Nat::new(config().behaving(AddressAndPort, AddressAndPort), 1);
    let inner = "[2001:db8:1::2]:5000";
    let stranger = back(&mut nat, at(0), "[2001:db8:9::1]:1", endpoint(inner));
    assert_eq!(stranger, Err(Dropped::NoBinding));
    assert_eq!(out(&mut nat, at(0), inner, "[2001:db8:9::1]:1"), endpoint(inner));
    assert_eq!(out(&mut nat, at(0), inner, "[2001:db8:9::2]:1"), endpoint(inner));
    assert!(back(&mut nat, at(1), "[2001:db8:9::1]:1", endpoint(inner)).is_ok());
    let other = back(&mut nat, at(1), "[2001:db8:9::1]:2", endpoint(inner));
    assert_eq!(other, Err(Dropped::Filtered));
}

#[test]
fn blocked_udp_leaves_tcp_to_one_port() {
    let settings = Config { block_udp: true, tcp_ports: Some(vec![443]), ..config() };
    let mut nat = Nat::new(settings, 1);
    assert_eq!(try_out(&mut nat, at(0), INNER, "198.51.100.1:443"), Err(Dropped::Blocked));
    let mut tcp = |from, source: &str, destination: &str| {
        let (source, destination) = (endpoint(source), endpoint(destination));
        nat.translate(at(1), from, Flow { protocol: Protocol::Tcp, source, destination })
    };
    let sent = tcp(Side::Inside, INNER, "198.51.100.1:443").expect("passes").1;
    assert_eq!(tcp(Side::Inside, INNER, "198.51.100.1:80"), Err(Dropped::Blocked));
    let answer = tcp(Side::Outside, "198.51.100.1:443", &sent.source.to_string());
    assert_eq!(answer.expect("passes").1.destination, endpoint(INNER));
}
