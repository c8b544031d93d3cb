//! Binding requests: the host's own address as the server sees it (RFC 8489), and what NAT
//! behaviour discovery needs beyond (RFC 5780).

use std::net::SocketAddr;

use stun_types::attribute::MappedSocketAddr;
use stun_types::message::{Message, MessageWrite, MessageWriteVec};

use super::Path;
use super::stun::{self, CHANGE_REQUEST, OTHER_ADDRESS, PADDING, RESPONSE_ORIGIN};

/// Flags of CHANGE-REQUEST (RFC 5780, section 7.2).
const CHANGE_ADDRESS: u32 = 0x04;
const CHANGE_PORT: u32 = 0x02;

/// The possible answers to a Binding request, the best one first.
pub(super) fn answers(
    request: &Message<'_>,
    path: Path,
    sockets: Option<&[SocketAddr; 4]>,
) -> Vec<(Path, Vec<u8>)> {
    if !request.has_class(stun_types::message::MessageClass::Request) {
        return Vec::new();
    }
    let discovery = [CHANGE_REQUEST, PADDING];
    let known = if sockets.is_some() { &discovery[..] } else { &discovery[1..] };
    let unknown = stun::unknown(request, known);
    if !unknown.is_empty() {
        return vec![(path, stun::unknown_error(request, &unknown).finish())];
    }
    let brief = success(request, path).finish();
    let (Some(sockets), Path::Udp { socket: socket @ 0..4, address }) = (sockets, path) else {
        return vec![(path, brief)];
    };
    let flags = stun::number(request, CHANGE_REQUEST).unwrap_or(0);
    // Bit 0 of a socket's number is its port, bit 1 its address.
    let change = u8::from(flags & CHANGE_PORT != 0) | u8::from(flags & CHANGE_ADDRESS != 0) << 1;
    // RFC 5780, section 7.2: the response leaves from the other address or port.
    let origin = socket ^ change;
    let from = Path::Udp { socket: origin, address };
    let mut full = success(request, path);
    // OTHER-ADDRESS differs from the request's in both (RFC 5780, section 7.4).
    for (kind, at) in [(RESPONSE_ORIGIN, origin), (OTHER_ADDRESS, socket ^ 3)] {
        let address = MappedSocketAddr::new(sockets[usize::from(at)]);
        full.push_attribute_unchecked(&address.to_raw(kind));
    }
    vec![(from, full.finish()), (from, brief)]
}

fn success(request: &Message<'_>, path: Path) -> MessageWriteVec {
    let mut response = Message::builder_success(request, MessageWriteVec::new());
    stun::add_address(&mut response, request, stun::XOR_MAPPED_ADDRESS, path.address());
    response
}
