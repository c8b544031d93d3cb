//! Any bytes as the life of a connection behind the proxy.

use crate::watch::Watch;
use windlass_ecn_proxy_core::{
    BLOCKS_MAX, Block, Events, Flags, Options, Packet, Policy, SenderPolicy, Side,
};

/// One input of the target `ecn_proxy_core`. Returns what happened and how many packets there were.
pub(crate) fn run(bytes: &[u8]) -> (Events, u64) {
    let mut bytes = Bytes(bytes);
    let mut life = Life::new(&mut bytes);
    while !bytes.0.is_empty() {
        life.step(&mut bytes);
    }
    (life.watch.events, life.packets)
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().map_or((0, &[][..]), |(byte, rest)| (*byte, rest));
        self.0 = rest;
        first
    }

    fn word(&mut self) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }
}

/// Two hosts, as far as a proxy sees them.
struct Life {
    watch: Watch,
    packets: u64,
    segment: u32,
    options: Options,
    host_is_client: bool,
    /// The host's next number, and what the far host has of it.
    host_next: u32,
    far_has: u32,
    far_next: u32,
    clock: u32,
    host_clock_heard: u32,
}

impl Life {
    fn new(bytes: &mut Bytes<'_>) -> Life {
        let choice = bytes.byte();
        let sender = match choice & 3 {
            1 => SenderPolicy::Drop,
            2 if choice & 4 != 0 => SenderPolicy::NoEct,
            _ => SenderPolicy::VirtualLoss,
        };
        let policy = Policy {
            sender,
            without_sack: choice & 8 != 0,
            keeps_asking: choice & 0x11 == 0x11,
            ..Policy::default()
        };
        let mut watch = Watch::new(policy);
        watch.destination_fails = choice & 15 == 15;
        let mut options = Options::empty();
        options.set(Options::SACK_PERMITTED, choice & 0x30 != 0);
        options.set(Options::TIMESTAMPS, choice & 0xc0 != 0);
        // Numbers wrap soon.
        let host_isn = (u32::from(bytes.byte()) << 8).wrapping_sub(20_000);
        let segment = 1 + u32::from(bytes.byte()) * 8;
        let ends = bytes.byte();
        let mut life = Life {
            watch,
            packets: 0,
            segment,
            options,
            host_is_client: ends & 1 == 0,
            host_next: host_isn,
            far_has: host_isn,
            far_next: 7_000,
            clock: 0u32.wrapping_sub(50),
            host_clock_heard: 0,
        };
        life.handshake(ends & 30 == 30);
        life
    }

    fn handshake(&mut self, port_is_closed: bool) {
        let ecn = Flags::ECE | Flags::CWR;
        let (first, second) =
            if self.host_is_client { (Side::Host, Side::Far) } else { (Side::Far, Side::Host) };
        let ask = if self.host_is_client { Flags::empty() } else { ecn };
        let answer = if self.host_is_client { Flags::ECE } else { Flags::empty() };
        let open = self.options | Options::WINDOW_SCALE;
        let syn = Packet { options: open, window_scale: 7, ..self.packet(first, Flags::SYN | ask) };
        self.pass(&Packet { ack: 0, ..syn }, first);
        self.sent(first, 1);
        self.far_has = self.host_next;
        if port_is_closed {
            self.pass(&self.packet(second, Flags::RST | Flags::ACK), second);
            return;
        }
        let flags = Flags::SYN | Flags::ACK | answer;
        let syn_ack = Packet { options: open, window_scale: 7, ..self.packet(second, flags) };
        self.pass(&syn_ack, second);
        self.sent(second, 1);
    }

    fn sent(&mut self, from: Side, count: u32) {
        let next = if from == Side::Host { &mut self.host_next } else { &mut self.far_next };
        *next = next.wrapping_add(count);
    }

    /// A packet without data, as its host would send it now.
    fn packet(&self, from: Side, flags: Flags) -> Packet {
        let (seq, ack, tsval, tsecr) = match from {
            Side::Host => (self.host_next, self.far_next, self.clock, 0),
            Side::Far => (self.far_next, self.far_has, self.clock, self.host_clock_heard),
        };
        let options = self.options & Options::TIMESTAMPS;
        Packet { seq, ack, tsval, tsecr, flags, options, window: 500, ..Packet::default() }
    }

    fn pass(&mut self, packet: &Packet, from: Side) {
        self.packets += 1;
        self.clock = self.clock.wrapping_add(1);
        let (_, outcome) = self.watch.pass(packet, from);
        // The far host has the timestamp of the served host only from packets that the proxy
        // forwards.
        if from == Side::Host && !outcome.forward.is_empty() {
            self.host_clock_heard = packet.tsval;
        }
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        let choice = bytes.byte();
        let detail = bytes.byte();
        match choice % 32 {
            0..=8 => self.host_data(detail),
            9..=11 => self.host_repeats(detail),
            12..=21 => self.far_acknowledges(detail),
            22..=24 => self.far_reports_gap(detail, bytes.byte()),
            25 => self.far_data(detail),
            26 => self.host_acknowledges(),
            27 => self.flags_of(detail),
            28 => self.change_policy(detail),
            _ => self.anything(detail, bytes),
        }
    }

