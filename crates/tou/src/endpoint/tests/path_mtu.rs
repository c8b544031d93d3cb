//! Path MTU discovery on paths that drop large datagrams silently (RFC 8899).

use super::network::{Network, address, config, pattern};
use crate::endpoint::ConnectionId;
use std::cell::Cell;
use std::rc::Rc;
use windlass_base::Span;
use windlass_tcp::{Config, State};

/// Two connected hosts, and the largest UDP payload that passes the path.
fn connected(with: &Config) -> (Network, [ConnectionId; 2], Rc<Cell<usize>>) {
    let mut network = Network::new(2);
    network.host(2).listen(with.clone(), 1).expect("free");
    let takes = Rc::new(Cell::new(1472));
    let limit = Rc::clone(&takes);
    network.passes = Box::new(move |packet| packet.bytes.len() <= limit.get());
    let now = network.now;
    let client = network.host(1).connect(now, address(2), with.clone()).expect("new");
    network.run(Span::from_millis(100));
    let server = network.host(2).accept().expect("complete");
    (network, [client, server], takes)
}

fn send(network: &mut Network, [client, server]: [ConnectionId; 2], len: usize) {
    let data = pattern(len);
    assert!(network.transfer((1, client), (2, server), &data) == data);
}

/// Sends data for a minute. The sender detects a lost probe after a retransmission timeout.
fn send_for_a_minute(network: &mut Network, ends: [ConnectionId; 2]) {
    for _ in 0..240 {
        send(network, ends, 20_000);
        network.run(Span::from_millis(250));
    }
}

fn mss(network: &mut Network, client: ConnectionId) -> u32 {
    network.host(1).stream(client).expect("there").connection().mss()
}

#[test]
fn one_probe_finds_the_size_of_ethernet() {
    let (mut network, ends, _) = connected(&config());
    // 1200 less 16 bytes of header and 12 of timestamps.
    assert_eq!(mss(&mut network, ends[0]), 1172);
    send(&mut network, ends, 100_000);
    assert_eq!(mss(&mut network, ends[0]), 1444);
    let received = network.host(2).stream(ends[1]).expect("there").connection().stats();
    assert_eq!(received.duplicates_received, 1, "one probe");
}

#[test]
fn a_probe_that_was_lost_twice_is_sent_a_third_time() {
    let (mut network, ends, _) = connected(&config());
    let mut lost = 0;
    network.passes = Box::new(move |packet| {
        let is_lost = packet.bytes.len() == 1472 && lost < 2;
        lost += u32::from(is_lost);
        !is_lost
    });
    for _ in 0..8 {
        send(&mut network, ends, 20_000);
        network.run(Span::from_millis(250));
    }
    assert_eq!(mss(&mut network, ends[0]), 1444);
    let received = network.host(2).stream(ends[1]).expect("there").connection().stats();
    assert_eq!(received.duplicates_received, 1, "one probe arrived, of the full size");
}

#[test]
fn a_smaller_path_is_found_to_a_few_bytes_without_a_window_reduction() {
    for takes in [1201, 1280, 1400, 1471] {
        let (mut network, ends, limit) = connected(&config());
        limit.set(takes);
        send_for_a_minute(&mut network, ends);
        let found = mss(&mut network, ends[0]) + 28;
        assert!(found as usize <= takes && found as usize + 17 > takes, "{takes}: {found}");
        let stats = *network.host(1).stream(ends[0]).expect("there").connection().stats();
        assert_eq!((stats.timeouts, stats.fast_retransmits), (0, 0), "{takes}");
    }
}

#[test]
fn a_path_that_shrinks_is_detected_after_two_timeouts() {
    let (mut network, ends, limit) = connected(&config());
    send(&mut network, ends, 100_000);
    assert_eq!(mss(&mut network, ends[0]), 1444);
    limit.set(1300);
    send_for_a_minute(&mut network, ends);
    let found = mss(&mut network, ends[0]) + 28;
    assert!((1284..=1300).contains(&found), "{found}");
    let stats = *network.host(1).stream(ends[0]).expect("there").connection().stats();
    assert!(stats.timeouts <= 4, "{stats:?}");
}

