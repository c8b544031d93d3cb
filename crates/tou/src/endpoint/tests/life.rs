//! Connections from opening to removal.

use super::network::{Network, address, config, pattern};
use crate::Options;
use crate::endpoint::{ConnectError, Limits};
use std::cell::Cell;
use std::rc::Rc;
use windlass_base::{Ecn, Span};
use windlass_tcp::{Error, Event, Flags, State};

fn listening() -> Network {
    let mut network = Network::new(3);
    network.host(2).listen(config(), 16).expect("free");
    network
}

#[test]
fn bytes_arrive_both_ways_despite_losses() {
    let mut network = listening();
    let [client, server] = network.pair();
    let mut sent = 0;
    network.passes = Box::new(move |_| {
        sent += 1;
        sent % 50 != 0
    });
    let data = pattern(1_000_000);
    assert!(network.transfer((1, client), (2, server), &data) == data);
    assert!(network.transfer((2, server), (1, client), &data) == data);
}

#[test]
fn a_full_segment_fills_an_ethernet_packet_and_is_ect_when_asked_for() {
    let mut network = Network::new(2);
    let asks = config().with(|c| {
        c.ecn.enabled = true;
        c.extensions.timestamps = false;
    });
    network.host(2).listen(asks.clone(), 1).expect("free");
    let now = network.now;
    let client = network.host(1).connect(now, address(2), asks).expect("new");
    network.run(Span::from_millis(100));
    let server = network.host(2).accept().expect("complete");
    let (largest, not_ect) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let seen = (Rc::clone(&largest), Rc::clone(&not_ect));
    network.passes = Box::new(move |packet| {
        seen.0.set(seen.0.get().max(packet.bytes.len()));
        let unmarkable = packet.segment().payload_len > 0 && packet.ecn != Ecn::Ect0;
        seen.1.set(seen.1.get() + usize::from(unmarkable));
        true
    });
    let data = pattern(100_000);
    assert!(network.transfer((1, client), (2, server), &data) == data);
    // 1500 bytes less 20 for IPv4 and 8 for UDP (Lee 2009, section 5.2: 1456 bytes of payload). The
    // path MTU probe is not ECT, so that a congested queue drops it rather than marking it.
    assert_eq!((largest.get(), not_ect.get()), (1472, 1));
}

#[test]
fn a_lost_syn_costs_no_ecn() {
    let mut network = Network::new(2);
    let asks = Options { ecn: true, ..Options::default() }.config();
    network.host(2).listen(asks.clone(), 1).expect("free");
    let now = network.now;
    let client = network.host(1).connect(now, address(2), asks).expect("new");
    let lost = Cell::new(false);
    network.passes = Box::new(move |_| lost.replace(true));
    network.run(Span::from_secs(2));
    let stream = network.host(1).stream_mut(client).expect("there");
    assert_eq!(stream.connection_mut().stats().timeouts, 1, "the SYN went out again");
    assert!(stream.connection_mut().ecn_negotiated());
}

#[test]
fn a_half_close_leaves_the_other_way_open() {
    let mut network = listening();
    let [client, server] = network.pair();
    let now = network.now;
    let stream = network.host(1).stream_mut(client).expect("there");
    stream.write(b"the end").expect("open");
    stream.connection_mut().close(now);
    network.run(Span::from_millis(100));
    assert_eq!(network.read(2, server).expect("bytes"), b"the end");
    assert_eq!(network.read(2, server), Err(Error::Closed));
    let data = pattern(200_000);
    assert!(network.transfer((2, server), (1, client), &data) == data);
    network.release(2, server);
    network.run(Span::from_millis(100));
    assert_eq!(network.read(1, client), Err(Error::Closed));
    assert_eq!(network.state(1, client), State::TimeWait);
    assert_eq!(network.host(2).len(), 0, "the end that closes last has no TIME-WAIT");
}

#[test]
fn data_written_before_a_release_arrive() {
    let mut network = listening();
    let [client, server] = network.pair();
    let data = pattern(300_000);
    let stream = network.host(1).stream_mut(client).expect("there");
    assert_eq!(stream.write(&data).expect("open"), data.len());
    network.release(1, client);
    let mut arrived = Vec::new();
    for _ in 0..200 {
        network.run(Span::from_millis(10));
        arrived.extend(network.read(2, server).unwrap_or_default());
    }
    assert!(arrived == data);
    network.release(2, server);
    network.run(Span::from_secs(61));
    assert!(network.hosts.values().all(|host| host.is_empty()), "TIME-WAIT is over");
}

