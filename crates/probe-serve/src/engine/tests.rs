use super::conversation::{FIN_WAIT_2_MAX, REQUEST_BYTES_MAX, REQUEST_TIME_MAX};
use super::*;
use crate::{Answer, Marked, Outgoing, says};
use proptest::prelude::*;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use windlass_base::{Ecn, Rng, Span};
use windlass_tcp::cc::Reno;
use windlass_tcp::config::EcnEcho;
use windlass_tcp::stream::Stream;
use windlass_tcp::{Connection, Flags, Profile, Segment};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
/// A bound of the server's memory for a connection, in bytes: its receive buffer and its state.
const MEMORY_MAX: usize = 64 << 10 | 8 << 10;
const DELAY: Span = Span::from_millis(5);

type Factory = Box<dyn FnMut() -> Box<dyn Speaker>>;

fn config(profile: Profile) -> Config {
    profile.config(1460, Arc::new(Reno)).with(|c| {
        c.buffers.send = 256 << 10;
        c.buffers.receive = 64 << 10;
    })
}

/// A server, its clients, and the path between them in virtual time.
struct World {
    /// The options of both ends.
    config: Config,
    now: Time,
    server: EngineServer<Factory>,
    clients: BTreeMap<Flow, Stream>,
    loss: f64,
    /// The path marks all ECT data to the clients.
    marks: bool,
    rng: Rng,
    /// The most memory that one connection had.
    memory_max: usize,
}

impl World {
    fn new(answer: Answer) -> World {
        World::with(config(Profile::Linux), answer)
    }

    fn with(config: Config, answer: Answer) -> World {
        World {
            now: Time::ZERO,
            server: EngineServer::new(config.clone(), Box::new(says(answer))),
            config,
            clients: BTreeMap::new(),
            loss: 0.0,
            marks: false,
            rng: Rng::new(1),
            memory_max: 0,
        }
    }

    /// A client with a port of its own that has begun to connect.
    fn connect(&mut self, port: u16) -> Flow {
        let end = |ip: [u8; 4], port| SocketAddr::from((ip, port));
        let flow = Flow { local: end([10, 0, 0, 1], port), remote: end([10, 0, 0, 2], 80) };
        let isn = SeqNumber(self.rng.bits() as u32);
        let stream = Stream::new(Connection::connect(self.config.clone(), self.now, isn));
        self.clients.insert(flow, stream);
        flow
    }

    /// A client that has sent `bytes`.
    fn ask(&mut self, port: u16, bytes: &[u8]) -> Flow {
        let flow = self.connect(port);
        let client = self.client(&flow);
        assert_eq!(client.write(bytes), Ok(bytes.len()));
        flow
    }

    fn client(&mut self, flow: &Flow) -> &mut Stream {
        self.clients.get_mut(flow).expect("made by the test")
    }

    /// One step of the path in each direction.
    fn step(&mut self) {
        self.now += DELAY;
        let mut sent = Vec::new();
        for (flow, client) in &mut self.clients {
            if client.connection().poll_timeout().is_some_and(|at| at <= self.now) {
                client.connection_mut().handle_timeout(self.now, &mut ());
            }
            while let Some((run, payload)) = client.poll_transmit(self.now, 1, &mut ()) {
                sent.push(packet(flow, &run.first, run.ecn, &payload.concat()));
            }
        }
        if self.server.poll_timeout().is_some_and(|at| at <= self.now) {
            self.server.handle_timeout(self.now);
        }
        for packet in sent {
            if !self.rng.chance(self.loss) {
                self.server.handle_packet(self.now, &packet);
            }
        }
        self.deliver();
        let memory = self.server.hosts.values().map(|host| host.memory());
        self.memory_max = memory.max().unwrap_or(0).max(self.memory_max);
    }

    fn deliver(&mut self) {
        while let Some(bytes) = self.server.poll_packet(self.now) {
            let incoming = wire::parse(&bytes, Meta::default()).expect("a packet");
            let Kind::Segment(received) = incoming.kind else { panic!("damaged") };
            if !self.rng.chance(self.loss)
                && let Some(client) = self.clients.get_mut(&incoming.flow)
            {
                let (segment, payload) = (&received.segment, received.payload);
                let marked = self.marks && received.ecn != Ecn::NotEct;
                let ecn = if marked { Ecn::Ce } else { received.ecn };
                client.handle_segment(self.now, segment, payload, ecn, &mut ());
            }
        }
    }

