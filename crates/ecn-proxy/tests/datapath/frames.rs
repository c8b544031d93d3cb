//! Whole frames through the programs, one by one: what is not the proxy's business passes as it
//! came, and what is gets a checksum that holds, whatever stands before the TCP header.

use crate::skip;
use windlass_ecn_proxy::datapath::{Datapath, Settings};

/// TC_ACT_UNSPEC: the packet goes on.
pub(crate) const ON: i32 = -1;
pub(crate) const SYN: u8 = 0x02;
pub(crate) const RST: u8 = 0x04;
pub(crate) const SYN_ACK: u8 = 0x12;
pub(crate) const ACK: u8 = 0x10;
pub(crate) const PSH: u8 = 0x08;
pub(crate) const ECE: u8 = 0x40;
pub(crate) const CWR: u8 = 0x80;

/// The headers between the Ethernet addresses and the TCP header.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Ethertypes of the tags.
    tags: Vec<u16>,
    ipv6: bool,
    /// Of both hosts' addresses, so that shapes do not meet in the tables.
    pub network: u8,
    /// Octets of IPv4 options, or IPv6 extension headers with their kinds.
    ip_options: Vec<u8>,
    extensions: Vec<u8>,
}

impl Shape {
    pub(crate) fn plain(ipv6: bool) -> Shape {
        Shape { tags: vec![], ipv6, network: 0, ip_options: vec![], extensions: vec![] }
    }

    fn all() -> Vec<Shape> {
        let mut all = Vec::new();
        for ipv6 in [false, true] {
            let plain = Shape::plain(ipv6);
            all.push(Shape { tags: vec![0x8100], ..plain.clone() });
            all.push(Shape { tags: vec![0x88a8, 0x8100], ..plain.clone() });
            all.push(plain);
        }
        all.push(Shape { ip_options: vec![1; 4], ..Shape::plain(false) });
        all.push(Shape { ip_options: vec![1; 40], ..Shape::plain(false) });
        all.push(Shape { extensions: vec![0], ..Shape::plain(true) });
        all.push(Shape { extensions: vec![0, 60, 43, 60], ..Shape::plain(true) });
        all
    }

    fn link_header(&self) -> Vec<u8> {
        let mut header = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        for tag in &self.tags {
            header.extend(tag.to_be_bytes());
            header.extend([0, 7]);
        }
        header.extend(if self.ipv6 { [0x86, 0xdd] } else { [0x08, 0x00] });
        header
    }

    /// A frame from the served host or to it, with right checksums.
    pub(crate) fn frame(&self, from_host: bool, codepoint: u8, tcp: &Tcp) -> Vec<u8> {
        let mut segment = tcp.bytes(from_host);
        let (host, far) = ([10, 0, self.network, 1], [10, 0, self.network, 2]);
        let (from, to) = if from_host { (host, far) } else { (far, host) };
        let check = checksum(&[&self.pseudo(from, to, segment.len()), &segment]);
        segment[16..18].copy_from_slice(&check.to_be_bytes());
        let mut frame = self.link_header();
        if self.ipv6 {
            let mut chain = self.extensions.clone();
            chain.push(6);
            let payload = segment.len() + 8 * self.extensions.len();
            frame.extend([0x60, codepoint << 4, 0, 0]);
            frame.extend((payload as u16).to_be_bytes());
            frame.extend([chain[0], 64]);
            frame.extend(long(from));
            frame.extend(long(to));
            // PadN fills; of a routing header no segments are left.
            chain.windows(2).for_each(|pair| match pair[0] {
                43 => frame.extend([pair[1], 0, 4, 0, 0, 0, 0, 0]),
                _ => frame.extend([pair[1], 0, 1, 4, 0, 0, 0, 0]),
            });
        } else {
            let words = 5 + self.ip_options.len() as u8 / 4;
            let mut ip = vec![0x40 | words, codepoint];
            ip.extend(((words as usize * 4 + segment.len()) as u16).to_be_bytes());
            ip.extend([0, 1, 0x40, 0, 64, 6, 0, 0]);
            ip.extend(from);
            ip.extend(to);
            ip.extend(&self.ip_options);
            let check = checksum(&[&ip]);
            ip[10..12].copy_from_slice(&check.to_be_bytes());
            frame.extend(ip);
        }
        frame.extend(segment);
        frame
    }

    fn pseudo(&self, from: [u8; 4], to: [u8; 4], length: usize) -> Vec<u8> {
        let rest = [(length as u32).to_be_bytes(), [0, 0, 0, 6]].concat();
        if self.ipv6 {
            [long(from).to_vec(), long(to).to_vec(), rest].concat()
        } else {
            [from.to_vec(), to.to_vec(), rest].concat()
        }
    }

    fn ip_at(&self) -> usize {
        self.link_header().len()
    }

    fn tcp_at(&self) -> usize {
        let ip =
            if self.ipv6 { 40 + 8 * self.extensions.len() } else { 20 + self.ip_options.len() };
        self.ip_at() + ip
    }

    pub(crate) fn tcp_flags(&self, frame: &[u8]) -> u8 {
        frame[self.tcp_at() + 13]
    }

