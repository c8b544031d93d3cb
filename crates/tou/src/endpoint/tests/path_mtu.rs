//! Path MTU discovery on paths that drop large datagrams silently (RFC 8899).

use super::network::{Network, address, config, pattern};
use crate::endpoint::ConnectionId;
use std::cell::Cell;
use std::rc::Rc;
use windlass_base::Span;
use windlass_tcp::{Config, Error, State};

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

/// Sends `data` from the client to the server for at most `seconds`. Returns the bytes that arrived.
fn arrived_within(
    network: &mut Network,
    [client, server]: [ConnectionId; 2],
    data: &[u8],
    seconds: u64,
) -> usize {
    let (mut written, mut arrived) = (0, 0);
    for _ in 0..10 * seconds {
        if let Some(stream) = network.host(1).stream_mut(client) {
            written += stream.write(&data[written..]).unwrap_or(0);
        }
        network.run(Span::from_millis(100));
        arrived += network.read(2, server).map_or(0, |bytes| bytes.len());
    }
    arrived
}

/// RFC 8899 §5.2: in the state "error" the search begins at the least size, here below that of the
/// base. The bytes are those of UDP's payload over IPv4.
#[test]
fn paths_smaller_than_the_first_segments_carry_data() {
    let data = pattern(100_000);
    for packet in [1227, 1000, 577, 576, 575, 300, 296] {
        let (mut network, ends, limit) = connected(&config());
        limit.set(packet - 28);
        assert_eq!(arrived_within(&mut network, ends, &data, 20), data.len(), "{packet}");
        let found = mss(&mut network, ends[0]) as usize + 56;
        assert!(found <= packet && found + 17 > packet, "{packet}: {found}");
    }
}

#[test]
fn a_path_that_shrinks_below_the_first_segments_goes_on() {
    let data = pattern(300_000);
    for packet in [1000, 576, 300] {
        let (mut network, ends, limit) = connected(&config());
        send(&mut network, ends, 100_000);
        limit.set(packet - 28);
        assert_eq!(arrived_within(&mut network, ends, &data, 60), data.len(), "{packet}");
    }
}

#[test]
fn a_path_below_the_least_size_ends_the_connection_with_its_reason() {
    let data = pattern(20_000);
    for packet in [295, 128] {
        let (mut network, ends, limit) = connected(&config());
        limit.set(packet - 28);
        let arrived = arrived_within(&mut network, ends, &data, 30);
        assert!(arrived < 1000, "{arrived}");
        let host = network.host(1);
        assert_eq!(host.error(ends[0]), Some(Error::Unreachable), "{packet}");
        assert_eq!(host.packet_too_large(ends[0]), Some(296));
    }
}

/// A path that carries nothing for a while must not be taken for a small one.
#[test]
fn a_blackout_is_no_small_path() {
    let data = pattern(2_000_000);
    let (mut network, ends, limit) = connected(&config());
    for pause in [5, 20, 60] {
        send(&mut network, ends, 100_000);
        limit.set(0);
        assert!(arrived_within(&mut network, ends, &data[..50_000], pause) < 50_000);
        limit.set(1472);
        network.run(Span::from_secs(130));
        while network.read(2, ends[1]).is_ok_and(|bytes| !bytes.is_empty()) {}
        send(&mut network, ends, 100_000);
        assert_eq!(mss(&mut network, ends[0]), 1444, "after {pause} s");
    }
}

#[test]
fn sessions_need_packets_of_576_bytes() {
    let data = pattern(50_000);
    for (packet, works) in [(1000, true), (576, true), (560, false)] {
        let mut network = Network::new(2);
        network.open_session(7);
        network.host(2).listen(config(), 1).expect("free");
        // The packet's header and, where a relay is used, that of ChannelData.
        network.passes = Box::new(move |sent| sent.bytes.len() + 32 <= packet);
        let client = network.connect_in_session(1, 7, 1);
        network.run(Span::from_millis(100));
        let server = network.host(2).accept().expect("complete");
        let arrived = arrived_within(&mut network, [client, server], &data, 30);
        let error = network.host(1).packet_too_large(client);
        match works {
            true => assert_eq!((arrived, error), (data.len(), None), "{packet}"),
            false => assert_eq!(error, Some(576), "{packet}"),
        }
    }
}

/// RFC 8899 §4.6: what routers report is used, if it quotes a segment under way.
#[test]
fn a_routers_report_shrinks_segments_at_once_and_a_forged_one_never() {
    let data = pattern(200_000);
    for (forged, wait_ms) in [(false, 150), (true, 400)] {
        let (mut network, ends, limit) = connected(&config());
        send(&mut network, ends, 100_000);
        limit.set(972);
        let lost = Rc::new(Cell::new(None));
        let (takes, seen) = (Rc::clone(&limit), Rc::clone(&lost));
        network.passes = Box::new(move |packet| {
            let passes = packet.bytes.len() <= takes.get();
            if !passes {
                seen.set(Some(packet.segment()));
            }
            passes
        });
        assert!(
            network.host(1).stream_mut(ends[0]).expect("there").write(&data).expect("open") > 0
        );
        network.run(Span::from_millis(1));
        let mut quoted = lost.take().expect("too large");
        if forged {
            quoted.seq.0 = quoted.seq.0.wrapping_add(1 << 30);
        }
        let mut bytes = [0; windlass_tou_wire::MAX_HEADER_LEN];
        let len = windlass_tou_wire::emit(&quoted, &mut bytes);
        let now = network.now;
        network.host(1).handle_too_big(now, address(2), 1000, &bytes[..len]);
        let before = mss(&mut network, ends[0]);
        assert_eq!(before, if forged { 1444 } else { 944 });
        network.run(Span::from_millis(wait_ms));
        let arrived = network.read(2, ends[1]).map_or(0, |bytes| bytes.len());
        assert_eq!(arrived > 0, !forged, "{arrived}");
    }
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
