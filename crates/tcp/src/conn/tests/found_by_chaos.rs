//! Faults that `windlass-chaos` found. Each test reproduces the situation of one seed.

use super::compared::Compared;
use super::{Pair, config};
use crate::config::{AckPolicy, EcnEcho, KeepAlive};
use crate::conn::{Established, Run, State};
use crate::{
    Config, Connection, Ecn, Flags, Options, Profile, Segment, SeqNumber, Span, Time, Timestamps,
};

const OWN: SeqNumber = SeqNumber(1000);
const PEER: SeqNumber = SeqNumber(7000);
const MSS: u64 = 1000;

/// A connection at time 1 s, whose peer announces a window of `window` bytes.
fn established(config: Config, window: u64) -> (Compared, Time) {
    let now = Time::ZERO + Span::from_secs(1);
    let agreed =
        Established { local_isn: OWN, remote_isn: PEER, peer_mss: 1000, peer_window: window };
    (Compared::new(|| Connection::established(config.clone(), now, agreed)), now)
}

/// Options without timestamps, SACK and scaling, with an initial window of six segments.
fn plain() -> Config {
    config(Profile::Rfc2581, "reno").with(|c| {
        c.extensions.window_scaling = false;
        c.window.initial = 6;
        c.sending.nagle = false;
    })
}

/// An ACK of `acked` bytes with a window of `window`, at position `at` of the peer's stream.
fn ack(at: u64, acked: u64, window: u16) -> Segment {
    Segment {
        seq: PEER.at(at),
        ack: OWN.at(1 + acked),
        flags: Flags::ACK,
        window,
        ..Segment::default()
    }
}

fn drain(connection: &mut Compared, now: Time) -> alloc::vec::Vec<Run> {
    core::iter::from_fn(|| connection.poll_transmit(now, 1, &mut ())).collect()
}

fn arrive(connection: &mut Compared, now: Time, segment: Segment) -> alloc::vec::Vec<Run> {
    connection.handle_segment(now, &segment, Ecn::NotEct, &mut ());
    drain(connection, now)
}

/// The next timer expires.
fn expire(connection: &mut Compared) -> (Time, alloc::vec::Vec<Run>) {
    let now = connection.poll_timeout().expect("a timer runs");
    connection.handle_timeout(now, &mut ());
    (now, drain(connection, now))
}

#[test]
fn the_first_timestamp_is_not_old_whatever_the_clock_says() {
    let late = Time::ZERO + Span::from_millis((1 << 31) + 5);
    let agreed =
        Established { local_isn: OWN, remote_isn: PEER, peer_mss: 1000, peer_window: 5000 };
    let config = plain().with(|c| c.extensions.timestamps = true);
    let mut connection = Compared::new(|| Connection::established(config.clone(), late, agreed));
    let timestamps = Some(Timestamps { value: (1 << 31) + 4, echo_reply: 0 });
    let options = Options { timestamps, ..Options::default() };
    arrive(&mut connection, late, Segment { options, payload_len: 10, ..ack(1, 0, 5000) });
    assert_eq!(connection.bytes_received(), 10);
}

#[test]
fn keep_alive_does_not_end_a_handshake() {
    let keep_alive =
        KeepAlive { idle: Span::from_millis(10), interval: Span::from_millis(10), probes: 2 };
    let now = Time::ZERO + Span::from_secs(1);
    let config = plain().with(|c| c.timers.keep_alive = Some(keep_alive));
    let mut server = Compared::new(|| Connection::listen(config.clone(), OWN));
    let syn = Segment { seq: PEER, flags: Flags::SYN, window: 5000, ..Segment::default() };
    arrive(&mut server, now, syn);
    for _ in 0..4 {
        expire(&mut server);
    }
    assert_eq!(server.state(), State::SynReceived);
    assert!(server.stats().timeouts > 0, "its SYN-ACK goes out again");
}

/// RFC 9293 §3.8.4: keep-alive is for connections with nothing in flight.
#[test]
fn keep_alive_leaves_data_in_flight_to_the_retransmission_timer() {
    let keep_alive =
        KeepAlive { idle: Span::from_millis(10), interval: Span::from_millis(10), probes: 2 };
    let (mut connection, now) =
        established(plain().with(|c| c.timers.keep_alive = Some(keep_alive)), 5000);
    connection.write(10).expect("room");
    drain(&mut connection, now);
    for _ in 0..20 {
        expire(&mut connection);
    }
    assert_eq!(connection.state(), State::Established);
}

