//! Filters on sockets (classic BPF).

use socket2::SockFilter;
use std::ops::RangeInclusive;

/// Instructions of classic BPF (linux/bpf_common.h).
mod code {
    pub(super) const LD_WORD: u16 = 0x20;
    pub(super) const LD_HALF: u16 = 0x28;
    pub(super) const LD_BYTE: u16 = 0x30;
    pub(super) const LD_HALF_X: u16 = 0x48;
    pub(super) const LD_BYTE_X: u16 = 0x50;
    /// X = 4 * (byte & 0xf), which is the length of an IPv4 header.
    pub(super) const LDX_HEADER_LEN: u16 = 0xb1;
    pub(super) const JUMP_EQUAL: u16 = 0x15;
    pub(super) const JUMP_GREATER: u16 = 0x25;
    pub(super) const JUMP_NOT_LESS: u16 = 0x35;
    pub(super) const AND: u16 = 0x54;
    pub(super) const RETURN: u16 = 0x06;
}

/// The offset at which a filter reads the packet's type (linux/filter.h).
const PACKET_TYPE: u32 = 0xffff_f004;
/// The offset of the IP header, whatever precedes it (linux/filter.h).
const IP: u32 = 0xfff0_0000;
/// linux/if_packet.h.
const PACKET_OUTGOING: u32 = 4;
const TCP: u32 = 6;
const ICMP: u32 = 1;
const ICMPV6: u32 = 58;

/// Accepts no packet. A listening socket with this filter discards the server's packets, so that the
/// kernel sends no reset, and accepts no connections.
pub(super) fn nothing() -> [SockFilter; 1] {
    [SockFilter::new(code::RETURN, 0, 0, 0)]
}

/// Accepts incoming TCP segments to these ports, by IPv4 and IPv6, and ICMP destination unreachable. It
/// skips IPv6 packets with extension headers, and fragments.
pub(super) fn incoming(ports: &RangeInclusive<u16>) -> Vec<SockFilter> {
    let (low, high) = (u32::from(*ports.start()), u32::from(*ports.end()));
    let lines: [(u16, &str, &str, u32); 25] = [
        (code::LD_WORD, "", "", PACKET_TYPE),
        (code::JUMP_EQUAL, "drop", "", PACKET_OUTGOING),
        (code::LD_BYTE, "", "", IP),
        (code::AND, "", "", 0xf0),
        (code::JUMP_EQUAL, "v6", "", 0x60),
        (code::JUMP_EQUAL, "", "drop", 0x40),
        (code::LDX_HEADER_LEN, "", "", IP),
        (code::LD_BYTE, "", "", IP + 9),
        (code::JUMP_EQUAL, "tcp4", "", TCP),
        (code::JUMP_EQUAL, "", "drop", ICMP),
        (code::LD_BYTE_X, "", "", IP),
        (code::JUMP_EQUAL, "take", "drop", 3),
        // tcp4
        (code::LD_HALF_X, "", "", IP + 2),
        (code::JUMP_NOT_LESS, "", "drop", low),
        (code::JUMP_GREATER, "drop", "take", high),
        // v6
        (code::LD_BYTE, "", "", IP + 6),
        (code::JUMP_EQUAL, "tcp6", "", TCP),
        (code::JUMP_EQUAL, "", "drop", ICMPV6),
        (code::LD_BYTE, "", "", IP + 40),
        (code::JUMP_EQUAL, "take", "drop", 1),
        // tcp6
        (code::LD_HALF, "", "", IP + 42),
        (code::JUMP_NOT_LESS, "", "drop", low),
        (code::JUMP_GREATER, "drop", "take", high),
        // drop
        (code::RETURN, "", "", 0),
        // take
        (code::RETURN, "", "", u32::MAX),
    ];
    let place = |label: &str| match label {
        "tcp4" => 12,
        "v6" => 15,
        "tcp6" => 20,
        "drop" => 23,
        _ => 24,
    };
    let jump = |from: usize, label: &str| match label {
        "" => 0,
        label => (place(label) - from - 1) as u8,
    };
    let line = |(index, (code, yes, no, k)): (usize, (u16, &str, &str, u32))| {
        SockFilter::new(code, jump(index, yes), jump(index, no), k)
    };
    lines.into_iter().enumerate().map(line).collect()
}
