//! ACKs of datagrams that arrive together, and the growth that they allow.

use super::network::{Network, address, pattern};
use crate::Options;
use crate::endpoint::ConnectionId;
use std::cell::RefCell;
use std::rc::Rc;
use windlass_base::{Ecn, Span};
use windlass_tcp::{Config, Profile, Segment};
use windlass_tou_wire as wire;

const ROUND_TRIP: Span = Span::from_millis(20);
/// The profiles whose receivers acknowledge at least every second full segment.
const BY_RFC: [Profile; 3] = [Profile::Rfc2581, Profile::Rfc3465, Profile::Rfc5681];

fn config_of(profile: Profile) -> Config {
    let congestion = crate::congestion("reno").expect("known");
    Options { profile, congestion, pacing: false, ..Options::default() }.listening_config()
}

/// A connection from host 1 to host 2 with these options at both ends.
fn pair(config: &Config) -> (Network, ConnectionId, ConnectionId) {
    let mut network = Network::new(2);
    for host in [1, 2] {
        network.host(host).probe_paths(false);
    }
    network.host(2).listen(config.clone(), 1).expect("free");
    let now = network.now;
    let client = network.host(1).connect(now, address(2), config.clone()).expect("new");
    network.run(Span::from_millis(100));
    let server = network.host(2).accept().expect("complete");
    (network, client, server)
}

/// Sends data for some round trips. All segments of a flight arrive together. Returns the number of
/// segments of each flight.
fn flights(config: &Config, round_trips: usize) -> Vec<u64> {
    let (mut network, client, server) = pair(config);
    let data = pattern(3_000_000);
    let mut sent = 0;
    (0..round_trips)
        .map(|_| {
            let stream = network.host(1).stream_mut(client).expect("there");
            stream.write(&data).expect("open");
            network.run(ROUND_TRIP);
            network.read(2, server).expect("open");
            let stream = network.host(1).stream(client).expect("there");
            let before =
                std::mem::replace(&mut sent, stream.connection().stats().data_segments_sent);
            sent - before
        })
        .collect()
}

/// Delivers the first `segments` full segments of a connection in one call, but for number `lost`.
/// Returns the numbers that host 2 acknowledges at once, in segments.
fn acks_of_a_batch(profile: Profile, segments: u32, lost: Option<u32>) -> Vec<u32> {
    let (mut network, client, _) = pair(&config_of(profile));
    let first: Rc<RefCell<Option<Segment>>> = Rc::default();
    let kept = Rc::clone(&first);
    network.passes = Box::new(move |packet| {
        kept.borrow_mut().get_or_insert(packet.segment());
        false
    });
    let stream = network.host(1).stream_mut(client).expect("there");
    let mss = stream.connection().mss();
    stream.write(&pattern(mss as usize)).expect("open");
    network.run(Span::from_millis(1));
    let first = first.take().expect("sent");
    let mut batch = Vec::new();
    for number in (0..segments).filter(|number| Some(*number) != lost) {
        let segment = Segment { seq: first.seq.at(u64::from(number * mss)), ..first };
        let mut datagram = vec![0; wire::MAX_SESSION_HEADER_LEN];
        let len = wire::emit_to(&address(2), &segment, &mut datagram);
        datagram.truncate(len);
        datagram.resize(len + mss as usize, 7);
        batch.push(datagram);
    }
    let (now, host) = (network.now, network.host(2));
    host.handle_datagrams(now, address(1), Ecn::NotEct, &batch.concat(), batch[0].len());
    let (mut acks, mut out) = (Vec::new(), Vec::new());
    while let Some(datagrams) = host.poll_transmit(now, 44, &mut out) {
        let sent = out[..datagrams.len].chunks(datagrams.size);
        acks.extend(sent.map(|datagram| {
            let (ack, _) = wire::parse(datagram).expect("a segment");
            ack.ack.0.wrapping_sub(first.seq.0) / mss
        }));
    }
    acks
}

#[test]
fn rfc5681_section_4_2_every_second_full_segment_of_a_batch_has_an_ack() {
    for profile in BY_RFC {
        assert_eq!(acks_of_a_batch(profile, 8, None), [2, 4, 6, 8], "{profile:?}");
        assert_eq!(acks_of_a_batch(profile, 9, None), [2, 4, 6, 8], "{profile:?}: one waits");
    }
    assert_eq!(acks_of_a_batch(Profile::Ns2Reno, 4, None), [1, 2, 3, 4]);
}

/// RFC 5681 section 3.2: the third duplicate ACK is the signal of a loss.
#[test]
fn rfc5681_section_4_2_every_segment_of_a_batch_after_a_gap_has_a_duplicate_ack() {
    for profile in BY_RFC {
        assert_eq!(acks_of_a_batch(profile, 8, Some(3)), [2, 3, 3, 3, 3], "{profile:?}");
    }
}

/// Linux's generic receive offload leaves one ACK too.
#[test]
fn linux_acknowledges_a_batch_once() {
    assert_eq!(acks_of_a_batch(Profile::Linux, 9, None), [9]);
    assert_eq!(acks_of_a_batch(Profile::Linux, 9, Some(3)), [3]);
}

/// By half a flight in a round trip with an ACK for every second segment and a segment of growth for
/// each ACK; by a whole flight where a sender counts two segments an ACK (RFC 3465 section 2.2), or
/// all of them.
#[test]
fn slow_start_is_exponential_although_flights_arrive_together() {
    let most = |flights: Vec<u64>| flights.into_iter().max();
    for (profile, least) in [
        (Profile::Rfc2581, 25),
        (Profile::Rfc5681, 30),
        (Profile::Rfc3465, 200),
        (Profile::Ns2Reno, 100),
        (Profile::Linux, 1000),
    ] {
        let flights = flights(&config_of(profile), 8);
        assert!(most(flights.clone()) >= Some(least), "{profile:?}: {flights:?}");
    }
}

/// By a segment in two round trips with an ACK for every second segment (RFC 5681 section 3.1). The
/// second ACK of a batch finds a smaller flight, and the window limits the sender all the same.
#[test]
fn congestion_avoidance_counts_each_ack_of_a_batch() {
    let config = config_of(Profile::Rfc5681);
    let ssthresh = 10 * u64::from(config.mss);
    let config = config.with(|c| c.window.initial_ssthresh = Some(ssthresh));
    let flights = flights(&config, 40);
    assert!(flights[39] >= flights[9] + 12, "{flights:?}");
}