    pub(crate) fn codepoint(&self, frame: &[u8]) -> u8 {
        let octet = frame[self.ip_at() + 1];
        if self.ipv6 { octet >> 4 & 3 } else { octet & 3 }
    }

    /// Both checksums, and the lengths.
    fn assert_whole(&self, frame: &[u8], from_host: bool) {
        let (ip, tcp) = (&frame[self.ip_at()..], &frame[self.tcp_at()..]);
        if !self.ipv6 {
            assert_eq!(checksum(&[&frame[self.ip_at()..self.tcp_at()]]), 0, "{self:?}: IP");
            assert_eq!(u16::from_be_bytes([ip[2], ip[3]]) as usize, ip.len(), "{self:?}");
        } else {
            assert_eq!(u16::from_be_bytes([ip[4], ip[5]]) as usize + 40, ip.len(), "{self:?}");
        }
        let (host, far) = ([10, 0, self.network, 1], [10, 0, self.network, 2]);
        let (from, to) = if from_host { (host, far) } else { (far, host) };
        let sum = checksum(&[&self.pseudo(from, to, tcp.len()), tcp]);
        assert_eq!(sum, 0, "{self:?}: TCP {frame:02x?}");
    }
}

pub(crate) fn program(from_host: bool) -> &'static str {
    if from_host { "client_in" } else { "client_out" }
}

fn long([a, b, c, d]: [u8; 4]) -> [u8; 16] {
    [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d]
}

