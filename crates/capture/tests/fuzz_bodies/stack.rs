//! Any packets, decisions and times to the stack: nothing panics, every packet that it sends is
//! valid, and its memory and tables stay within their limits.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use windlass_base::{Ecn, Span, Time};
use windlass_capture::stack::{Config, Event, FlowId, Packet, QueryId, Refusal, Stack};
use windlass_tcp::segment::ip::{self, Addresses, IpHeader, PROTOCOL_TCP};
use windlass_tcp::segment::wire::{self, CHECKSUM_FIELD, MAX_HEADER_LEN, Ports};
use windlass_tcp::{Flags, Options, Segment, SeqNumber};

const MTU: u16 = 1500;
const PROTOCOL_UDP: u8 = 17;
const FLOWS_MAX: usize = 5;
const MEMORY_MAX: u64 = 200_000;
const BUFFER: u64 = 32 << 10;

/// One input of the target `capture_stack`: a list of steps.
pub(crate) fn run(bytes: &[u8]) {
    let mut bed = Bed::new();
    let mut input = Input(bytes);
    while let Some(step) = input.byte() {
        bed.step(step, &mut input);
        bed.check();
    }
}

/// The rest of the input. Numbers behind its end are zero.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> u8 {
        self.byte().unwrap_or(0)
    }

    fn number16(&mut self) -> u16 {
        u16::from_be_bytes([self.number(), self.number()])
    }

    fn bytes(&mut self) -> Vec<u8> {
        let len = usize::from(self.number()).min(self.0.len());
        let (taken, rest) = self.0.split_at(len);
        self.0 = rest;
        taken.to_vec()
    }
}

/// The command's view of its connection: the next sequence number of each end.
#[derive(Clone, Copy, Default)]
struct Known {
    own: SeqNumber,
    stack: SeqNumber,
}

struct Bed {
    stack: Stack,
    now: Time,
    flows: Vec<FlowId>,
    queries: Vec<QueryId>,
    known: BTreeMap<(bool, u16), Known>,
}

impl Bed {
    fn new() -> Bed {
        let config = Config {
            mtu: MTU,
            buffer: BUFFER,
            memory_max: MEMORY_MAX,
            flows_max: FLOWS_MAX,
            queries_max: 8,
            ..Config::default()
        };
        Bed {
            stack: Stack::new(config, 1),
            now: Time::ZERO,
            flows: Vec::new(),
            queries: Vec::new(),
            known: BTreeMap::new(),
        }
    }

    fn step(&mut self, step: u8, input: &mut Input<'_>) {
        match step % 10 {
            0 => self.stack.handle_packet(self.now, &input.bytes(), step & 64 != 0),
            1..=3 => self.send_segment(input),
            4 => self.send_datagram(input),
            5 => self.decide(input),
            6 => self.move_bytes(input),
            7 => self.end(input),
            8 => {
                let query = self.queries.pop();
                let answer = input.bytes();
                if let Some(query) = query {
                    self.stack.answer(self.now, query, (!answer.is_empty()).then_some(answer));
                }
            }
            _ => {
                self.now += Span::from_millis(u64::from(input.number16()));
                self.stack.handle_timeout(self.now);
                assert!(self.stack.poll_timeout().is_none_or(|due| due > self.now));
            }
        }
    }

    fn send_segment(&mut self, input: &mut Input<'_>) {
        let (v6, port) = (input.number() & 1 == 1, u16::from(input.number() % 8) + 40_000);
        let far_port = if input.number() & 1 == 1 { 53 } else { 80 };
        let flags = Flags::from_bits_retain(input.number().into());
        let known = self.known.entry((v6, port)).or_default();
        let shift =
            |number: SeqNumber, by: u8| SeqNumber(number.0.wrapping_add_signed(by as i8 as i32));
        let payload = input.bytes();
        let segment = Segment {
            seq: shift(known.own, input.number()),
            ack: shift(known.stack, input.number()),
            flags,
            window: input.number16(),
            options: Options { mss: Some(input.number16()), ..Options::default() },
            payload_len: payload.len() as u32,
        };
        known.own = segment.seq.at(u64::from(segment.sequence_len()));
        let mut tcp = vec![0; MAX_HEADER_LEN];
        let ports = Ports { source: port, destination: far_port };
        let len = wire::emit(&segment, ports, &mut tcp);
        tcp.truncate(len);
        tcp.extend(payload);
        let addresses = addresses(v6, far_port == 53);
        let sum = wire::checksum(&addresses, &[], &tcp);
        tcp[CHECKSUM_FIELD].copy_from_slice(&sum.to_be_bytes());
        self.send(addresses, PROTOCOL_TCP, &tcp);
    }

