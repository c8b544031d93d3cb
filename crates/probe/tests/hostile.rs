//! Hostile and broken servers: each ends in the expected class, none in a panic or a hang.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::server::config;
use common::{PATH, World, order};
use std::net::SocketAddr;
use windlass_base::Span;
use windlass_probe::wire::{self, Flow, Received};
use windlass_probe::{Ending, Order, Purpose, Report, Test};
use windlass_probe_serve::{EngineServer, Raw, page, says};
use windlass_tcp::{Flags, Options, Profile, Segment, SeqNumber};

const ADDRESS: &str = "192.0.2.1:80";
const ISN: u32 = 5000;
const MSS: u32 = 1460;

type Replies = Vec<(Span, Vec<u8>)>;

fn address() -> SocketAddr {
    ADDRESS.parse().expect("an address")
}

fn probe_with(order: Order, react: impl FnMut(&Flow, &Received<'_>) -> Replies) -> Report {
    World::new(PATH, 5).with(ADDRESS, Raw::new(react)).connect(address(), order)
}

fn probe(react: impl FnMut(&Flow, &Received<'_>) -> Replies) -> Report {
    probe_with(order(Test::Split(2)), react)
}

fn packet(flow: &Flow, segment: &Segment, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let segment = Segment { payload_len: payload.len() as u32, ..*segment };
    wire::emit(flow, &segment, &[payload], 0, &mut packet);
    packet
}

fn answer_to(received: &Received<'_>, seq: u32, flags: Flags) -> Segment {
    let sent = &received.segment;
    Segment {
        seq: SeqNumber(seq),
        ack: sent.seq.at(u64::from(sent.sequence_len())),
        flags: flags | Flags::ACK,
        window: 60_000,
        ..Segment::default()
    }
}

fn syn_ack(flow: &Flow, received: &Received<'_>) -> Vec<u8> {
    let options = Options { mss: Some(1460), window_scale: Some(3), ..Options::default() };
    packet(flow, &Segment { options, ..answer_to(received, ISN, Flags::SYN) }, &[])
}

/// Full segments from an offset of the stream on.
fn data(flow: &Flow, received: &Received<'_>, from: u32, count: u32, bytes: u8) -> Replies {
    let segment = |index: u32| {
        let seq = ISN.wrapping_add(1 + from + index * MSS);
        packet(flow, &answer_to(received, seq, Flags::PSH), &[bytes; MSS as usize])
    };
    (0..count).map(|index| (Span::ZERO, segment(index))).collect()
}

fn is_syn(received: &Received<'_>) -> bool {
    received.segment.flags.contains(Flags::SYN)
}

/// Completes the handshake, and then applies the function to segments with data.
fn after_handshake(
    mut react: impl FnMut(&Flow, &Received<'_>) -> Replies,
) -> impl FnMut(&Flow, &Received<'_>) -> Replies {
    move |flow, received| match received.payload {
        _ if is_syn(received) => vec![(Span::ZERO, syn_ack(flow, received))],
        [] => Vec::new(),
        _ => react(flow, received),
    }
}

#[test]
fn silence_refusal_and_unreachable_hosts() {
    assert_eq!(probe(|_, _| Vec::new()).ending, Ending::Silent);
    let refused = probe(|flow, received| {
        let reset = received.segment.reset_reply();
        reset.map(|reset| (Span::ZERO, packet(flow, &reset, &[]))).into_iter().collect()
    });
    assert_eq!(refused.ending, Ending::Refused);
    assert_eq!(refused.observation, None);
}

#[test]
fn icmp_from_a_router_ends_a_handshake_and_no_later_connection() {
    let unreachable = |flow: &Flow, received: &Received<'_>| {
        let mut sent = Vec::new();
        let back = Flow { local: flow.remote, remote: flow.local };
        wire::emit(&back, &received.segment, &[], 0, &mut sent);
        icmp(&sent)
    };
    let report = probe(|flow, received| vec![(Span::ZERO, unreachable(flow, received))]);
    assert_eq!(report.ending, Ending::Unreachable { icmp_code: Some(1) });
    let later = probe(after_handshake(|flow, received| {
        let icmp = (Span::ZERO, unreachable(flow, received));
        std::iter::once(icmp).chain(data(flow, received, 0, 3, b'x')).collect()
    }));
    assert_eq!(later.ending, Ending::Measured);
}

/// An ICMP host unreachable message of a router about the packet `sent`.
fn icmp(sent: &[u8]) -> Vec<u8> {
    use windlass_tcp::segment::ip::{Addresses, IpHeader};
    let header = IpHeader {
        addresses: Addresses::V4 {
            source: "198.51.100.1".parse().expect("an address"),
            destination: "192.0.2.99".parse().expect("an address"),
        },
        ecn: windlass_base::Ecn::NotEct,
        hop_limit: 60,
        protocol: 1,
        identification: 0,
    };
    let body: Vec<u8> = [3, 1, 0, 0, 0, 0, 0, 0].iter().chain(&sent[..28]).copied().collect();
    let mut packet = vec![0; 20];
    header.emit(body.len(), &mut packet).expect("short");
    packet.extend(body);
    packet
}

#[test]
fn no_data_and_a_server_that_only_closes() {
    let nothing = probe(after_handshake(|_, _| Vec::new()));
    assert_eq!(nothing.ending, Ending::NoAnswer);
    let closes = probe(after_handshake(|flow, received| {
        vec![(Span::ZERO, packet(flow, &answer_to(received, ISN + 1, Flags::FIN), &[]))]
    }));
    assert_eq!(closes.ending, Ending::NoAnswer);
}

#[test]
fn a_tiny_answer_bounds_the_initial_window() {
    let tiny = probe(after_handshake(|flow, received| {
        vec![(Span::ZERO, packet(flow, &answer_to(received, ISN + 1, Flags::FIN), b"hello"))]
    }));
    assert_eq!(tiny.ending, Ending::TooShort);
    let flight = tiny.observation.expect("a flight").first_flight;
    assert_eq!((flight.packets, flight.bytes), (1, 5));
}

#[test]
fn endless_headers_are_measured_all_the_same_and_end_a_scout() {
    let head = || {
        let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
        head.extend(b"A: b\r\n".repeat(100_000));
        head
    };
    let server = EngineServer::new(config(Profile::Rfc2581, 3), says(head()));
    let mut world = World::new(PATH, 1).with(ADDRESS, server);
    let report = world.connect(address(), order(Test::Split(2)));
    assert_eq!((report.ending, report.head), (Ending::Measured, None));
    assert_eq!(report.observation.expect("measured").data_packets, 12);
    let scout = Order { purpose: Purpose::Scout, ..order(Test::BASELINE) };
    let report = world.connect(address(), scout);
    assert_eq!((report.ending, report.not_http), (Ending::HeadRead, true));
}

#[test]
fn a_reset_before_the_answer_in_the_middle_and_after_the_acks() {
    let reset = |flow: &Flow, received: &Received<'_>, at: u32| {
        let segment = answer_to(received, ISN + 1 + at, Flags::RST);
        (Span::from_millis(1), packet(flow, &segment, &[]))
    };
    let before = probe(after_handshake(|flow, received| vec![reset(flow, received, 0)]));
    assert_eq!(before.ending, Ending::Reset);
    let middle = probe(after_handshake(|flow, received| {
        let mut replies = data(flow, received, 0, 3, b'x');
        replies.push(reset(flow, received, 3 * MSS));
        replies
    }));
    assert_eq!(middle.ending, Ending::Reset);
    let after = probe(|flow, received| match received.payload {
        _ if is_syn(received) => vec![(Span::ZERO, syn_ack(flow, received))],
        [] if received.segment.ack != SeqNumber(ISN + 1) => vec![reset(flow, received, 3 * MSS)],
        [] => Vec::new(),
        _ => data(flow, received, 0, 3, b'x'),
    });
    assert_eq!(after.ending, Ending::Reset);
}

#[test]
fn a_reset_from_nowhere_in_the_window_is_not_believed() {
    let report = probe(after_handshake(|flow, received| {
        let blind = answer_to(received, ISN.wrapping_sub(70_000), Flags::RST);
        let mut replies = vec![(Span::ZERO, packet(flow, &blind, &[]))];
        replies.extend(data(flow, received, 0, 3, b'x'));
        replies
    }));
    assert_eq!(report.ending, Ending::Measured);
}

#[test]
fn wrong_checksums_and_impossible_options_are_counted_and_nothing_else() {
    let report = probe(after_handshake(|flow, received| {
        let mut replies = data(flow, received, 0, 4, b'x');
        let last = replies[3].1.len() - 1;
        replies[3].1[last] ^= 1;
        replies
    }));
    assert_eq!(report.ending, Ending::Measured);
    let run = report.observation.expect("measured");
    assert_eq!((run.damaged, run.data_packets), (1, 3));
    let silent = probe(|flow, received| {
        let mut packet = syn_ack(flow, received);
        // The length of the first option.
        packet[41] = 0;
        vec![(Span::ZERO, packet)]
    });
    assert_eq!(silent.ending, Ending::Silent);
}

#[test]
fn a_server_that_takes_no_request_has_a_zero_window() {
    let report = probe(|flow, received| {
        if !is_syn(received) {
            let closed = Segment {
                window: 0,
                ack: received.segment.seq,
                ..answer_to(received, ISN + 1, Flags::empty())
            };
            return vec![(Span::ZERO, packet(flow, &closed, &[]))];
        }
        let closed = Segment { window: 0, ..answer_to(received, ISN, Flags::SYN) };
        vec![(Span::ZERO, packet(flow, &closed, &[]))]
    });
    assert_eq!(report.ending, Ending::ZeroWindow);
}

#[test]
fn bytes_beyond_the_window_count_as_that_and_nothing_else() {
    let report = probe(after_handshake(|flow, received| {
        let mut replies = data(flow, received, 0, 3, b'x');
        replies.extend(data(flow, received, 40_000_000, 5, b'x'));
        replies
    }));
    let run = report.observation.expect("measured");
    assert_eq!((run.beyond_window, run.data_packets, report.ending), (5, 3, Ending::Measured));
}

#[test]
fn a_flood_of_single_bytes_ends() {
    let report = probe(after_handshake(|flow, received| {
        let byte = |at: u32| {
            let segment = answer_to(received, ISN + 1 + 2 * at, Flags::PSH);
            (Span::ZERO, packet(flow, &segment, b"x"))
        };
        (0..20_000).map(byte).collect()
    }));
    assert_eq!(report.ending, Ending::TooMuch);
}

#[test]
fn a_server_that_drips_for_ever_is_given_up() {
    let drip = |flow: &Flow, received: &Received<'_>| -> Replies {
        let piece = |index: u32| {
            let segment = answer_to(received, ISN + 1 + index, Flags::PSH);
            (Span::from_millis(15) * u64::from(index), packet(flow, &segment, b"H"))
        };
        (0..3000).map(piece).collect()
    };
    let report = probe(after_handshake(drip));
    assert_eq!(report.ending, Ending::NoAnswer);
}

