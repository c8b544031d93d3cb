//! Packets of other protocols than TCP: UDP and ICMP.

use super::command::datagram;
use super::*;
use crate::packet::{PROTOCOL_ICMP, PROTOCOL_ICMPV6, UDP_HEADER_LEN};

const SERVICE: &str = "203.0.113.7:443";
const SERVICE_V6: &str = "[2001:db8::7]:443";

fn replies(packet: &[u8]) -> Vec<Vec<u8>> {
    let mut stack = stack();
    stack.handle_packet(Time::ZERO, packet, false);
    assert_eq!(events(&mut stack), []);
    sent(&mut stack, Time::ZERO)
}

#[test]
fn other_udp_is_refused_at_once_in_the_name_of_its_destination() {
    for (far, at, kind) in [(SERVICE, 20, [3, 3]), (SERVICE_V6, 40, [1, 4])] {
        let query = datagram(&ends(far), b"any");
        let [message] = &replies(&query)[..] else { panic!("one message") };
        let parsed = windlass_tcp::segment::ip::parse(message).expect("a packet");
        let protocol = if at == 20 { PROTOCOL_ICMP } else { PROTOCOL_ICMPV6 };
        assert_eq!(parsed.header.protocol, protocol);
        assert_eq!(message[at..at + 2], kind);
        assert_eq!(message[at + 8..], query);
        let (source, destination) = if at == 20 { (12..16, 16..20) } else { (8..24, 24..40) };
        assert_eq!(message[source.clone()], query[destination.clone()]);
        assert_eq!(message[destination], query[source]);
    }
}

#[test]
fn a_long_packet_is_quoted_in_part() {
    for (far, len_max) in [(SERVICE, 576), (SERVICE_V6, 1280)] {
        let [message] = &replies(&datagram(&ends(far), &[7; 9000]))[..] else { panic!("one") };
        assert_eq!(message.len(), len_max);
    }
}

#[test]
fn nothing_answers_a_group_of_hosts() {
    for far in ["224.0.0.251:5353", "255.255.255.255:67", "[ff02::fb]:5353"] {
        assert_eq!(replies(&datagram(&ends(far), b"any")).len(), 0, "{far}");
    }
}

#[test]
fn the_first_piece_of_a_datagram_is_refused_and_no_later_one() {
    for (bits, answers) in [(0x2000u16, 1), (0x2001, 0), (0x0005, 0)] {
        let mut packet = datagram(&ends(SERVICE), b"part of it");
        packet[6..8].copy_from_slice(&bits.to_be_bytes());
        packet[10..12].fill(0);
        let sum = windlass_base::checksum::checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(replies(&packet).len(), answers, "{bits:#x}");
    }
}

#[test]
fn a_damaged_datagram_is_ignored() {
    for (far, at) in [(SERVICE, 20), (SERVICE_V6, 40)] {
        let mut packet = datagram(&ends(far), b"any");
        *packet.last_mut().expect("bytes") ^= 1;
        assert_eq!(replies(&packet).len(), 0);
        // Without a checksum: valid in IPv4 alone.
        packet[at + UDP_HEADER_LEN - 2..at + UDP_HEADER_LEN].fill(0);
        assert_eq!(replies(&packet).len(), usize::from(at == 20));
    }
}

fn echo_request(to: &str) -> Vec<u8> {
    let to: IpAddr = to.parse().expect("an address");
    let ends = ends(&SocketAddr::new(to, 1).to_string());
    let kind = if to.is_ipv4() { 8 } else { 128 };
    packet::icmp(ends.app.ip(), to, [kind, 0], b"\0\x07\0\x01payload").expect("one family")
}

#[test]
fn the_forwarder_answers_echo_requests() {
    let config = Config::default();
    for to in [config.forwarder(true), config.forwarder(false)] {
        let request = echo_request(&to.to_string());
        let [reply] = &replies(&request)[..] else { panic!("one reply") };
        let at = if to.is_ipv4() { 20 } else { 40 };
        assert_eq!(reply[at..at + 2], if to.is_ipv4() { [0, 0] } else { [129, 0] });
        assert_eq!(reply[at + 4..], request[at + 4..]);
    }
}

#[test]
fn an_echo_request_to_another_host_is_prohibited() {
    for (to, at, kind) in [("203.0.113.7", 20, [3, 13]), ("2001:db8::7", 40, [1, 1])] {
        let [message] = &replies(&echo_request(to))[..] else { panic!("one message") };
        assert_eq!(message[at..at + 2], kind);
    }
}

#[test]
fn an_icmp_error_is_never_answered() {
    let ends = ends(SERVICE);
    let error = packet::icmp(ends.app.ip(), ends.far.ip(), [3, 3], &[0; 32]).expect("v4");
    assert_eq!(replies(&error).len(), 0);
}

#[test]
fn another_protocol_is_refused() {
    for (far, at, kind) in [(SERVICE, 20, [3, 2]), (SERVICE_V6, 40, [4, 1])] {
        let mut packet = datagram(&ends(far), b"any");
        if at == 20 {
            (packet[9], packet[10], packet[11]) = (132, 0, 0);
            let sum = windlass_base::checksum::checksum(&packet[..20]);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        } else {
            packet[6] = 132;
        }
        let [message] = &replies(&packet)[..] else { panic!("one message") };
        assert_eq!(message[at..at + 2], kind);
    }
}
