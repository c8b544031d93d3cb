//! Packets with everything that scripts describe, and their bytes.

pub mod flags;
pub mod icmp;
mod option;
mod read;
mod write;

pub use option::TcpOption;
pub use read::parse;

use std::fmt;
use std::net::IpAddr;

/// The protocol numbers that scripts have.
const PROTOCOL_ICMP: u8 = 1;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
const PROTOCOL_ICMPV6: u8 = 58;

/// An IP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its header.
    pub ip: Ip,
    /// Its payload.
    pub transport: Transport,
}

/// An IP header; the addresses are of one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ip {
    /// The source address.
    pub source: IpAddr,
    /// The destination address.
    pub destination: IpAddr,
    /// The octet of DSCP and ECN.
    pub tos: u8,
    /// TTL or hop limit.
    pub ttl: u8,
    /// The flow label of IPv6; 0 for IPv4.
    pub flow_label: u32,
}

/// The payload of an IP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A TCP segment.
    Tcp(Tcp),
    /// An ICMP message.
    Icmp(Icmp),
    /// Something else.
    Other {
        /// The protocol number.
        protocol: u8,
        /// The bytes.
        payload: Vec<u8>,
    },
}

/// A TCP segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tcp {
    /// The source port.
    pub source: u16,
    /// The destination port.
    pub destination: u16,
    /// The sequence number.
    pub seq: u32,
    /// The acknowledgment number.
    pub ack: u32,
    /// The control bits, see [`flags`].
    pub flags: u16,
    /// The three reserved bits above AE.
    pub reserved: u8,
    /// The window, before scaling.
    pub window: u16,
    /// The urgent pointer.
    pub urgent: u16,
    /// The options in their order.
    pub options: Vec<TcpOption>,
    /// The payload.
    pub payload: Vec<u8>,
}

/// An ICMP message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Icmp {
    /// Its type.
    pub kind: u8,
    /// Its code.
    pub code: u8,
    /// The four bytes behind the checksum: an MTU, or an identifier.
    pub rest: [u8; 4],
    /// The bytes behind these.
    pub body: Vec<u8>,
}

impl Tcp {
    /// True with all of these bits.
    pub fn has(&self, bits: u16) -> bool {
        self.flags & bits == bits
    }

    /// The bytes that the options take.
    pub fn options_len(&self) -> usize {
        let mut bytes = Vec::new();
        self.options.iter().for_each(|option| option.emit(&mut bytes));
        bytes.len()
    }

    /// The timestamps option.
    pub fn timestamps(&self) -> Option<(u32, u32)> {
        self.options.iter().find_map(|option| match option {
            TcpOption::Timestamps { value, echo } => Some((*value, *echo)),
            _ => None,
        })
    }
}

impl Packet {
    /// The segment, if it carries one.
    pub fn tcp(&self) -> Option<&Tcp> {
        match &self.transport {
            Transport::Tcp(tcp) => Some(tcp),
            _ => None,
        }
    }

    /// As a script writes it; with `ace`, AccECN's counter is a digit.
    pub fn text(&self, ace: bool) -> String {
        let ecn = ["", "[ect1] ", "[ect0] ", "[ce] "][usize::from(self.ip.tos & 3)];
        let ip = match self.ip.tos >> 2 {
            0 => ecn.to_owned(),
            _ => format!("[tos {:#x}] ", self.ip.tos),
        };
        match &self.transport {
            Transport::Tcp(tcp) => format!("{ip}{}", tcp.text(ace)),
            Transport::Icmp(icmp) => format!("{ip}icmp type_{} code_{}", icmp.kind, icmp.code),
            Transport::Other { protocol: PROTOCOL_UDP, payload } => {
                format!("{ip}udp ({})", payload.len().saturating_sub(8))
            }
            Transport::Other { protocol, payload } => {
                format!("{ip}protocol {protocol} ({})", payload.len())
            }
        }
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(false))
    }
}

impl Tcp {
    fn text(&self, ace: bool) -> String {
        let len = self.payload.len();
        let end = u64::from(self.seq) + len as u64;
        let mut text = format!("{} {}:{end}({len})", flags::text(self.flags, ace), self.seq);
        if self.has(flags::ACK) {
            text += &format!(" ack {}", self.ack);
        }
        text += &format!(" win {}", self.window);
        if self.has(flags::URG) || self.urgent != 0 {
            text += &format!(" urg {}", self.urgent);
        }
        if !self.options.is_empty() {
            let options: Vec<String> = self.options.iter().map(TcpOption::to_string).collect();
            text += &format!(" <{}>", options.join(","));
        }
        text
    }
}