#[test]
fn a_timeout_of_the_servers_before_the_acks_is_reported() {
    let report = probe(after_handshake(|flow, received| {
        // The flight comes slowly, and the first packet again after more than a round trip.
        let flight = data(flow, received, 0, 6, b'x').into_iter().zip(0..);
        let flight = flight.map(|((_, packet), index)| (Span::from_millis(15) * index, packet));
        let again = data(flow, received, 0, 1, b'x');
        let again = again.into_iter().map(|(_, packet)| (Span::from_millis(60), packet));
        flight.chain(again).collect()
    }));
    let seen = report.observation.expect("measured");
    assert_eq!((seen.timeout_before_acks, seen.duplicated), (true, 0));
}

/// A retransmission timer is longer than the round trip (RFC 6298 section 2), which is 40 ms.
#[test]
fn a_copy_sooner_than_a_round_trip_is_no_timeout_of_the_server() {
    let report = probe(after_handshake(|flow, received| {
        let mut replies = data(flow, received, 0, 3, b'x');
        let again = data(flow, received, 0, 1, b'x');
        replies.extend(again.into_iter().map(|(_, packet)| (Span::from_millis(10), packet)));
        replies
    }));
    let seen = report.observation.expect("measured");
    assert_eq!((seen.timeout_before_acks, seen.duplicated, seen.retransmissions), (false, 1, 0));
}

