//! Many connections between two hosts over one port pair.

use super::network::{Network, address, pattern};
use crate::Options;
use crate::endpoint::ConnectionId;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use windlass_base::{Ecn, Span};
use windlass_tcp::{Error, Event, State};
use windlass_tou_wire as wire;

const TAG: u32 = 0x00c0_ffee;

/// Hosts 1 and 2 with an open session; both serve sessions only, and host 2 listens.
fn session() -> Network {
    let mut network = Network::new(3);
    network.open_session(TAG);
    network.host(2).listen(Options::default().config(), 16).expect("free");
    network.host(1).serve_sessions_only();
    network.host(2).serve_sessions_only();
    network
}

fn pair(network: &mut Network, number: u32) -> [ConnectionId; 2] {
    let client = network.connect_in_session(1, TAG, number);
    network.run(Span::from_millis(100));
    [client, network.host(2).accept().expect("complete")]
}

#[test]
fn connections_of_a_session_are_separate_byte_streams() {
    let mut network = session();
    let pairs = [pair(&mut network, 1), pair(&mut network, 3), pair(&mut network, 5)];
    let mut sent = 0;
    network.passes = Box::new(move |_| {
        sent += 1;
        sent % 50 != 0
    });
    for (index, [client, server]) in pairs.into_iter().enumerate() {
        let data = pattern(200_000 + index);
        assert!(network.transfer((1, client), (2, server), &data) == data);
        assert!(network.transfer((2, server), (1, client), &data) == data);
    }
    assert_eq!(network.host(1).session_len(TAG), 3);
}

/// RFC 8656 §12.4: a relay adds four bytes; IPv6's header has 40.
#[test]
fn a_full_segment_of_a_session_fits_every_path() {
    let mut network = session();
    let [client, server] = pair(&mut network, 1);
    let largest = Rc::new(Cell::new(0));
    let seen = Rc::clone(&largest);
    network.passes = Box::new(move |packet| {
        assert!(wire::kind(&packet.bytes) == wire::Kind::Session);
        seen.set(seen.get().max(packet.bytes.len()));
        true
    });
    let data = pattern(100_000);
    assert!(network.transfer((1, client), (2, server), &data) == data);
    assert_eq!(largest.get(), 1500 - 40 - 8 - 4);
}

#[test]
fn segments_outside_of_open_sessions_get_no_answer() {
    let mut network = session();
    // A plain SYN, and a SYN of a session that only the sender knows.
    let plain = network.connect(3, 2);
    network.sessions.insert(9, [address(3), address(2)]);
    network.host(3).open_session(9);
    let other = network.connect_in_session(3, 9, 1);
    let answers = Rc::new(Cell::new(0));
    let seen = Rc::clone(&answers);
    network.passes = Box::new(move |packet| {
        seen.set(seen.get() + usize::from(packet.from == address(2)));
        true
    });
    network.run(Span::from_secs(2));
    assert_eq!(answers.get(), 0);
    assert!(network.host(2).counters().outside >= 4);
    for id in [plain, other] {
        let stream = network.host(3).stream(id).expect("still trying");
        assert_eq!(stream.connection().state(), State::SynSent);
    }
}

#[test]
fn closing_a_session_fails_its_connections_only() {
    let mut network = session();
    let [first, _] = pair(&mut network, 1);
    network.open_session(7);
    let second = network.connect_in_session(1, 7, 1);
    network.run(Span::from_millis(100));
    network.events.clear();
    network.host(1).close_session(TAG, Error::Unreachable);
    network.run(Span::from_millis(100));
    assert_eq!(network.events, [(address(1), first, Event::Failed(Error::Unreachable))]);
    assert!(!network.host(1).has_session(TAG) && network.host(1).has_session(7));
    let stream = network.host(1).stream(second).expect("there");
    assert_eq!(stream.connection().state(), State::Established);
}

#[test]
fn on_another_path_missing_data_goes_out_at_once_and_in_small_segments() {
    let mut network = session();
    let [client, server] = pair(&mut network, 1);
    let data = pattern(300_000);
    assert!(network.transfer((1, client), (2, server), &data) == data);
    let works = Rc::new(Cell::new(false));
    let sizes = Rc::new(RefCell::new(Vec::new()));
    let (open, seen) = (Rc::clone(&works), Rc::clone(&sizes));
    network.passes = Box::new(move |packet| {
        if packet.from == address(1) && open.get() {
            seen.borrow_mut().push(packet.bytes.len());
        }
        open.get()
    });
    let stream = network.host(1).stream_mut(client).expect("there");
    stream.write(&data[..5_000]).expect("open");
    // Long enough for timeouts of tens of seconds.
    network.run(Span::from_secs(60));
    works.set(true);
    let now = network.now;
    network.host(1).path_changed(now, TAG);
    network.run(Span::from_millis(200));
    assert_eq!(network.host(2).stream(server).expect("there").connection().readable(), 5_000);
    // Only the new search for the path's MTU may exceed the size that passes every path.
    let sizes = sizes.borrow();
    assert_eq!(sizes.iter().filter(|size| **size > 1200).count(), 1);
    assert!(sizes.iter().filter(|size| **size == 1200).count() >= 4);
}

#[test]
fn a_syn_that_had_no_path_is_sent_again_when_there_is_one() {
    let mut network = session();
    let works = Rc::new(Cell::new(false));
    let open = Rc::clone(&works);
    network.passes = Box::new(move |_| open.get());
    let client = network.connect_in_session(1, TAG, 1);
    network.run(Span::from_millis(100));
    works.set(true);
    let now = network.now;
    network.host(1).path_found(now, TAG);
    network.run(Span::from_millis(200));
    let state = network.host(1).stream(client).expect("there").connection().state();
    assert_eq!(state, State::Established, "long before the timer of one second");
}

/// A relay that gives the peer's old address to this host returns what was meant for the peer.
#[test]
fn a_syn_that_comes_back_opens_no_connection_with_itself() {
    let mut network = session();
    let client = network.connect_in_session(1, TAG, 1);
    let (now, mut syn) = (network.now, Vec::new());
    let sent = network.host(1).poll_transmit(now, 1, &mut syn).expect("a SYN");
    network.host(1).handle_datagrams(now, address(2), sent.ecn, &syn, sent.size);
    let state = network.host(1).stream(client).expect("there").connection().state();
    assert_eq!(state, State::SynSent);
    assert_eq!(network.host(1).counters().outside, 1);
    // Sent again, it reaches the peer.
    network.run(Span::from_secs(2));
    let state = network.host(1).stream(client).expect("there").connection().state();
    assert_eq!(state, State::Established);
}

#[test]
fn a_truncated_datagram_of_a_session_is_malformed() {
    let mut network = session();
    let mut datagram = [0; 40];
    let peer = wire::SessionPeer { tag: TAG, number: 1 };
    let segment = wire::Segment { flags: wire::Flags::SYN, ..wire::Segment::default() };
    let len = wire::emit_session(peer, &segment, &mut datagram);
    assert_eq!(wire::parse_session(&datagram[..len]), Ok((peer, segment, len)));
    let now = network.now;
    for cut in 8..len {
        let bytes = &datagram[..cut];
        network.host(2).handle_datagrams(now, address(1), Ecn::NotEct, bytes, cut);
    }
    assert_eq!(network.host(2).counters().malformed, len as u64 - 8);
    assert!(network.host(2).is_empty());
}
