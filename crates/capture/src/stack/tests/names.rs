//! The DNS forwarder.

use super::command::datagram;
use super::*;
use crate::dns;
use domain::base::iana::Rtype;
use domain::base::{Message, MessageBuilder, Name};
use std::str::FromStr;
use windlass_base::Span;
use windlass_tcp::Error;

const FORWARDER: &str = "198.18.0.2:53";
const FORWARDER_V6: &str = "[fd77:6c61:7373::2]:53";

fn query(id: u16) -> Vec<u8> {
    let mut builder = MessageBuilder::new_vec();
    builder.header_mut().set_id(id);
    let mut question = builder.question();
    question
        .push((Name::<Vec<u8>>::from_str("a.example").expect("a name"), Rtype::A))
        .expect("room");
    question.finish()
}

/// An answer of `len` bytes.
fn answer(query: &[u8], len: usize) -> Vec<u8> {
    let mut answer = query.to_vec();
    answer[2] |= 0x80;
    // Bytes behind the last record are ignored by readers.
    answer.resize(len.max(query.len()), 0);
    answer
}

fn asked(stack: &mut Stack) -> Vec<(QueryId, Vec<u8>)> {
    let of = |event| match event {
        Event::Query { query, message } => Some((query, message)),
        _ => None,
    };
    events(stack).into_iter().filter_map(of).collect()
}

fn payload(packet: &[u8]) -> Vec<u8> {
    match packet::parse(packet, false) {
        Some(Incoming::Udp { payload, .. }) => payload.to_vec(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_query_in_a_datagram_gets_the_far_ends_answer() {
    for forwarder in [FORWARDER, FORWARDER_V6] {
        let mut stack = stack();
        stack.handle_packet(Time::ZERO, &datagram(&ends(forwarder), &query(7)), false);
        let [(id, message)] = &asked(&mut stack)[..] else { panic!("one query") };
        assert_eq!(message, &query(7));
        stack.answer(Time::ZERO, *id, Some(answer(message, 100)));
        let [packet] = &sent(&mut stack, Time::ZERO)[..] else { panic!("one packet") };
        assert_eq!(payload(packet), answer(message, 100));
    }
}

#[test]
fn a_long_answer_comes_over_tcp_after_a_cut_one() {
    let mut stack = stack();
    stack.handle_packet(Time::ZERO, &datagram(&ends(FORWARDER), &query(7)), false);
    let [(id, message)] = &asked(&mut stack)[..] else { panic!("one query") };
    stack.answer(Time::ZERO, *id, Some(answer(message, 3000)));
    let [packet] = &sent(&mut stack, Time::ZERO)[..] else { panic!("one packet") };
    let cut = payload(packet);
    assert!(Message::from_octets(&cut[..]).expect("a message").header().tc());

    let mut command = Command::connect(ends(FORWARDER));
    exchange(&mut stack, &mut command, Time::ZERO);
    command.write(&[&(query(8).len() as u16).to_be_bytes()[..], &query(8)].concat());
    exchange(&mut stack, &mut command, Time::ZERO);
    let [(id, message)] = &asked(&mut stack)[..] else { panic!("one query") };
    stack.answer(Time::ZERO, *id, Some(answer(message, 3000)));
    exchange(&mut stack, &mut command, Time::ZERO);
    let expected = [&3000u16.to_be_bytes()[..], &answer(&query(8), 3000)].concat();
    assert_eq!(command.read(), expected);
}

#[test]
fn queries_of_one_connection_are_answered_in_any_order_and_the_end_waits_for_them() {
    let (mut stack, mut command) = (stack(), Command::connect(ends(FORWARDER)));
    for id in 0..40 {
        command.write(&[&(query(id).len() as u16).to_be_bytes()[..], &query(id)].concat());
    }
    command.close(Time::ZERO);
    let mut answered = 0;
    while answered < 40 {
        exchange(&mut stack, &mut command, Time::ZERO);
        let asked = asked(&mut stack);
        assert!(!asked.is_empty() && asked.len() <= 16, "{}", asked.len());
        for (id, message) in asked.into_iter().rev() {
            stack.answer(Time::ZERO, id, Some(answer(&message, 500)));
            answered += 1;
        }
    }
    exchange(&mut stack, &mut command, Time::ZERO);
    let bytes = command.read();
    assert_eq!(bytes.len(), 40 * 502);
    let mut ids: Vec<u8> = bytes.chunks(502).map(|answer| answer[3]).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..40));
    assert_eq!(stack.flows(), 0);
}

#[test]
fn a_query_that_the_far_end_cannot_answer_fails() {
    for wrong in [None, Some(answer(&query(8), 50)), Some(b"junk".to_vec())] {
        let mut stack = stack();
        stack.handle_packet(Time::ZERO, &datagram(&ends(FORWARDER), &query(7)), false);
        let [(id, _)] = asked(&mut stack)[..] else { panic!("one query") };
        stack.answer(Time::ZERO, id, wrong);
        let [packet] = &sent(&mut stack, Time::ZERO)[..] else { panic!("one packet") };
        assert_eq!(Some(payload(packet)), dns::server_failure(&query(7)));
    }
}

#[test]
fn a_query_without_an_answer_fails_after_a_while() {
    let mut stack = stack();
    stack.handle_packet(Time::ZERO, &datagram(&ends(FORWARDER), &query(7)), false);
    let [(id, _)] = asked(&mut stack)[..] else { panic!("one query") };
    let due = stack.poll_timeout().expect("a timer");
    assert_eq!(due, Time::ZERO + Span::from_secs(15));
    stack.handle_timeout(due);
    assert_eq!(sent(&mut stack, due).len(), 1);
    assert_eq!(stack.poll_timeout(), None);
    stack.answer(due, id, Some(answer(&query(7), 50)));
    assert_eq!(sent(&mut stack, due).len(), 0, "too late");
}

#[test]
fn no_more_queries_wait_than_the_limit() {
    let mut stack = Stack::new(Config { queries_max: 3, ..Config::default() }, 1);
    for id in 0..5 {
        stack.handle_packet(Time::ZERO, &datagram(&ends(FORWARDER), &query(id)), false);
    }
    assert_eq!(asked(&mut stack).len(), 3);
}

#[test]
fn junk_to_the_forwarder_asks_nothing() {
    let mut stack = stack();
    stack.handle_packet(Time::ZERO, &datagram(&ends(FORWARDER), b"junk"), false);
    stack.handle_packet(Time::ZERO, &datagram(&ends(FORWARDER), &answer(&query(1), 60)), false);
    let mut command = Command::connect(ends(FORWARDER));
    exchange(&mut stack, &mut command, Time::ZERO);
    command.write(b"\0\x04junk and more");
    exchange(&mut stack, &mut command, Time::ZERO);
    assert_eq!(asked(&mut stack), []);
    assert_eq!(command.event(), Some(TcpEvent::Connected));
    assert_eq!(command.event(), Some(TcpEvent::Failed(Error::Reset)));
}

#[test]
fn the_forwarder_serves_no_other_port() {
    let (mut stack, mut command) = (stack(), Command::connect(ends("198.18.0.2:80")));
    exchange(&mut stack, &mut command, Time::ZERO);
    assert_eq!(command.event(), Some(TcpEvent::Failed(Error::Refused)));
    assert_eq!(events(&mut stack), []);
}