#[test]
fn an_old_segment_that_acknowledges_more_brings_its_window_along() {
    let (mut connection, now) = established(plain(), 2 * MSS);
    connection.write(5 * MSS).expect("room");
    drain(&mut connection, now);
    let data = Segment { payload_len: 500, ..ack(1, 0, 2000) };
    arrive(&mut connection, now, data);
    arrive(&mut connection, now, Segment { seq: PEER.at(501), ..ack(501, MSS, 1000) });
    // The peer retransmits from position 401, because this end's ACK was lost.
    let again = Segment { payload_len: 200, ..ack(401, 2 * MSS, 2000) };
    arrive(&mut connection, now, again);
    assert_eq!(connection.peer_window_edge(), 4 * MSS);
}

#[test]
fn a_reordered_ack_does_not_take_the_window_back() {
    let (mut connection, now) = established(plain(), 2 * MSS);
    connection.write(2 * MSS).expect("room");
    drain(&mut connection, now);
    arrive(&mut connection, now, ack(1, MSS, 4000));
    arrive(&mut connection, now, ack(1, MSS, 1000));
    assert_eq!(connection.peer_window_edge(), 5 * MSS);
}

/// A timeout takes SND.NXT back. The peer would treat an ACK at that position as an old segment,
/// and two ends in this state would answer each other for ever.
#[test]
fn an_ack_after_a_timeout_lies_after_all_data_sent() {
    let (mut connection, now) = established(plain(), 9 * MSS);
    connection.write(3 * MSS).expect("room");
    drain(&mut connection, now);
    let (now, resent) = expire(&mut connection);
    assert_eq!(resent[0].stream_offset, 0);
    // The segment lies beyond a gap, so it is acknowledged at once, by a pure ACK.
    let sent = arrive(&mut connection, now, Segment { payload_len: 9, ..ack(5, 0, 9000) });
    assert_eq!(sent[0].first.seq, OWN.at(1 + 3 * MSS));
}

#[test]
fn a_reset_after_a_timeout_lies_after_all_data_sent() {
    let (mut connection, now) = established(plain(), 9 * MSS);
    connection.write(3 * MSS).expect("room");
    drain(&mut connection, now);
    let (now, _) = expire(&mut connection);
    connection.abort();
    let sent = drain(&mut connection, now);
    assert_eq!(sent[0].first.seq, OWN.at(1 + 3 * MSS));
}

/// Both ends send a window probe, both take the other's, and both answers are lost. The next
/// segment of each then lies one number below RCV.NXT of the other.
#[test]
fn two_ends_that_probe_each_other_take_each_others_acks() {
    let (mut connection, now) = established(plain(), MSS);
    arrive(&mut connection, now, Segment { payload_len: 1, ..ack(1, 0, 1000) });
    connection.write(MSS).expect("room");
    drain(&mut connection, now);
    arrive(&mut connection, now, ack(1, MSS, 1000));
    assert_eq!(connection.bytes_acked(), MSS);
}

/// The SYN-ACK of a simultaneous open lies below the window (RFC 9293 §3.5, figure 7).
#[test]
fn the_syn_ack_of_a_simultaneous_open_completes_it() {
    let now = Time::ZERO + Span::from_secs(1);
    let mut connection = Compared::new(|| Connection::connect(plain(), now, OWN));
    drain(&mut connection, now);
    let syn = Segment { seq: PEER, flags: Flags::SYN, window: 5000, ..Segment::default() };
    arrive(&mut connection, now, syn);
    assert_eq!(connection.state(), State::SynReceived);
    let syn_ack = Segment { flags: Flags::SYN | Flags::ACK, ack: OWN.at(1), ..syn };
    arrive(&mut connection, now, syn_ack);
    assert_eq!(connection.state(), State::Established);
    assert_eq!(connection.peer_window_edge(), 5000);
}

/// The sender's avoidance of silly windows applies to new data only. Applied to a lost segment, it
/// made the sender retransmit one byte per expiry of the persist timer.
#[test]
fn a_retransmission_is_not_held_back_for_a_larger_window() {
    let (mut connection, now) = established(plain(), 5 * MSS);
    connection.write(4900).expect("room");
    drain(&mut connection, now);
    arrive(&mut connection, now, ack(1, 4100, 900));
    connection.write(2000).expect("room");
    assert!(drain(&mut connection, now).is_empty(), "the window takes no full segment");
    let (_, sent) = expire(&mut connection);
    assert_eq!((sent[0].stream_offset, sent[0].first.payload_len), (4100, 900));
}

