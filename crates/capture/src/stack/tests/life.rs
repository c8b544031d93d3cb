//! How connections begin and end.

use super::command::segment;
use super::*;
use windlass_base::Span;
use windlass_tcp::{Error, Flags, SeqNumber};

const FAR: &str = "203.0.113.7:80";
const FAR_V6: &str = "[2001:db8::7]:80";

#[test]
fn a_syn_is_answered_once_the_far_end_has_accepted() {
    for far in [FAR, FAR_V6] {
        let (mut stack, mut command) = (stack(), Command::connect(ends(far)));
        exchange(&mut stack, &mut command, Time::ZERO);
        let expected = far.parse().expect("an address");
        let [Event::Connect { flow, to }] = events(&mut stack)[..] else { panic!("no event") };
        assert_eq!(to, expected);
        assert_eq!(command.event(), None);
        stack.accept(Time::ZERO, flow);
        exchange(&mut stack, &mut command, Time::ZERO);
        assert_eq!(command.event(), Some(TcpEvent::Connected));
    }
}

#[test]
fn a_syn_that_is_sent_again_asks_for_no_second_connection() {
    let (mut stack, mut command) = (stack(), Command::connect(ends(FAR)));
    let syn = command.packets(Time::ZERO).concat();
    for _ in 0..3 {
        stack.handle_packet(Time::ZERO, &syn, false);
    }
    let flow = opening(&mut stack);
    stack.accept(Time::ZERO, flow);
    exchange(&mut stack, &mut command, Time::ZERO);
    assert_eq!((command.event(), stack.flows()), (Some(TcpEvent::Connected), 1));
}

#[test]
fn a_refused_connection_is_reset() {
    let (mut stack, mut command) = (stack(), Command::connect(ends(FAR)));
    exchange(&mut stack, &mut command, Time::ZERO);
    let flow = opening(&mut stack);
    stack.refuse(flow, Refusal::Refused);
    exchange(&mut stack, &mut command, Time::ZERO);
    assert_eq!(command.event(), Some(TcpEvent::Failed(Error::Refused)));
    assert_eq!(stack.flows(), 0);
}

#[test]
fn an_unreachable_host_is_reported_with_the_syn() {
    for (far, refusal, expected) in [
        (FAR, Refusal::NetworkUnreachable, [3, 0]),
        (FAR, Refusal::HostUnreachable, [3, 1]),
        (FAR, Refusal::Prohibited, [3, 13]),
        (FAR_V6, Refusal::NetworkUnreachable, [1, 0]),
        (FAR_V6, Refusal::HostUnreachable, [1, 3]),
        (FAR_V6, Refusal::Prohibited, [1, 1]),
    ] {
        let (mut stack, mut command) = (stack(), Command::connect(ends(far)));
        let syn = command.packets(Time::ZERO).concat();
        stack.handle_packet(Time::ZERO, &syn, false);
        let flow = opening(&mut stack);
        stack.refuse(flow, refusal);
        let [message] = &sent(&mut stack, Time::ZERO)[..] else { panic!("one message") };
        let icmp = &message[if far == FAR { 20 } else { 40 }..];
        assert_eq!(icmp[..2], expected, "{refusal:?}");
        assert!(icmp[8..] == syn, "the SYN is quoted");
        assert_eq!(stack.flows(), 0);
    }
}

#[test]
fn a_reset_of_the_command_reaches_the_driver() {
    let (mut stack, mut command, flow) = connected(FAR);
    command.write(b"before");
    let mut packets = command.packets(Time::ZERO);
    command.stream.connection_mut().abort();
    packets.extend(command.packets(Time::ZERO));
    packets.iter().for_each(|packet| stack.handle_packet(Time::ZERO, packet, false));
    assert_eq!(events(&mut stack), [Event::Active(flow), Event::Reset(flow)]);
    assert!(!stack.is_open(flow));
    assert_eq!(stack.peek(flow).concat(), b"before");
    sent(&mut stack, Time::ZERO);
    assert_eq!(stack.flows(), 0);
}

#[test]
fn an_abort_of_the_driver_resets_the_command() {
    let (mut stack, mut command, flow) = connected(FAR);
    stack.write(flow, b"lost");
    stack.abort(flow);
    exchange(&mut stack, &mut command, Time::ZERO);
    assert_eq!(command.event(), Some(TcpEvent::Failed(Error::Reset)));
    assert_eq!((events(&mut stack), stack.flows()), (vec![], 0));
}

#[test]
fn each_direction_ends_by_itself() {
    for driver_first in [false, true] {
        let (mut stack, mut command, flow) = connected(FAR);
        let now = Time::ZERO;
        command.write(b"question");
        if driver_first {
            stack.close(now, flow);
            exchange(&mut stack, &mut command, now);
            let mut events = std::iter::from_fn(|| command.event());
            assert!(events.any(|event| event == TcpEvent::PeerClosed));
            command.close(now);
        } else {
            command.close(now);
            exchange(&mut stack, &mut command, now);
            assert!(!stack.is_read_to_the_end(flow), "there are bytes left");
        }
        exchange(&mut stack, &mut command, now);
        assert_eq!(stack.peek(flow).concat(), b"question");
        stack.consume(flow, 8);
        assert!(stack.is_read_to_the_end(flow));
        if !driver_first {
            assert_eq!(stack.write(flow, b"answer"), 6);
            stack.close(now, flow);
            exchange(&mut stack, &mut command, now);
            assert_eq!(command.read(), b"answer");
        }
        exchange(&mut stack, &mut command, now);
        let end = now + Span::from_secs(2);
        stack.handle_timeout(end);
        assert!(stack.is_read_to_the_end(flow), "readable until it is released");
        stack.release(flow);
        sent(&mut stack, end);
        assert_eq!((stack.flows(), stack.memory()), (0, 0), "driver first: {driver_first}");
    }
}