/// RFC 1071.
fn checksum(parts: &[&[u8]]) -> u16 {
    let bytes = parts.concat();
    let mut sum: u32 = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[derive(Clone, Debug)]
pub(crate) struct Tcp {
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub options: Vec<u8>,
    pub payload: Vec<u8>,
}

impl Tcp {
    fn bytes(&self, from_host: bool) -> Vec<u8> {
        let ports = if from_host { [0x9c, 0x40, 0, 80] } else { [0, 80, 0x9c, 0x40] };
        let mut bytes = ports.to_vec();
        bytes.extend(self.seq.to_be_bytes());
        bytes.extend(self.ack.to_be_bytes());
        bytes.extend([((20 + self.options.len() as u8) / 4) << 4, self.flags, 0x20, 0, 0, 0, 0, 0]);
        bytes.extend(&self.options);
        bytes.extend(&self.payload);
        bytes
    }
}

/// MSS, SACK permitted, timestamps, window scale.
fn syn_options() -> Vec<u8> {
    vec![2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7]
}

pub(crate) fn timestamps() -> Vec<u8> {
    vec![1, 1, 8, 10, 0, 0, 0, 2, 0, 0, 0, 1]
}

pub(crate) fn syn() -> Tcp {
    Tcp { seq: 1000, ack: 0, flags: SYN, options: syn_options(), payload: vec![] }
}

pub(crate) fn packet(seq: u32, ack: u32, flags: u8, bytes: usize) -> Tcp {
    Tcp { seq, ack, flags, options: timestamps(), payload: vec![7; bytes] }
}

fn load() -> Datapath {
    Datapath::load(&Settings::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The handshake and a data packet: what each becomes.
#[test]
fn every_shape_of_packet_is_edited_with_right_checksums() {
    if skip() {
        return;
    }
    let datapath = load();
    for (network, shape) in (1..).zip(Shape::all()) {
        let shape = Shape { network, ..shape };
        let run = |from_host, codepoint, tcp: &Tcp| {
            let frame = shape.frame(from_host, codepoint, tcp);
            let (action, out) = datapath.run_frame(program(from_host), &frame).expect("runs");
            assert_eq!((action, out.len()), (ON, frame.len()), "{shape:?}");
            shape.assert_whole(&out, from_host);
            (shape.codepoint(&out), out[shape.tcp_at() + 13])
        };
        assert_eq!(run(true, 0, &syn()), (0, SYN | ECE | CWR), "{shape:?}");
        let syn_ack = Tcp { seq: 5000, ack: 1001, flags: SYN_ACK | ECE, ..syn() };
        assert_eq!(run(false, 0, &syn_ack), (0, SYN_ACK), "{shape:?}");
        let ack = Tcp { seq: 1001, ack: 5001, flags: ACK, options: timestamps(), payload: vec![] };
        assert_eq!(run(true, 0, &ack), (0, ACK), "{shape:?}");
        // The far host's data came with CE: Not-ECT for the served host, whose ACK is asked for by PSH
        // and echoes it.
        let far = Tcp { seq: 5001, ack: 1001, payload: vec![7; 101], ..ack.clone() };
        assert_eq!(run(false, 3, &far), (0, ACK | PSH), "{shape:?}");
        assert_eq!(run(true, 0, &Tcp { ack: 5102, ..ack.clone() }), (0, ACK | ECE), "{shape:?}");
        let data = Tcp { ack: 5102, payload: vec![9; 99], ..ack.clone() };
        assert_eq!(run(true, 0, &data), (2, ACK | ECE), "{shape:?}");
        assert_eq!(datapath.counters().expect("readable").edit_failed, 0);
    }
}

/// BIG TCP: a super-packet of more than 64 kB has no length in its IP header, and with IPv6 a jumbo
/// option (RFC 2675 section 2) that newer kernels leave out.
#[test]
fn super_packets_without_a_length_are_served() {
    if skip() {
        return;
    }
    let datapath = load();
    for (network, ipv6, jumbo) in [(1, false, false), (2, true, false), (3, true, true)] {
        let extensions = if jumbo { vec![0] } else { vec![] };
        let shape = Shape { network, extensions, ..Shape::plain(ipv6) };
        let run = |from_host, codepoint, tcp: &Tcp| {
            let mut frame = shape.frame(from_host, codepoint, tcp);
            let is_data = !tcp.payload.is_empty();
            if is_data {
                let length_at = shape.ip_at() + if ipv6 { 4 } else { 2 };
                frame[length_at..length_at + 2].fill(0);
            }
            if is_data && jumbo {
                let option = [6, 0, 0xc2, 4, 0, 1, 0x38, 0x80];
                frame[shape.ip_at() + 40..shape.tcp_at()].copy_from_slice(&option);
            }
            let segment_bytes = if is_data { 20 } else { 0 };
            let program = program(from_host);
            let (action, out) =
                datapath.run_super_packet(program, &frame, segment_bytes).expect("runs");
            assert_eq!((action, out.len()), (ON, frame.len()), "{shape:?}");
            shape.codepoint(&out)
        };
        run(true, 0, &syn());
        run(false, 0, &Tcp { seq: 5000, ack: 1001, flags: SYN_ACK | ECE, ..syn() });
        let ack = Tcp { seq: 1001, ack: 5001, flags: ACK, options: timestamps(), payload: vec![] };
        run(true, 0, &ack);
        let far = Tcp { seq: 5001, ack: 1001, payload: vec![7; 100], ..ack.clone() };
        assert_eq!(run(false, 3, &far), 0, "{shape:?}");
        assert_eq!(run(true, 0, &Tcp { payload: vec![9; 100], ..ack }), 2, "{shape:?}");
    }
    let counters = datapath.counters().expect("readable");
    assert_eq!((counters.malformed, counters.edit_failed), (0, 0));
    assert_eq!(counters.tcp, counters.packets);
}

#[test]
fn truncated_frames_pass_unchanged() {
    if skip() {
        return;
    }
    let datapath = load();
    for shape in Shape::all() {
        let whole = shape.frame(true, 0, &syn());
        // The kernel itself refuses to run less than a link-layer header and some.
        for length in shape.ip_at().max(14) + 1..whole.len() {
            let cut = &whole[..length];
            let Ok((action, out)) = datapath.run_frame(program(true), cut) else { continue };
            assert_eq!(action, ON, "{shape:?}, {length} octets");
            assert!(out == cut, "{shape:?}, {length} octets: changed");
        }
    }
    let counters = datapath.counters().expect("readable");
    assert_eq!((counters.edited, counters.upgraded), (0, 0));
    assert!(counters.malformed > 100, "{counters:?}");
}

#[test]
fn fragments_and_other_protocols_pass_unchanged() {
    if skip() {
        return;
    }
    let datapath = load();
    let pass = |what: &str, program: &str, frame: &[u8]| {
        let (action, out) = datapath.run_frame(program, frame).expect("runs");
        assert!(action == ON && out == frame, "{what}");
    };
    let plain = Shape::plain(false).frame(true, 0, &syn());
    let changed = |at: usize, value: u8| {
        let mut frame = plain.clone();
        frame[at] = value;
        frame
    };
    pass("UDP", "client_in", &changed(23, 17));
    pass("ARP", "client_in", &changed(13, 6));
    pass("more fragments", "client_in", &changed(20, 0x20));
    pass("a later fragment", "client_in", &changed(21, 9));
    pass("IPv5", "client_in", &changed(14, 0x55));
    pass("a short IP header", "client_in", &changed(14, 0x44));
    pass("a TCP header longer than the packet", "client_in", &changed(46, 0xf0));
    pass("a TCP header of 16 octets", "client_in", &changed(46, 0x40));
    let fragment = Shape { extensions: vec![44], ..Shape::plain(true) };
    pass("a fragment header", "client_in", &fragment.frame(true, 0, &syn()));
    let mut routed = Shape { extensions: vec![43], ..Shape::plain(true) }.frame(true, 0, &syn());
    routed[14 + 40 + 3] = 1;
    pass("a segment left to route", "client_in", &routed);
    let three = Shape { tags: vec![0x88a8, 0x8100, 0x8100], ..Shape::plain(false) };
    pass("three tags", "client_in", &three.frame(true, 0, &syn()));
    let strange = Tcp { flags: ACK, ..syn() };
    pass("a connection unknown", "client_in", &Shape::plain(false).frame(true, 0, &strange));
    let mut broken = syn();
    broken.options = vec![2, 0, 0, 0];
    pass("options that do not parse", "client_in", &Shape::plain(false).frame(true, 0, &broken));
    assert_eq!(datapath.counters().expect("readable").upgraded, 0);
}