#[test]
fn a_path_that_grows_is_found_after_a_while() {
    let (mut network, ends, limit) = connected(&config());
    limit.set(1300);
    send_for_a_minute(&mut network, ends);
    limit.set(1472);
    network.run(Span::from_secs(601));
    send(&mut network, ends, 100_000);
    assert_eq!(mss(&mut network, ends[0]), 1444);
}

#[test]
fn without_sack_segments_stay_small() {
    let (mut network, ends, _) = connected(&config().with(|c| c.extensions.sack = false));
    send(&mut network, ends, 100_000);
    assert_eq!(mss(&mut network, ends[0]), 1172);
}

#[test]
fn without_probes_segments_have_the_configured_size_at_once() {
    let mut network = Network::new(2);
    for host in [1, 2] {
        network.host(host).probe_paths(false);
    }
    network.host(2).listen(config(), 1).expect("free");
    let now = network.now;
    let client = network.host(1).connect(now, address(2), config()).expect("new");
    network.run(Span::from_millis(100));
    let server = network.host(2).accept().expect("complete");
    assert_eq!(mss(&mut network, client), 1444);
    send(&mut network, [client, server], 100_000);
    let received = network.host(2).stream(server).expect("there").connection().stats();
    assert_eq!(received.duplicates_received, 0, "no probe");
}

#[test]
fn half_closed_ends_detect_a_path_that_shrinks() {
    for peer_closes in [true, false] {
        let (mut network, [client, server], limit) = connected(&config());
        send(&mut network, [client, server], 100_000);
        assert_eq!(mss(&mut network, client), 1444);
        let now = network.now;
        if peer_closes {
            network.host(2).stream_mut(server).expect("there").connection_mut().close(now);
            network.run(Span::from_millis(100));
        }
        limit.set(1300);
        let data = pattern(50_000);
        let stream = network.host(1).stream_mut(client).expect("there");
        assert_eq!(stream.write(&data).expect("open"), data.len());
        stream.connection_mut().close(now);
        let mut arrived = Vec::new();
        for _ in 0..200 {
            network.run(Span::from_millis(100));
            arrived.extend(network.read(2, server).unwrap_or_default());
        }
        assert!(arrived == data, "the peer closes: {peer_closes}; {} came", arrived.len());
    }
}

#[test]
fn segments_grow_on_a_connection_with_data_left_after_close() {
    let (mut network, [client, server], _) = connected(&config());
    let data = pattern(100_000);
    let now = network.now;
    let stream = network.host(1).stream_mut(client).expect("there");
    assert_eq!(stream.write(&data).expect("open"), data.len());
    stream.connection_mut().close(now);
    let mut arrived = Vec::new();
    for _ in 0..20 {
        network.run(Span::from_millis(50));
        arrived.extend(network.read(2, server).unwrap_or_default());
    }
    assert!(arrived == data);
    assert_eq!(mss(&mut network, client), 1444);
}

#[test]
fn the_path_to_a_peer_that_closed_with_its_first_ack_is_probed() {
    let mut network = Network::new(2);
    network.host(2).listen(config(), 1).expect("free");
    let takes = Rc::new(Cell::new(1472));
    let limit = Rc::clone(&takes);
    network.passes = Box::new(move |packet| packet.bytes.len() <= limit.get());
    let now = network.now;
    let client = network.host(1).connect(now, address(2), config()).expect("new");
    network.host(1).stream_mut(client).expect("there").connection_mut().close(now);
    network.run(Span::from_millis(100));
    let server = network.host(2).accept().expect("complete");
    let state = network.host(2).stream(server).expect("there").connection().state();
    assert_eq!(state, State::CloseWait, "the ACK had the FIN");
    let data = pattern(100_000);
    let (there, back) = data.split_at(50_000);
    let mut arrived = Vec::new();
    for (half, passes) in [(there, 1472), (back, 1300)] {
        takes.set(passes);
        let stream = network.host(2).stream_mut(server).expect("there");
        assert_eq!(stream.write(half).expect("open"), half.len());
        for _ in 0..200 {
            network.run(Span::from_millis(100));
            arrived.extend(network.read(1, client).unwrap_or_default());
        }
    }
    assert!(arrived == data, "{} came", arrived.len());
}