    fn send_datagram(&mut self, input: &mut Input<'_>) {
        let kind = input.number();
        let payload = input.bytes();
        let mut udp =
            [&[0x9c, 0x40, 0, 53][..], &(8 + payload.len() as u16).to_be_bytes()].concat();
        udp.extend([0, 0]);
        udp.extend(payload);
        let protocol = [PROTOCOL_UDP, PROTOCOL_UDP, 1, 58, 132][usize::from(kind % 5)];
        self.send(addresses(kind & 64 != 0, kind & 32 != 0), protocol, &udp);
    }

    fn send(&mut self, addresses: Addresses, protocol: u8, payload: &[u8]) {
        let header =
            IpHeader { addresses, ecn: Ecn::NotEct, hop_limit: 64, protocol, identification: 0 };
        let mut head = [0; ip::IPV6_HEADER_LEN];
        let len = header.emit(payload.len(), &mut head).expect("short");
        self.stack.handle_packet(self.now, &[&head[..len], payload].concat(), true);
    }

    fn flow(&self, input: &mut Input<'_>) -> Option<FlowId> {
        let at = usize::from(input.number());
        self.flows.get(at % self.flows.len().max(1)).copied()
    }

    fn decide(&mut self, input: &mut Input<'_>) {
        let Some(flow) = self.flow(input) else { return };
        match input.number() % 5 {
            0 => self.stack.refuse(flow, Refusal::Refused),
            1 => self.stack.refuse(flow, Refusal::HostUnreachable),
            _ => self.stack.accept(self.now, flow),
        }
    }

    fn move_bytes(&mut self, input: &mut Input<'_>) {
        let Some(flow) = self.flow(input) else { return };
        let len = usize::from(input.number16());
        let (room, taken) = (self.stack.writable(flow), self.stack.write(flow, &vec![7; len]));
        assert!(taken <= room.min(len));
        let readable = self.stack.peek(flow).concat().len();
        assert!(readable as u64 <= BUFFER);
        self.stack.consume(flow, usize::from(input.number16()).min(readable));
    }

    fn end(&mut self, input: &mut Input<'_>) {
        let Some(flow) = self.flow(input) else { return };
        match input.number() % 3 {
            0 => self.stack.close(self.now, flow),
            1 => self.stack.release(flow),
            _ => self.stack.abort(flow),
        }
    }

    fn check(&mut self) {
        while let Some(event) = self.stack.poll_event() {
            match event {
                Event::Connect { flow, .. } => self.flows.push(flow),
                Event::Query { query, .. } => self.queries.push(query),
                Event::Reset(flow) => assert!(!self.stack.is_open(flow)),
                _ => {}
            }
        }
        let known = &mut self.known;
        self.stack.transmit(self.now, &mut |packet: Packet<'_>| look(known, &packet.to_vec()));
        assert!(self.stack.flows() <= FLOWS_MAX);
        assert!(self.stack.memory() <= MEMORY_MAX + FLOWS_MAX as u64 * 2 * BUFFER);
    }
}

fn look(known: &mut BTreeMap<(bool, u16), Known>, bytes: &[u8]) {
    assert!(bytes.len() <= usize::from(MTU));
    let packet = ip::parse(bytes).expect("a valid packet");
    if packet.header.protocol != PROTOCOL_TCP {
        return;
    }
    assert!(wire::verify(&packet.header.addresses, packet.payload));
    let (ports, segment, _) = wire::parse(packet.payload).expect("a valid header");
    let v6 = matches!(packet.header.addresses, Addresses::V6 { .. });
    let known = known.entry((v6, ports.destination)).or_default();
    known.stack = segment.seq.at(u64::from(segment.sequence_len()));
}

fn addresses(v6: bool, forwarder: bool) -> Addresses {
    let config = Config::default();
    let (far_v4, far_v6) = match forwarder {
        true => (config.forwarder_v4, config.forwarder_v6),
        false => (Ipv4Addr::new(203, 0, 113, 7), Ipv6Addr::LOCALHOST),
    };
    match v6 {
        true => Addresses::V6 {
            source: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1),
            destination: far_v6,
        },
        false => Addresses::V4 { source: Ipv4Addr::new(198, 18, 0, 1), destination: far_v4 },
    }
}