/// The override timeout of RFC 9293 §3.8.6.2.1.
#[test]
fn data_that_waits_for_a_larger_window_is_sent_in_the_end() {
    let (mut connection, now) = established(plain(), 5 * MSS);
    connection.write(4900).expect("room");
    drain(&mut connection, now);
    arrive(&mut connection, now, ack(1, 4900, 100));
    connection.write(2000).expect("room");
    assert!(drain(&mut connection, now).is_empty(), "the window takes no full segment");
    let (_, sent) = expire(&mut connection);
    assert_eq!((sent[0].stream_offset, sent[0].first.payload_len), (4900, 100));
}

/// The peer sends one byte at a time into a scaled window, and the application reads none. The
/// right edge stays at the end of the buffer.
#[test]
fn a_scaled_window_does_not_run_away_from_its_buffer() {
    let buffer = 100_000;
    let scaled = plain().with(|c| {
        c.buffers.receive = buffer;
        c.extensions.window_scaling = true;
        c.acks.policy = AckPolicy::Immediate;
    });
    let mut pair = Pair::new(scaled.clone(), scaled);
    for _ in 0..3000 {
        pair.a.connection.write(1).expect("open");
        pair.run_for(Span::from_millis(1));
    }
    pair.run_for(Span::from_secs(5));
    assert_eq!(pair.b.connection.readable(), 3000);
    assert!(pair.a.connection.peer_window_edge() <= buffer);
}

/// If a run of segments carried the echo of a mark, each segment echoed it; if a window probe or a
/// keep-alive probe carried it, none did.
#[test]
fn one_mark_has_one_echo_even_on_a_run_of_segments() {
    let config = plain().with(|c| {
        c.ecn.enabled = true;
        c.ecn.echo = EcnEcho::OncePerCe;
    });
    let (mut connection, now) = established(config, 9 * MSS);
    let marked = Segment { payload_len: 100, ..ack(1, 0, 9000) };
    connection.handle_segment(now, &marked, Ecn::Ce, &mut ());
    connection.write(5 * MSS).expect("room");
    let runs = core::iter::from_fn(|| connection.poll_transmit(now, 64, &mut ()));
    let segments: alloc::vec::Vec<Segment> =
        runs.flat_map(|run| run.segments().collect::<alloc::vec::Vec<_>>()).collect();
    assert_eq!(segments.len(), 5);
    let echoes = segments.iter().filter(|segment| segment.flags.contains(Flags::ECE));
    assert_eq!(echoes.count(), 1);
}

#[test]
fn a_probe_carries_the_echo() {
    let (mut connection, now) = established(plain().with(|c| c.ecn.enabled = true), MSS);
    connection.write(2 * MSS).expect("room");
    drain(&mut connection, now);
    arrive(&mut connection, now, ack(1, MSS, 0));
    let marked = Segment { payload_len: 100, ..ack(1, MSS, 0) };
    connection.handle_segment(now, &marked, Ecn::Ce, &mut ());
    connection.handle_timeout(now + Span::from_secs(100), &mut ());
    let sent = drain(&mut connection, now + Span::from_secs(100));
    assert!(sent.iter().any(|run| run.first.payload_len == 1), "a probe");
    assert!(sent.iter().all(|run| run.first.flags.contains(Flags::ECE)));
}

/// The peer's pure ACKs are lost, and its retransmissions arrive: their ACK numbers count.
#[test]
fn the_ack_of_a_retransmitted_segment_is_taken() {
    let (mut connection, now) = established(plain(), 5 * MSS);
    connection.write(MSS).expect("room");
    drain(&mut connection, now);
    arrive(&mut connection, now, Segment { payload_len: 100, ..ack(1, 0, 5000) });
    arrive(&mut connection, now, Segment { payload_len: 100, ..ack(1, MSS, 4000) });
    assert_eq!(connection.bytes_acked(), MSS);
}

#[test]
fn keep_alive_probes_are_no_duplicate_acks() {
    let (mut connection, now) = established(plain(), 5 * MSS);
    connection.write(MSS).expect("room");
    drain(&mut connection, now);
    for _ in 0..5 {
        let sent = arrive(&mut connection, now, ack(0, 0, 5000));
        assert!(sent.iter().all(|run| run.first.payload_len == 0), "{sent:?}");
    }
    assert_eq!(connection.stats().fast_retransmits, 0);
}