    fn host_data(&mut self, detail: u8) {
        let segments = if detail & 0xc0 == 0xc0 { 1 + u32::from(detail & 15) } else { 1 };
        let packet = Packet {
            payload_bytes: self.segment * segments,
            segment_bytes: self.segment,
            ..self.packet(Side::Host, Flags::ACK)
        };
        self.sent(Side::Host, packet.payload_bytes);
        self.pass(&packet, Side::Host);
    }

    /// From the first number that the host still waits for, or a little behind it.
    fn host_repeats(&mut self, detail: u8) {
        let skip = u32::from(detail & 3) * self.segment;
        let packet = Packet {
            seq: self.watch.flow.shown_ack().wrapping_add(skip),
            payload_bytes: self.segment * (1 + u32::from(detail >> 6)),
            segment_bytes: self.segment,
            ..self.packet(Side::Host, Flags::ACK)
        };
        self.pass(&packet, Side::Host);
    }

    fn far_acknowledges(&mut self, detail: u8) {
        let flight = self.host_next.wrapping_sub(self.far_has);
        let step = (u32::from(detail & 7) * self.segment).min(flight);
        self.far_has = self.far_has.wrapping_add(step);
        let mut packet = self.packet(Side::Far, Flags::ACK);
        packet.flags.set(Flags::ECE, detail & 8 != 0);
        packet.flags.set(Flags::CWR, detail & 0x70 == 0x10);
        packet.window += u16::from(detail & 0xe0 == 0x20);
        self.pass(&packet, Side::Far);
    }

    /// With a block above the ACK, or one below it.
    fn far_reports_gap(&mut self, detail: u8, more: u8) {
        let at = |segments: u8| u32::from(segments) * self.segment;
        let start = match detail & 0x80 {
            0 => self.far_has.wrapping_add(at(1 + (detail & 7))),
            _ => self.far_has.wrapping_sub(at(1 + (detail & 7))),
        };
        let mut packet = self.packet(Side::Far, Flags::ACK);
        packet.blocks[0] = Block { start, end: start.wrapping_add(at(1 + (detail >> 3 & 3))) };
        packet.blocks[1] = Block { start: packet.blocks[0].end.wrapping_add(1), end: start };
        packet.block_count = 1 + (more & 1);
        packet.options |= Options::SACK;
        packet.flags.set(Flags::ECE, more & 2 != 0);
        self.pass(&packet, Side::Far);
    }

    fn far_data(&mut self, detail: u8) {
        let mut packet = Packet {
            payload_bytes: 1000,
            segment_bytes: 1000,
            codepoint: detail & 3,
            ..self.packet(Side::Far, Flags::ACK)
        };
        packet.flags.set(Flags::ECE, detail & 4 != 0);
        self.sent(Side::Far, 1000);
        self.pass(&packet, Side::Far);
    }

    fn host_acknowledges(&mut self) {
        self.pass(&self.packet(Side::Host, Flags::ACK), Side::Host);
    }

    /// FIN, RST, SYN, AE, options that have no business there.
    fn flags_of(&mut self, detail: u8) {
        let from = if detail & 1 == 0 { Side::Host } else { Side::Far };
        let mut packet = self.packet(from, Flags::ACK);
        match detail >> 1 & 15 {
            0..=3 => packet.flags |= Flags::FIN,
            4 => packet.flags |= Flags::RST,
            5 => packet.ae = 1,
            6 => packet.options |= Options::OTHER,
            7 => packet.options |= Options::BROKEN,
            8 => packet.options |= Options::ACCECN,
            9 => packet.flags = Flags::SYN,
            10 => packet.flags |= Flags::SYN,
            _ => packet.window = 0,
        }
        if packet.flags.contains(Flags::FIN) {
            self.sent(from, 1);
        }
        self.pass(&packet, from);
    }

    fn change_policy(&mut self, detail: u8) {
        self.watch.policy.off = detail & 7 == 1;
        self.watch.policy.draining = detail & 0x38 == 8;
    }

    /// A packet of bytes.
    fn anything(&mut self, detail: u8, bytes: &mut Bytes<'_>) {
        let from = if detail & 1 == 0 { Side::Host } else { Side::Far };
        let near = self.packet(from, Flags::ACK);
        let wild = detail & 2 == 0;
        let mut number = |near: u32| {
            let word = bytes.word();
            if wild { word } else { near.wrapping_add(word & 0x1fff).wrapping_sub(0xfff) }
        };
        let mut packet = Packet {
            seq: number(near.seq),
            ack: number(near.ack),
            tsval: number(near.tsval),
            tsecr: number(near.tsecr),
            payload_bytes: number(0) & 0x1_ffff,
            ..Packet::default()
        };
        for block in &mut packet.blocks {
            *block = Block { start: number(self.far_has), end: number(self.far_has) };
        }
        let words: [u32; 4] = std::array::from_fn(|_| bytes.word());
        packet.segment_bytes = words[0] & 0xffff;
        packet.window = (words[0] >> 16) as u16;
        packet.options = Options::from_bits_truncate(words[1] as u16 & (words[1] >> 16) as u16);
        packet.flags = Flags::from_bits_retain(words[2] as u8);
        packet.codepoint = (words[2] >> 8) as u8 & 3;
        packet.window_scale = (words[2] >> 16) as u8;
        packet.block_count = (words[3] as u8 & 7).min(BLOCKS_MAX as u8);
        packet.ae = u8::from(words[3] & 0xff00 == 0);
        packet.mss = (words[3] >> 16) as u16;
        self.pass(&packet, from);
    }
}