/// RFC 2525 §2.17.
#[test]
fn a_release_with_unread_data_resets_the_connection() {
    let mut network = listening();
    let [client, server] = network.pair();
    network.host(1).stream_mut(client).expect("there").write(b"hello").expect("open");
    network.run(Span::from_millis(50));
    network.release(2, server);
    network.run(Span::from_millis(50));
    assert_eq!(network.host(1).error(client), Some(Error::Reset));
    assert!(network.events.contains(&(address(1), client, Event::Failed(Error::Reset))));
    assert_eq!(network.host(2).len(), 0);
    // Data that arrives after the release has the same effect.
    network.release(1, client);
    let [client, server] = network.pair();
    network.release(2, server);
    network.run(Span::from_millis(50));
    network.host(1).stream_mut(client).expect("there").write(b"hello").expect("half open");
    network.run(Span::from_millis(50));
    assert_eq!(network.host(1).error(client), Some(Error::Reset));
}

/// A FIN before the reset would look like an orderly end to the peer.
#[test]
fn a_release_with_unread_data_sends_no_fin() {
    let mut network = listening();
    let [client, server] = network.pair();
    network.host(1).stream_mut(client).expect("there").write(b"hello").expect("open");
    network.run(Span::from_millis(50));
    let fins = Rc::new(Cell::new(0));
    let seen = Rc::clone(&fins);
    network.passes = Box::new(move |packet| {
        seen.set(seen.get() + u32::from(packet.segment().flags.contains(Flags::FIN)));
        true
    });
    network.release(2, server);
    network.run(Span::from_millis(50));
    assert_eq!(network.host(1).error(client), Some(Error::Reset));
    assert_eq!(fins.get(), 0);
}

#[test]
fn an_orphan_whose_peer_never_closes_goes_after_a_minute() {
    let mut network = listening();
    let [client, server] = network.pair();
    network.release(1, client);
    network.run(Span::from_secs(59));
    assert_eq!(network.host(1).len(), 1);
    network.run(Span::from_secs(2));
    assert_eq!(network.host(1).len(), 0);
    assert_eq!(network.host(2).error(server), Some(Error::Reset), "the peer is reset");
}

/// Two hosts behind NATs connect to each other (RFC 9293 §3.5, figure 8).
#[test]
fn two_that_connect_to_each_other_make_one_connection() {
    let mut network = Network::new(2);
    let (a, b) = (network.connect(1, 2), network.connect(2, 1));
    network.run(Span::from_millis(100));
    assert_eq!(network.state(1, a), State::Established);
    assert_eq!(network.state(2, b), State::Established);
    let data = pattern(50_000);
    assert!(network.transfer((1, a), (2, b), &data) == data);
    assert!(network.transfer((2, b), (1, a), &data) == data);
}

#[test]
fn a_peer_has_one_connection_at_a_time_and_a_new_one_takes_the_place_of_time_wait() {
    let mut network = listening();
    let [client, server] = network.pair();
    let now = network.now;
    let again = network.host(1).connect(now, address(2), config());
    assert_eq!(again, Err(ConnectError::Exists));
    // The server closes first, so the next SYN finds it in TIME-WAIT.
    network.release(2, server);
    network.run(Span::from_millis(50));
    network.release(1, client);
    network.run(Span::from_millis(50));
    assert_eq!((network.host(1).len(), network.host(2).len()), (0, 1));
    let [client, server] = network.pair();
    let data = pattern(10_000);
    assert!(network.transfer((1, client), (2, server), &data) == data);
    assert_eq!(network.host(2).len(), 1);
}

#[test]
fn no_answer_is_a_timeout_after_the_last_try() {
    let mut network = Network::new(2);
    network.passes = Box::new(|_| false);
    let client = network.connect(1, 2);
    network.run(Span::from_secs(300));
    assert_eq!(network.host(1).error(client), Some(Error::TimedOut));
}

#[test]
fn stop_listening_resets_connections_that_wait_and_keeps_the_others() {
    let mut network = listening();
    let [client, server] = network.pair();
    let now = network.now;
    let waits = network.host(3).connect(now, address(2), config()).expect("new");
    network.run(Span::from_millis(100));
    network.host(2).stop_listening();
    network.run(Span::from_millis(100));
    assert_eq!(network.host(3).error(waits), Some(Error::Reset));
    let data = pattern(10_000);
    assert!(network.transfer((1, client), (2, server), &data) == data);
    network.host(2).listen(config(), 1).expect("free again");
}