    /// Steps until the client has everything, and closes it then.
    fn fetch(&mut self, flow: &Flow) -> Vec<u8> {
        let mut all = Vec::new();
        for _ in 0..100_000 {
            self.step();
            let client = self.client(flow);
            let mut chunk = [0; 65536];
            match client.read(&mut chunk) {
                Ok(len) => all.extend_from_slice(&chunk[..len]),
                Err(_) => {
                    let now = self.now;
                    self.client(flow).connection_mut().close(now);
                    (0..3).for_each(|_| self.step());
                    return all;
                }
            }
        }
        panic!("{} bytes, and no end", all.len());
    }

    /// The FIN that a client sends after the answer, which has not reached the server yet.
    fn fin_of(&mut self, flow: &Flow) -> Segment {
        for _ in 0..100 {
            self.step();
            let now = self.now;
            let client = self.client(flow);
            while client.read(&mut [0; 4096]).is_ok_and(|len| len > 0) {}
            if client.connection().peer_closed() {
                client.connection_mut().close(now);
                let (fin, _) = client.poll_transmit(now, 1, &mut ()).expect("a FIN");
                assert!(fin.first.flags.contains(Flags::FIN));
                return fin.first;
            }
        }
        panic!("the server does not close");
    }

    /// The server's answer to a segment without payload.
    fn reply(&mut self, flow: &Flow, sent: Segment) -> Option<Segment> {
        self.server.handle_packet(self.now, &packet(flow, &sent, Ecn::NotEct, &[]));
        self.server.poll_packet(self.now).map(|bytes| segment(&bytes))
    }

    fn advance(&mut self, by: Span) {
        let end = self.now + by;
        while self.now < end {
            self.now = (self.now + Span::from_secs(1)).min(end);
            self.step();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(windlass_testbed::cases(24)))]

    /// On lossy paths too: retransmissions read the page again.
    #[test]
    fn a_page_arrives_as_it_is_and_no_connection_holds_it(
        len in 1..3_000_000_usize, loss in prop::sample::select(vec![0.0, 0.0, 0.01]),
    ) {
        let page = Answer::page(len);
        let mut world = World::new(page.clone());
        world.loss = loss;
        let flow = world.ask(1, REQUEST);
        prop_assert!(world.fetch(&flow) == page.to_vec());
        prop_assert!(world.memory_max <= MEMORY_MAX, "{}", world.memory_max);
    }
}

/// Writes bytes of its own, as a server with TLS does.
struct Own(usize);

impl Speaker for Own {
    fn hear(&mut self, _: &[u8], out: &mut Outgoing) -> bool {
        out.write_all(&vec![7; self.0]).expect("memory");
        true
    }
}

#[test]
fn bytes_of_the_speakers_own_are_freed_as_they_are_acknowledged() {
    let len = 1_000_000;
    let mut world = World::new(Answer::page(0));
    world.server.speaker = Box::new(move || Box::new(Own(len)));
    let flow = world.ask(1, REQUEST);
    let mut read = 0;
    for _ in 0..1000 {
        world.step();
        while let Ok(more @ 1..) = world.client(&flow).read(&mut [0; 65536]) {
            read += more;
        }
    }
    assert_eq!(read, len);
    assert!(world.memory_max > len, "{}", world.memory_max);
    let memory = world.server.hosts.values().map(|host| host.memory()).sum::<usize>();
    assert!(memory <= MEMORY_MAX, "{memory}");
}

#[test]
fn a_finished_connection_leaves_its_last_ack_and_no_work_to_the_others() {
    let mut world = World::new(Answer::page(1000));
    let connections = 300;
    for port in 1..=connections {
        let flow = world.ask(port, REQUEST);
        world.fetch(&flow);
        world.clients.clear();
    }
    assert!(world.server.hosts.is_empty(), "{:?}", world.server);
    assert_eq!(world.server.time_waits.len(), usize::from(connections));
    // A timer for the handshake's ACK or so; 300 connections that all timers scanned would be 90,000.
    let examined = world.server.timers.examined + world.server.time_waits.timers.examined;
    assert!(examined <= 2 * usize::from(connections), "{examined}");
    world.advance(Span::from_secs(61));
    assert_eq!((world.server.time_waits.len(), world.server.poll_timeout()), (0, None));
}