#[test]
fn a_flight_without_its_first_packet_waits_for_it_and_is_no_slow_start() {
    let report = probe(after_handshake(|flow, received| {
        let mut replies = data(flow, received, MSS, 2, b'x');
        let again = data(flow, received, 0, 1, b'x');
        replies.extend(again.into_iter().map(|(_, packet)| (Span::from_secs(1), packet)));
        replies
    }));
    let run = report.observation.expect("measured");
    assert!(run.timeout_before_acks && run.acked.len() == 3, "{run:?}");
    let never = probe(after_handshake(|flow, received| data(flow, received, MSS, 2, b'x')));
    assert_eq!(never.ending, Ending::NoAnswer);
}

#[test]
fn new_packets_after_a_retransmission_are_no_growth() {
    let mut answered = false;
    let report = probe(|flow, received| match received.payload {
        _ if is_syn(received) => vec![(Span::ZERO, syn_ack(flow, received))],
        [] if received.segment.ack == SeqNumber(ISN + 1 + 3 * MSS) && !answered => {
            answered = true;
            let mut replies = data(flow, received, 3 * MSS, 6, b'x');
            let later = |packets: Replies, ms: u64| {
                packets.into_iter().map(move |(_, packet)| (Span::from_millis(ms), packet))
            };
            replies.extend(later(data(flow, received, 3 * MSS, 1, b'x'), 300));
            replies.extend(later(data(flow, received, 9 * MSS, 4, b'x'), 301));
            replies
        }
        [] => Vec::new(),
        _ => data(flow, received, 0, 3, b'x'),
    });
    let run = report.observation.expect("measured");
    assert_eq!((run.grown, run.data_packets, run.retransmissions), (6, 13, 1));
}

#[test]
fn a_page_is_measured_without_its_head_being_http() {
    let server = EngineServer::new(config(Profile::Linux, 10), says(page(100_000)[30..].to_vec()));
    let mut world = World::new(PATH, 1).with(ADDRESS, server);
    let report = world.connect(address(), order(Test::Split(2)));
    assert_eq!((report.ending, report.not_http), (Ending::Measured, true));
}
