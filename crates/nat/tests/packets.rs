//! Packets as bytes: addresses, ports and checksums after the translation, ICMP queries and errors.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::packets::{assert_intact, echo, endpoints, error, ip, seal, tcp, udp};
use common::{at, config, endpoint};
use proptest::prelude::*;
use windlass_nat::Dependence::{AddressAndPort, Independent};
use windlass_nat::{Config, Dropped, Nat, PortAllocation, Side};

const SERVER: &str = "203.0.113.1:3478";
const SERVER_V6: &str = "[2001:db8:9::1]:3478";

/// A NAT of both families with random ports.
fn nat() -> Nat {
    let external = ["192.0.2.1", "2001:db8:1::1"].map(|text| text.parse().expect("an address"));
    let settings = Config { ports: PortAllocation::Random, ..Config::new(external.to_vec()) };
    Nat::new(settings.behaving(Independent, AddressAndPort), 5)
}

#[track_caller]
fn pass(nat: &mut Nat, from: Side, packet: &mut [u8]) -> Side {
    let to = nat.handle_packet(at(1), from, packet).expect("passes");
    assert_intact(packet);
    to
}

/// Lets a packet out, and its answer in.
fn exchange(make: fn(&str, &str, &[u8]) -> Vec<u8>, inner: &str, server: &str, data: &[u8]) {
    let mut nat = nat();
    let mut sent = make(inner, server, data);
    assert_eq!(pass(&mut nat, Side::Inside, &mut sent), Side::Outside);
    let (external, destination) = endpoints(&sent);
    assert_eq!(destination, endpoint(server));
    assert!(nat.owns(external.ip()));
    assert_eq!(&sent[sent.len() - data.len()..], data);
    let mut answer = make(server, &external.to_string(), data);
    assert_eq!(pass(&mut nat, Side::Outside, &mut answer), Side::Inside);
    assert_eq!(endpoints(&answer), (endpoint(server), endpoint(inner)));
}

proptest! {
    #[test]
    fn checksums_stay_right(
        data in prop::collection::vec(any::<u8>(), 0..100),
        host in 1u8..255,
        port in 1u16..,
    ) {
        for make in [udp, tcp] {
            exchange(make, &format!("10.0.0.{host}:{port}"), SERVER, &data);
            exchange(make, &format!("[fd00::{host:x}]:{port}"), SERVER_V6, &data);
        }
    }
}

/// The sum of this datagram is zero, which is sent as all ones (RFC 768).
#[test]
fn a_datagram_whose_checksum_is_all_ones_passes() {
    let unsummed = udp("10.0.0.2:5000", SERVER, &[0, 0]);
    let rest = unsummed[26..28].to_owned();
    let packet = udp("10.0.0.2:5000", SERVER, &rest);
    assert_eq!(packet[26..28], [0xff, 0xff]);
    exchange(udp, "10.0.0.2:5000", SERVER, &rest);
}

#[test]
fn a_udp_checksum_of_zero_stays_zero() {
    let mut packet = udp("10.0.0.2:5000", SERVER, b"data");
    packet[26..28].fill(0);
    assert_eq!(nat().handle_packet(at(1), Side::Inside, &mut packet), Ok(Side::Outside));
    assert_eq!(packet[26..28], [0, 0]);
}

#[test]
fn a_udp_checksum_never_becomes_zero_by_translation() {
    // Some data makes the translated checksum ffff, of which zero is the other form.
    let zero = (0..=u16::MAX).find(|data| {
        let mut packet = udp("10.0.0.2:5000", SERVER, &data.to_be_bytes());
        if packet[26..28] == [0, 0] {
            return false;
        }
        nat().handle_packet(at(1), Side::Inside, &mut packet).expect("passes");
        assert_ne!(packet[26..28], [0, 0]);
        packet[26..28] == [0xff, 0xff]
    });
    assert!(zero.is_some());
}

#[test]
fn an_error_about_a_flow_reaches_the_inner_host() {
    for (inner, server) in [("10.0.0.2:5000", SERVER), ("[fd00::2]:5000", SERVER_V6)] {
        for make in [udp, tcp] {
            let mut nat = nat();
            let original =
                make(inner, server, b"some data that is quoted in part only, as it is long");
            let mut sent = original.clone();
            pass(&mut nat, Side::Inside, &mut sent);
            let mut answer = error(&sent);
            assert_eq!(pass(&mut nat, Side::Outside, &mut answer), Side::Inside);
            // As if the error was about the packet before its translation.
            assert_eq!(answer[..], error(&original)[..]);
        }
    }
}

#[test]
fn an_error_of_an_inner_host_leaves_with_external_endpoints() {
    for (inner, server) in [("10.0.0.2:5000", SERVER), ("[fd00::2]:5000", SERVER_V6)] {
        let mut nat = nat();
        let mut sent = udp(inner, server, b"a");
        pass(&mut nat, Side::Inside, &mut sent);
        let received = udp(server, &endpoints(&sent).0.to_string(), b"b");
        let mut inside = received.clone();
        pass(&mut nat, Side::Outside, &mut inside);
        let mut answer = error(&inside);
        assert_eq!(pass(&mut nat, Side::Inside, &mut answer), Side::Outside);
        assert_eq!(answer, error(&received));
    }
}