#[test]
fn an_endpoint_begins_no_connection_beyond_its_limit() {
    let mut network = Network::with_limits(4, Limits { connections: 2, ..Limits::default() });
    let _ = [network.connect(1, 2), network.connect(1, 3)];
    let now = network.now;
    let third = network.host(1).connect(now, address(4), config());
    assert_eq!(third, Err(ConnectError::TooMany));
}

/// The endpoint reuses the slot of a connection, but not its id.
#[test]
fn the_id_of_a_removed_connection_is_not_reused() {
    let mut network = listening();
    let [client, server] = network.pair();
    network.host(1).stream_mut(client).expect("there").connection_mut().abort();
    network.release(1, client);
    network.release(2, server);
    network.run(Span::from_millis(50));
    let next = network.connect(1, 2);
    assert_ne!(next, client);
    assert!(network.host(1).stream(client).is_none());
    assert!(network.host(1).stream(next).is_some());
}

#[test]
fn connections_with_data_take_turns() {
    let mut network = listening();
    network.host(3).listen(config(), 1).expect("free");
    let clients = [network.connect(1, 2), network.connect(1, 3)];
    network.run(Span::from_millis(100));
    let now = network.now;
    for client in clients {
        let stream = network.host(1).stream_mut(client).expect("there");
        stream.write(&pattern(12_000)).expect("open");
    }
    let mut out = Vec::new();
    let peers = (0..4).filter_map(|_| network.host(1).poll_transmit(now, 1, &mut out));
    let peers = peers.map(|datagrams| datagrams.peer).collect::<Vec<_>>();
    assert_eq!(peers, [address(2), address(3), address(2), address(3)]);
}

#[test]
fn counters_count_datagrams_and_not_calls() {
    let mut network = listening();
    let [client, server] = network.pair();
    let data = pattern(100_000);
    assert!(network.transfer((1, client), (2, server), &data) == data);
    network.run(Span::from_secs(1));
    let (sent, received) = (network.host(1).counters().sent, network.host(2).counters().received);
    assert_eq!(sent, received);
}

/// A writer is woken when a third of its buffer is free, not by each ACK.
#[test]
fn writable_is_reported_when_a_third_of_the_buffer_is_free() {
    let mut network = Network::new(2);
    let small = config().with(|c| c.buffers.send = 90_000);
    network.host(2).listen(small.clone(), 1).expect("free");
    let now = network.now;
    let client = network.host(1).connect(now, address(2), small).expect("new");
    network.run(Span::from_millis(100));
    let stream = network.host(1).stream_mut(client).expect("there");
    assert_eq!(stream.write(&pattern(200_000)), Ok(90_000));
    network.events.clear();
    let writable = (address(1), client, Event::Writable);
    for _ in 0..100 {
        network.run(Span::from_millis(1));
        let room = network.host(1).stream(client).expect("there").connection().writable();
        assert_eq!(network.events.contains(&writable), room >= 30_000, "{room}");
        if room >= 30_000 {
            return;
        }
    }
    panic!("no room after 100 ms");
}

#[test]
fn a_released_connection_delivers_until_its_end_is_acknowledged() {
    let mut network = listening();
    let [client, server] = network.pair();
    assert!(!network.host(1).is_delivering(), "it is in use");
    network.host(1).stream_mut(client).expect("there").write(&pattern(50_000)).expect("open");
    network.release(1, client);
    assert!(network.host(1).is_delivering());
    network.run(Span::from_millis(500));
    assert_eq!(network.read(2, server).expect("bytes").len(), 50_000);
    assert!(!network.host(1).is_delivering(), "all has arrived");
    assert!(!network.host(1).is_in_time_wait(), "the other way is open");
    network.release(2, server);
    network.run(Span::from_millis(100));
    assert!(network.host(1).is_in_time_wait());
    network.host(1).forget_released();
    assert!(network.host(1).is_empty());
}

#[test]
fn an_opening_without_data_does_not_count_as_delivery() {
    let mut network = Network::new(2);
    network.passes = Box::new(|_| false);
    let client = network.connect(1, 2);
    network.release(1, client);
    assert!(!network.host(1).is_delivering());
}

#[test]
fn the_datagrams_of_one_call_fit_into_one_udp_message() {
    let mut network = listening();
    let [client, server] = network.pair();
    let data = pattern(1_000_000);
    assert!(network.transfer((1, client), (2, server), &data) == data);
    let now = network.now;
    let stream = network.host(1).stream_mut(client).expect("there");
    stream.write(&data).expect("open");
    let mut out = Vec::new();
    let datagrams = network.host(1).poll_transmit(now, 64, &mut out).expect("data");
    assert!((60_000..=65_000).contains(&datagrams.len), "{datagrams:?}");
}