#[test]
fn timers_of_idle_connections_are_not_looked_at_when_others_are_due() {
    let mut world = World::new(Answer::page(100_000));
    for port in 1..=500 {
        world.ask(port, b"GET");
    }
    (0..4).for_each(|_| world.step());
    // Delayed ACKs are over then.
    world.advance(Span::from_secs(1));
    world.clients.clear();
    assert_eq!(world.server.hosts.len(), 500);
    // A client that disappears: each retransmission is a timer.
    world.ask(1000, REQUEST);
    (0..3).for_each(|_| world.step());
    world.clients.clear();
    let before = world.server.timers.examined;
    world.advance(Span::from_secs(20));
    let examined = world.server.timers.examined - before;
    assert!((3..20).contains(&examined), "{examined}");
}

#[test]
fn in_time_wait_a_repeated_fin_is_acknowledged_and_a_later_syn_begins_anew() {
    let mut world = World::new(Answer::page(1000));
    let flow = world.ask(1, REQUEST);
    let fin = world.fin_of(&flow);
    let ack = world.reply(&flow, fin).expect("an ACK");
    assert_eq!((ack.flags, ack.ack, ack.seq), (Flags::ACK, fin.seq.at(1), fin.ack));
    assert_eq!((world.server.time_waits.len(), world.server.hosts.len()), (1, 0));
    // The client has not got it.
    world.now += Span::from_secs(30);
    let again = world.reply(&flow, fin).expect("an ACK again");
    assert_eq!((again.flags, again.ack, again.seq), (ack.flags, ack.ack, ack.seq));
    assert_eq!(again.options.timestamps, ack.options.timestamps);
    let end = world.server.poll_timeout().expect("a timer");
    assert_eq!(end, world.now + Span::from_secs(60), "it begins again");

    let plain = |seq, flags| Segment { seq, ack: fin.ack, flags, ..Segment::default() };
    let old_syn = world.reply(&flow, plain(fin.seq, Flags::SYN)).expect("an ACK");
    assert_eq!((old_syn.flags, old_syn.ack), (Flags::ACK, ack.ack));
    assert_eq!(world.reply(&flow, plain(ack.ack, Flags::ACK)), None);
    assert_eq!(world.reply(&flow, plain(ack.ack.at(1), Flags::RST)), None);
    assert_eq!(world.server.time_waits.len(), 1, "the reset may be forged");
    let new = plain(ack.ack.at(1000), Flags::SYN);
    let syn_ack = world.reply(&flow, new).expect("a SYN-ACK");
    assert_eq!((syn_ack.flags, syn_ack.ack), (Flags::SYN | Flags::ACK, new.seq.at(1)));
    assert!(fin.ack.is_before(syn_ack.seq), "beyond the numbers of the old connection");
    assert_eq!((world.server.time_waits.len(), world.server.hosts.len()), (0, 1));
}

/// Both ends have AccECN.
fn accurate() -> Config {
    config(Profile::Linux).with(|c| {
        c.ecn.enabled = true;
        c.ecn.echo = EcnEcho::Accurate;
    })
}

#[test]
fn a_connection_that_has_ended_leaves_an_account_with_the_clients_counts() {
    let page = Answer::page(100_000);
    let mut world = World::with(accurate(), page.clone());
    world.marks = true;
    let flow = world.ask(1, REQUEST);
    assert_eq!(world.server.poll_ended(), None);
    world.fetch(&flow);
    let ended = world.server.poll_ended().expect("an account");
    assert_eq!((ended.client, ended.server), (flow.local, flow.remote));
    assert_eq!(ended.bytes_acknowledged, page.to_vec().len() as u64);
    assert_eq!((ended.bytes_received, ended.retransmitted_segments), (REQUEST.len() as u64, 0));
    let counts = ended.accecn.expect("AccECN");
    assert_eq!(counts.reported.ce_bytes, ended.bytes_acknowledged, "all data was marked");
    assert_eq!((counts.received, counts.sends_ect), (Marked { ce_packets: 0, ce_bytes: 0 }, true));
    assert_eq!(world.server.poll_ended(), None);
}

#[test]
fn a_reset_connection_leaves_an_account_too() {
    let mut world = World::new(Answer::page(1000));
    let flow = world.connect(1);
    (0..3).for_each(|_| world.step());
    world.client(&flow).connection_mut().abort();
    (0..3).for_each(|_| world.step());
    let ended = world.server.poll_ended().expect("an account");
    assert_eq!((ended.client, ended.bytes_acknowledged, ended.accecn), (flow.local, 0, None));
}