#[test]
fn an_error_about_a_hairpinned_packet_reaches_its_sender() {
    let mut nat = nat();
    let bind = |nat: &mut Nat, inner: &str, to: &str| {
        let mut packet = udp(inner, to, b"a");
        let side = nat.handle_packet(at(1), Side::Inside, &mut packet);
        (side, packet)
    };
    let left = endpoints(&bind(&mut nat, "10.0.0.2:5000", SERVER).1).0.to_string();
    let right = endpoints(&bind(&mut nat, "10.0.0.3:6000", SERVER).1).0.to_string();
    assert_eq!(bind(&mut nat, "10.0.0.3:6000", &left).0, Err(Dropped::Filtered));
    let (side, packet) = bind(&mut nat, "10.0.0.2:5000", &right);
    assert_eq!(side, Ok(Side::Inside));
    assert_eq!(endpoints(&packet).1, endpoint("10.0.0.3:6000"));
    let mut answer = error(&packet);
    assert_eq!(pass(&mut nat, Side::Inside, &mut answer), Side::Inside);
    assert_eq!(answer, error(&udp("10.0.0.2:5000", &right, b"a")));
}

#[test]
fn an_error_about_no_flow_of_its_own_is_dropped() {
    let mut nat = nat();
    let mut sent = udp("10.0.0.2:5000", SERVER, b"a");
    pass(&mut nat, Side::Inside, &mut sent);
    let external = endpoints(&sent).0.to_string();
    let mut about_another = error(&udp("192.0.2.1:999", SERVER, b"a"));
    let mut never_sent = error(&udp(&external, "203.0.113.1:9", b"a"));
    let mut damaged = error(&sent);
    *damaged.last_mut().expect("not empty") ^= 1;
    for (packet, reason) in [
        (&mut about_another, Dropped::NoBinding),
        (&mut never_sent, Dropped::Filtered),
        (&mut damaged, Dropped::Unsupported),
    ] {
        assert_eq!(nat.handle_packet(at(1), Side::Outside, packet), Err(reason));
    }
    assert_eq!(nat.stats().dropped(Dropped::Filtered), 1);
}

#[test]
fn an_error_does_not_refresh_a_binding() {
    let mut nat = Nat::new(Config { refresh_inbound: true, ..config() }, 1);
    let mut sent = udp("10.0.0.2:5000", SERVER, b"a");
    assert_eq!(nat.handle_packet(at(0), Side::Inside, &mut sent), Ok(Side::Outside));
    assert!(nat.handle_packet(at(299), Side::Outside, &mut error(&sent)).is_ok());
    assert_eq!(nat.bindings(at(300)), 0);
}

#[test]
fn pings_pass_and_are_answered() {
    for (inner, server) in [("10.0.0.2", "203.0.113.1"), ("fd00::2", "2001:db8:9::1")] {
        let mut nat = nat();
        let mut request = echo(inner, server, 77, false);
        assert_eq!(pass(&mut nat, Side::Inside, &mut request), Side::Outside);
        let at_identifier = request.len() - 6;
        let identifier = u16::from_be_bytes([request[at_identifier], request[at_identifier + 1]]);
        assert_ne!(identifier, 77);
        let external = if inner.contains(':') { "2001:db8:1::1" } else { "192.0.2.1" };
        assert_eq!(request, echo(external, server, identifier, false));
        let mut answer = echo(server, external, identifier, true);
        assert_eq!(pass(&mut nat, Side::Outside, &mut answer), Side::Inside);
        assert_eq!(answer, echo(server, inner, 77, true));
        // An error about the request, too.
        let mut unreachable = error(&request);
        assert_eq!(pass(&mut nat, Side::Outside, &mut unreachable), Side::Inside);
        assert_eq!(unreachable, error(&echo(inner, server, 77, false)));
    }
}

#[test]
fn an_answer_without_a_question_does_not_leave() {
    let mut answer = echo("10.0.0.2", "203.0.113.1", 77, true);
    assert_eq!(nat().handle_packet(at(1), Side::Inside, &mut answer), Err(Dropped::Unsupported));
}

#[test]
fn fragments_and_other_protocols_are_dropped() {
    let (from, to) = ("10.0.0.2".parse().expect("one"), "203.0.113.1".parse().expect("one"));
    let mut other = ip(from, to, 132, &[0; 12], 8);
    let mut fragment = udp("10.0.0.2:5000", SERVER, b"data");
    // More fragments follow.
    fragment[6] = 0x20;
    seal(&mut fragment);
    assert!(windlass_tcp::segment::ip::parse(&fragment).expect("intact").fragment);
    for packet in [&mut other, &mut fragment] {
        assert_eq!(nat().handle_packet(at(1), Side::Inside, packet), Err(Dropped::Unsupported));
    }
}