#[test]
fn bytes_wait_for_a_slow_far_end_after_the_connection_has_ended() {
    let (mut stack, mut command, flow) = connected(FAR);
    command.write(b"the last words");
    command.close(Time::ZERO);
    stack.close(Time::ZERO, flow);
    exchange(&mut stack, &mut command, Time::ZERO);
    let end = Time::ZERO + Span::from_secs(10);
    stack.handle_timeout(end);
    sent(&mut stack, end);
    assert!(!stack.is_open(flow));
    assert_eq!(stack.peek(flow).concat(), b"the last words");
    stack.consume(flow, 14);
    assert!(stack.is_read_to_the_end(flow));
    stack.release(flow);
    sent(&mut stack, end);
    assert_eq!(stack.flows(), 0);
}

#[test]
fn a_port_can_be_used_again_at_once() {
    let (mut stack, mut command, flow) = connected(FAR);
    stack.close(Time::ZERO, flow);
    exchange(&mut stack, &mut command, Time::ZERO);
    command.close(Time::ZERO);
    exchange(&mut stack, &mut command, Time::ZERO);
    stack.release(flow);
    sent(&mut stack, Time::ZERO);
    assert_eq!(stack.flows(), 1, "in TIME-WAIT");
    let syn = Segment { seq: SeqNumber(100_000), flags: Flags::SYN, ..Segment::default() };
    stack.handle_packet(Time::ZERO, &segment(&ends(FAR), &syn, [&[], &[]]), false);
    let all = events(&mut stack);
    assert!(matches!(all[..], [.., Event::Connect { flow: new, .. }] if new != flow), "{all:?}");
}

#[test]
fn a_segment_of_no_connection_is_reset() {
    let mut stack = stack();
    let stray = Segment { seq: SeqNumber(5), flags: Flags::ACK, ..Segment::default() };
    stack.handle_packet(Time::ZERO, &segment(&ends(FAR), &stray, [b"data", &[]]), false);
    let [reset] = &sent(&mut stack, Time::ZERO)[..] else { panic!("one packet") };
    let Some(Incoming::Tcp { segment, .. }) = packet::parse(reset, false) else { panic!("TCP") };
    assert_eq!(segment.flags, Flags::RST);
    assert_eq!(events(&mut stack), []);
}

#[test]
fn an_opening_that_is_never_decided_is_forgotten() {
    let (mut stack, mut command) = (stack(), Command::connect(ends(FAR)));
    exchange(&mut stack, &mut command, Time::ZERO);
    let flow = opening(&mut stack);
    let due = stack.poll_timeout().expect("a timer");
    assert!(due > Time::ZERO + Span::from_secs(127), "longer than Linux tries");
    stack.handle_timeout(due);
    assert_eq!((events(&mut stack), stack.flows()), (vec![Event::Reset(flow)], 0));
    stack.accept(due, flow);
    assert_eq!(sent(&mut stack, due).len(), 0, "too late");
}

#[test]
fn a_new_attempt_from_the_same_port_takes_the_place_of_the_old() {
    let mut stack = stack();
    for seq in [5, 900_000] {
        let syn = Segment { seq: SeqNumber(seq), flags: Flags::SYN, ..Segment::default() };
        stack.handle_packet(Time::ZERO, &segment(&ends(FAR), &syn, [&[], &[]]), false);
    }
    let flow = opening(&mut stack);
    stack.accept(Time::ZERO, flow);
    let [answer] = &sent(&mut stack, Time::ZERO)[..] else { panic!("one packet") };
    let Some(Incoming::Tcp { segment, .. }) = packet::parse(answer, false) else { panic!("TCP") };
    assert_eq!(segment.ack, SeqNumber(900_001));
}

#[test]
fn a_full_table_leaves_a_syn_for_later() {
    let config = Config { flows_max: 1, ..Config::default() };
    let mut stack = Stack::new(config, 1);
    let (mut one, mut other) = (Command::connect(ends(FAR)), Command::connect(ends(FAR_V6)));
    exchange(&mut stack, &mut one, Time::ZERO);
    let flow = opening(&mut stack);
    let syn = other.packets(Time::ZERO).concat();
    stack.handle_packet(Time::ZERO, &syn, false);
    assert_eq!((events(&mut stack), sent(&mut stack, Time::ZERO)), (vec![], vec![]));
    stack.refuse(flow, Refusal::Refused);
    stack.handle_packet(Time::ZERO, &syn, false);
    opening(&mut stack);
}

#[test]
fn an_offloading_device_completes_the_checksum() {
    for far in [FAR, FAR_V6] {
        let config = Config { offload: true, ..Config::default() };
        let (mut stack, mut command) = (Stack::new(config, 1), Command::connect(ends(far)));
        let syn = command.packets(Time::ZERO).concat();
        stack.handle_packet(Time::ZERO, &syn, false);
        let flow = opening(&mut stack);
        stack.accept(Time::ZERO, flow);
        stack.transmit(Time::ZERO, &mut |packet: Packet<'_>| {
            let mut bytes = packet.to_vec();
            assert!(packet::parse(&bytes, false).is_none(), "incomplete");
            let partial = packet.checksum.expect("partial");
            let start = usize::from(partial.start);
            let sum = windlass_base::checksum::checksum(&bytes[start..]);
            let at = start + usize::from(partial.offset);
            bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
            command.handle_packet(Time::ZERO, &bytes);
        });
        assert_eq!(command.event(), Some(TcpEvent::Connected));
    }
}
