//! ICMP messages to the command (RFC 792, RFC 4443).

use crate::packet::icmp;
use std::net::IpAddr;

/// Why a destination cannot be reached.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unreachable {
    /// No route to its network.
    Network,
    /// The host does not answer.
    Host,
    /// The host does not serve the port.
    Port,
    /// The protocol is not carried.
    Protocol,
    /// Not allowed.
    Prohibited,
}

/// The longest IPv4 error message: it fits into any link (RFC 1812 section 4.3.2.3).
const MESSAGE_LEN_MAX: usize = 576;
/// The longest IPv6 error message (RFC 4443 section 2.4).
const MESSAGE_LEN_MAX_V6: usize = 1280;
/// IP header, and ICMP header with its second word.
const HEADERS_LEN: usize = 20 + 8;
const HEADERS_LEN_V6: usize = 40 + 8;

impl Unreachable {
    /// Type and code in IPv4 (RFC 792, RFC 1812 section 5.2.7.1).
    fn v4(self) -> [u8; 2] {
        let code = match self {
            Unreachable::Network => 0,
            Unreachable::Host => 1,
            Unreachable::Protocol => 2,
            Unreachable::Port => 3,
            Unreachable::Prohibited => 13,
        };
        [3, code]
    }

    /// Type and code in IPv6 (RFC 4443 sections 3.1 and 3.4).
    fn v6(self) -> [u8; 2] {
        match self {
            Unreachable::Network => [1, 0],
            Unreachable::Prohibited => [1, 1],
            Unreachable::Host => [1, 3],
            Unreachable::Port => [1, 4],
            // A parameter problem: unrecognized next header.
            Unreachable::Protocol => [4, 1],
        }
    }
}

/// The message from `source` to `destination` that a packet, whose first bytes are `quoted`, did not
/// reach its destination.
pub(crate) fn unreachable(
    source: IpAddr,
    destination: IpAddr,
    why: Unreachable,
    quoted: &[u8],
) -> Option<Vec<u8>> {
    let v4 = destination.is_ipv4();
    let (room, kind_and_code) = match v4 {
        true => (MESSAGE_LEN_MAX - HEADERS_LEN, why.v4()),
        false => (MESSAGE_LEN_MAX_V6 - HEADERS_LEN_V6, why.v6()),
    };
    // Of a parameter problem: the position of the next header's number in the IPv6 header.
    let second_word = if !v4 && why == Unreachable::Protocol { [0, 0, 0, 6] } else { [0; 4] };
    let rest = [&second_word[..], &quoted[..quoted.len().min(room)]].concat();
    icmp(source, destination, kind_and_code, &rest)
}

/// The reply to an echo request from `from` to `to`, whose bytes behind the checksum are `rest`.
pub(crate) fn echo_reply(from: IpAddr, to: IpAddr, rest: &[u8]) -> Option<Vec<u8>> {
    let kind = if from.is_ipv4() { 0 } else { 129 };
    icmp(to, from, [kind, 0], rest)
}
