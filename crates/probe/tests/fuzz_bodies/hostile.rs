//! A hostile server: the fuzz input determines its packets and their times. For every input the probe
//! must end in time with a report, and must send only valid packets.

use std::net::SocketAddr;
use windlass_base::{Ecn, Span, Time};
use windlass_probe::burst::BurstOrder;
use windlass_probe::cca::{self, Library, ScriptOrder, Trace};
use windlass_probe::dialogue::Dialogue;
use windlass_probe::ecn::Ask;
use windlass_probe::split::{SplitOrder, classify};
use windlass_probe::wire::{self, Flow, Kind, Meta};
use windlass_probe::{Order, Probe, Purpose, Test};
use windlass_tcp::{AccEcnOption, AccEcnOrder, Flags, Options, Segment, SeqNumber};

const ISN: u32 = u32::MAX - 5000;
/// Longer than patience for a handshake and an answer, and the timeout.
const END: Span = Span::from_secs(20);

/// Runs one probe against the server of these bytes.
pub(crate) fn run(bytes: &[u8]) {
    let Some((setup, script)) = bytes.split_first_chunk::<4>() else { return };
    let mut world = World::new(setup);
    for step in script.chunks(8) {
        world.step(step);
        world.drain();
    }
    // Silence from now on.
    world.pass(END);
    assert_eq!(world.probe.poll_timeout(), None, "a hang");
    let report = world.probe.report().expect("over").clone();
    let library = Library::measured().expect("sound");
    let traces: Vec<&Trace> = report.trace.iter().collect();
    if let Some(controller) = cca::judge(&traces, &library) {
        assert!((0.0..=1.0).contains(&controller.identity.confidence));
    }
    let verdict = classify(&[report], setup[3] & 1 == 1);
    assert!((0.0..1.0).contains(&verdict.confidence));
}

struct World {
    probe: Probe,
    flow: Flow,
    now: Time,
    /// The sequence number after the last byte that the probe sent.
    client_next: SeqNumber,
    /// The next sequence number of the server.
    server_next: u32,
}

impl World {
    fn new(setup: &[u8; 4]) -> World {
        let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let flow = match setup[0] & 1 {
            0 => Flow { local: address("192.0.2.9:61000"), remote: address("192.0.2.1:80") },
            _ => {
                Flow { local: address("[2001:db8::9]:61000"), remote: address("[2001:db8::1]:80") }
            }
        };
        let measure = |test: Test| {
            let acks = u16::from(setup[2] % 8) + 1;
            Purpose::Measure(SplitOrder { test, acks, timeout: Span::from_secs(3) })
        };
        let purpose = match setup[1] {
            0 => Purpose::Scout,
            1 => measure(Test::Stretch),
            2..=40 => Purpose::Identify(ScriptOrder {
                ecn: [Some(Ask::Accurate), Some(Ask::Classic), None][usize::from(setup[2] % 3)],
                path_rtt: None,
            }),
            41..=60 => Purpose::Ecn(Ask::Accurate),
            61..=65 => Purpose::Ecn(Ask::Classic),
            size @ 248.. => Purpose::Burst(BurstOrder {
                packets: u32::from(size - 247) * 16,
                first_packets: u32::from(setup[2]),
                fills: size % 2 == 1,
                packet_bytes: 1460,
            }),
            parts => measure(Test::Split(u16::from(parts) * 4)),
        };
        let order = Order {
            purpose,
            dialogue: Dialogue::http(b"GET / HTTP/1.1\r\n\r\n".to_vec()),
            tls: None,
            handshake: Span::from_secs(6),
            patience: Span::from_secs(6),
            mss: 1460,
            window: 64 << (setup[2] / 16),
            supply: 0,
        };
        let probe = Probe::new(order, flow, ISN, Time::ZERO);
        let (client_next, server_next) = (SeqNumber(0), 1_000_000);
        let mut world = World { probe, flow, now: Time::ZERO, client_next, server_next };
        world.drain();
        world
    }