#[test]
fn in_time_wait_the_counter_of_marks_stands() {
    let mut world = World::with(accurate(), Answer::page(1000));
    let flow = world.ask(1, REQUEST);
    let fin = world.fin_of(&flow);
    // It begins with 5 (RFC 9768 §3.2.1), and nothing was marked.
    let five = Flags::ACK | Flags::AE | Flags::ECE;
    assert_eq!(world.reply(&flow, fin).map(|ack| ack.flags), Some(five));
    assert_eq!(world.server.time_waits.len(), 1);
    assert_eq!(world.reply(&flow, fin).map(|ack| ack.flags), Some(five));
}

#[test]
fn a_reset_ends_time_wait() {
    let mut world = World::new(Answer::page(1000));
    let flow = world.ask(1, REQUEST);
    let fin = world.fin_of(&flow);
    let ack = world.reply(&flow, fin).expect("an ACK");
    let reset = Segment { seq: ack.ack, flags: Flags::RST, ..Segment::default() };
    assert_eq!(world.reply(&flow, reset), None);
    assert_eq!((world.server.time_waits.len(), world.server.poll_timeout()), (0, None));
}

fn segment(bytes: &[u8]) -> Segment {
    match wire::parse(bytes, Meta::default()).map(|incoming| incoming.kind) {
        Some(Kind::Segment(received)) => received.segment,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_without_an_end_is_reset_at_its_limit_of_bytes() {
    let mut world = World::new(Answer::page(1000));
    let flow = world.connect(1);
    let garbage = vec![b'\r'; 4096];
    for _ in 0..=REQUEST_BYTES_MAX / 4096 + 8 {
        let _ = world.client(&flow).write(&garbage);
        world.step();
    }
    (0..3).for_each(|_| world.step());
    assert!(world.server.hosts.is_empty());
    assert_eq!(world.client(&flow).connection().state(), State::Closed);
    assert!(world.memory_max <= MEMORY_MAX, "{}", world.memory_max);
}

#[test]
fn slow_requests_half_open_connections_and_clients_that_never_close_end_in_time() {
    let mut world = World::new(Answer::page(1000));
    let slow = world.ask(1, b"GET / HT");
    let half_open = world.connect(2);
    (0..2).for_each(|_| world.step());
    let keeps_open = world.ask(3, REQUEST);
    for _ in 0..20 {
        world.step();
        while world.client(&keeps_open).read(&mut [0; 4096]).is_ok_and(|len| len > 0) {}
    }
    world.clients.remove(&half_open);
    assert_eq!(world.server.hosts.len(), 3);
    let end = world.now + REQUEST_TIME_MAX;
    while world.now < end {
        let _ = world.client(&slow).write(b"x");
        world.advance(Span::from_secs(1));
    }
    world.advance(FIN_WAIT_2_MAX);
    assert!(world.server.hosts.is_empty(), "{:?}", world.server);
    for flow in [slow, keeps_open] {
        assert_eq!(world.client(&flow).connection().state(), State::Closed, "is reset");
    }
}

#[test]
fn a_flood_of_syns_is_bounded_and_passes() {
    let mut world = World::new(Answer::page(1000));
    let flood = CONNECTIONS_MAX as u16 + 100;
    for port in 1..=flood {
        let flow = world.connect(port);
        let syn = Segment { flags: Flags::SYN, ..Segment::default() };
        world.server.handle_packet(world.now, &packet(&flow, &syn, Ecn::NotEct, &[]));
    }
    world.clients.clear();
    assert_eq!(world.server.hosts.len(), CONNECTIONS_MAX);
    world.advance(REQUEST_TIME_MAX + Span::from_secs(1));
    assert!(world.server.hosts.is_empty());
    let flow = world.ask(flood + 1, REQUEST);
    assert!(world.fetch(&flow).starts_with(b"HTTP/1.1 200 OK"));
}

#[test]
fn segments_that_open_nothing_leave_no_connection() {
    let mut world = World::new(Answer::page(1000));
    let flow = world.connect(1);
    let kinds =
        [Flags::SYN | Flags::ACK, Flags::SYN | Flags::RST, Flags::ACK, Flags::FIN, Flags::RST];
    for flags in kinds {
        let stray = Segment { flags, ..Segment::default() };
        let reply = world.reply(&flow, stray);
        let reset = reply.is_some_and(|reply| reply.flags.contains(Flags::RST));
        assert_eq!(reset, !flags.contains(Flags::RST), "{flags:?}");
    }
    assert!(world.server.hosts.is_empty());
}
