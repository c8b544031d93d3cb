//! A program that depends on `windlass-tou` alone can name every type of its API. Nothing here is
//! imported from the other crates of Windlass.

use std::net::SocketAddr;
use std::sync::Arc;
use windlass_tou::endpoint::{self, Connection, Datagrams, Ecn, Endpoint, Event, Limits, Stream};
use windlass_tou::wire::{self, Flags, Segment};
use windlass_tou::{
    ControllerFactory, EcnEcho, Info, KeepAlive, Options, Profile, Span, State, Stats, Time, cc,
    config,
};

#[test]
fn options_can_be_written_out() {
    let congestion: Arc<dyn ControllerFactory> = Arc::new(cc::NewReno);
    let keep_alive =
        KeepAlive { idle: Span::from_secs(60), interval: Span::from_secs(10), probes: 3 };
    let options = Options {
        congestion,
        profile: Profile::Linux,
        ecn_echo: EcnEcho::OncePerCe,
        keep_alive: Some(keep_alive),
        limits: Limits::default(),
        ..Options::default()
    };
    assert_eq!(options.congestion.name(), "newreno");
    let _: Option<config::AckPolicy> = None;
}

#[test]
fn states_and_counters_can_be_named() {
    let bytes_lost = |info: &Info| -> u64 {
        let stats: &Stats = &info.stats;
        if info.state == State::Established { stats.retransmitted_segments } else { 0 }
    };
    let _: &dyn Fn(&Info) -> u64 = &bytes_lost;
}

/// Two endpoints in virtual time, from the handshake to the first bytes.
#[test]
fn endpoints_can_be_driven() {
    let addresses: [SocketAddr; 2] =
        ["192.0.2.1:1", "192.0.2.2:2"].map(|address| address.parse().expect("an address"));
    let config =
        || -> endpoint::Config { Profile::Linux.config(1400, Arc::new(cc::Cubic::default())) };
    let mut ends: [Endpoint; 2] = [1, 2].map(|key| Endpoint::new(Limits::default(), [key; 16]));
    ends[1].listen(config(), 1).expect("does not listen yet");
    let mut now = Time::ZERO + Span::from_secs(1);
    let client = ends[0].connect(now, addresses[1], config()).expect("below the limits");
    let stream: &mut Stream = ends[0].stream_mut(client).expect("there");
    stream.write(b"hello").expect("open");
    let mut out = Vec::new();
    for _ in 0..10 {
        now += Span::from_millis(10);
        for (from, to) in [(0, 1), (1, 0)] {
            while let Some(Datagrams { ecn, size, len, .. }) =
                ends[from].poll_transmit(now, 1, &mut out)
            {
                assert_eq!(ecn, Ecn::NotEct);
                let peer = addresses[from];
                ends[to].handle_datagrams(now, peer, ecn, &out[..len], size);
            }
        }
    }
    assert_eq!(ends[0].poll_event(), Some((client, Event::Connected)));
    let server = ends[1].accept().expect("complete");
    let connection: &Connection = ends[1].stream(server).expect("there").connection();
    assert_eq!((connection.state(), connection.readable()), (State::Established, 5));
    assert_eq!(ends[0].error(client), None::<endpoint::Error>);
}

#[test]
fn headers_can_be_read_and_written() {
    let segment = Segment {
        seq: wire::SeqNumber(1),
        flags: Flags::ACK,
        options: wire::Options {
            timestamps: Some(wire::Timestamps { value: 1, echo_reply: 2 }),
            ..wire::Options::default()
        },
        ..Segment::default()
    };
    let mut bytes = [0; wire::MAX_HEADER_LEN];
    let len = wire::emit(&segment, &mut bytes);
    assert_eq!(wire::parse(&bytes[..len]), Ok((segment, len)));
    let truncated = wire::ParseError::Header(wire::WireError::Truncated);
    assert_eq!(wire::parse(&bytes[..len - 1]), Err(truncated));
}