    /// Takes the packets that the probe sends.
    fn drain(&mut self) {
        let mut packet = Vec::new();
        let mut count = 0;
        while self.probe.poll_transmit(self.now, &mut packet) {
            count += 1;
            assert!(count < 20_000, "a storm");
            let incoming = wire::parse(&packet, Meta::default()).expect("a packet");
            let Kind::Segment(received) = incoming.kind else { panic!("no good segment") };
            let segment = received.segment;
            self.client_next = segment.seq.at(u64::from(segment.sequence_len()));
            packet.clear();
        }
    }

    /// Takes eight bytes: the kind of packet, its flags, offset and length, a mutation, and the delay.
    fn step(&mut self, step: &[u8]) {
        let byte = |at: usize| step.get(at).copied().unwrap_or(0);
        self.pass(Span::from_micros(u64::from(byte(7)) * u64::from(byte(7)) * 20));
        let offset = i32::from(byte(2) as i8) << (byte(6) % 24);
        let seq = self.server_next.wrapping_add(offset as u32);
        let len = usize::from(byte(3)) * usize::from(byte(4) % 16);
        let flags = match byte(1) {
            0..=99 => Flags::ACK,
            // With each combination of ECE and CWR.
            flags @ 100..=179 => {
                Flags::SYN | Flags::ACK | Flags::from_bits_retain(u16::from(flags & 0b11) << 6)
            }
            flags => Flags::from_bits_retain(flags.into()),
        };
        let options = Options {
            mss: (byte(5) & 1 == 1).then_some(u16::from(byte(3)) * 8),
            window_scale: (byte(5) & 2 == 2).then_some(byte(5) >> 4),
            ..Options::default()
        };
        let segment = Segment {
            seq: SeqNumber(seq),
            ack: self.client_next.at(u64::from(byte(5) >> 7)),
            flags,
            window: u16::from(byte(6)) << 8,
            options,
            payload_len: len as u32,
        };
        if offset == 0 {
            self.server_next = seq.wrapping_add(segment.sequence_len());
        }
        self.send(&segment, &vec![byte(4); len], byte(0), step);
    }

    fn pass(&mut self, span: Span) {
        let until = self.now + span;
        let mut calls = 0;
        while let Some(at) = self.probe.poll_timeout().filter(|at| *at <= until) {
            calls += 1;
            assert!(calls < 10_000, "a timer that is never content");
            self.now = self.now.max(at);
            self.probe.handle_timeout(self.now);
            self.drain();
        }
        self.now = until;
    }

    /// Sends the segment, or something like it.
    fn send(&mut self, segment: &Segment, payload: &[u8], how: u8, step: &[u8]) {
        let back = Flow { local: self.flow.remote, remote: self.flow.local };
        let mut packet = Vec::new();
        let segment = with_counters(*segment, how, step);
        wire::emit_with_ecn(&back, &segment, Ecn::from_bits(how), &[payload], 0, &mut packet);
        let damaged = how >= 200;
        if damaged {
            let at = usize::from(step[0]) * 7 % packet.len();
            packet[at] ^= step.get(1).copied().unwrap_or(1);
            packet.truncate(packet.len().min(usize::from(how) * 2));
        }
        let meta = Meta {
            segment_bytes: (how % 4 == 3).then_some(u16::from(how)),
            checksum_known_good: how % 2 == 1,
        };
        if let Some(incoming) = wire::parse(&packet, meta)
            && incoming.flow == self.flow
        {
            self.probe.handle_packet(self.now, &incoming.kind);
        }
    }
}

/// The segment with AE and the AccECN option, by bits that decide on less elsewhere.
fn with_counters(mut segment: Segment, how: u8, step: &[u8]) -> Segment {
    let bits = step.get(5).copied().unwrap_or(0) >> 2;
    let count = u64::from(how) << 16;
    let option = AccEcnOption::new(AccEcnOrder::Ect0First, &[count, count + 1]);
    segment.flags |= if bits & 1 == 1 { Flags::AE } else { Flags::empty() };
    segment.options.accecn = (bits & 2 == 2).then_some(option);
    segment
}
