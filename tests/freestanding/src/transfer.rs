//! A transfer between two connections through a queue: it reaches every part of the engine, and
//! the linker takes what it reaches.

use alloc::vec::Vec;
use windlass_aqm::{
    CoDelConfig, DropTailConfig, FqCoDelConfig, Packet, PieConfig, Queue, RedConfig,
};
use windlass_base::{BitRate, Ecn, Rng, Span, Time};
use windlass_tcp::{
    Config, Connection, Observer, Profile, Segment, SeqNumber, State, TraceEvent, cc,
};

/// A segment in a packet.
struct Datagram {
    segment: Segment,
    ecn: Ecn,
}

impl Packet for Datagram {
    fn wire_bytes(&self) -> u32 {
        self.segment.payload_len + 40
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn flow_hash(&self) -> u64 {
        0
    }
}

/// Counts the trace events of the connections.
struct Events(u64);

impl Observer for Events {
    fn observe(&mut self, _now: Time, _event: TraceEvent) {
        self.0 += 1;
    }
}

/// Every controller under every profile through every queue; returns the bytes that arrived.
pub fn transfer_with_everything(seed: u64) -> u64 {
    let mut received = 0;
    for controller in cc::NAMES {
        let Some(factory) = cc::by_name(controller) else { continue };
        for profile in Profile::ALL {
            for queue in queues() {
                received += transfer(seed, profile.config(1460, factory.clone()), &queue);
            }
        }
    }
    received
}

fn queues() -> [windlass_aqm::Config; 5] {
    [
        windlass_aqm::Config::DropTail(DropTailConfig::default()),
        windlass_aqm::Config::Red(RedConfig::default()),
        windlass_aqm::Config::CoDel(CoDelConfig::default()),
        windlass_aqm::Config::FqCoDel(FqCoDelConfig::default()),
        windlass_aqm::Config::Pie(PieConfig::default()),
    ]
}

/// 100,000 bytes from a client to a server, in steps of 1 ms; returns how many arrived.
fn transfer(seed: u64, config: Config, queue: &windlass_aqm::Config) -> u64 {
    let mut rng = Rng::fork(seed, 1);
    let Ok(mut queue) = queue.build(BitRate::from_bits_per_sec(10_000_000)) else { return 0 };
    let mut client = Connection::connect(config.clone(), Time::ZERO, SeqNumber(rng.bits() as u32));
    let mut server = Connection::listen(config, SeqNumber(rng.bits() as u32));
    let mut events = Events(0);
    let mut unwritten = 100_000;
    for step in 0..10_000 {
        let now = Time::ZERO + Span::from_millis(step);
        unwritten -= client.write(unwritten).unwrap_or(0);
        // Before the handshake's end a close would throw the bytes away (RFC 9293 section 3.10.4).
        if unwritten == 0 && client.state() == State::Established {
            client.close(now);
        }
        for datagram in drain(&mut client, now, &mut events) {
            queue.enqueue(now, datagram, &mut rng, &mut |_, _| ());
        }
        while let Some(datagram) = queue.dequeue(now, &mut rng, &mut |_, _| ()) {
            deliver(&mut server, now, &datagram, &mut events);
        }
        let _ = server.read(u64::MAX);
        for datagram in drain(&mut server, now, &mut events) {
            deliver(&mut client, now, &datagram, &mut events);
        }
    }
    server.bytes_received()
}

/// Runs the timers that are due and returns the segments that the connection sends.
fn drain(connection: &mut Connection, now: Time, events: &mut Events) -> Vec<Datagram> {
    if connection.poll_timeout().is_some_and(|due| due <= now) {
        connection.handle_timeout(now, events);
    }
    while connection.poll_event().is_some() {}
    let mut datagrams = Vec::new();
    while let Some(run) = connection.poll_transmit(now, 64, events) {
        datagrams.extend(run.segments().map(|segment| Datagram { segment, ecn: run.ecn }));
    }
    datagrams
}

fn deliver(connection: &mut Connection, now: Time, datagram: &Datagram, events: &mut Events) {
    connection.handle_segment(now, &datagram.segment, datagram.ecn, events);
}
