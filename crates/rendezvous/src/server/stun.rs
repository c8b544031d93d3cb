//! Attributes of STUN and TURN, and messages with them.

use std::net::SocketAddr;

use stun_types::attribute::{AttributeType, RawAttribute, XorSocketAddr};
use stun_types::message::{Message, MessageWrite, MessageWriteVec};

/// RFC 5780, section 7.2.
pub(super) const CHANGE_REQUEST: AttributeType = AttributeType::new(0x0003);
/// RFC 8489, section 14.3.
pub(super) const USERNAME: AttributeType = AttributeType::new(0x0006);
/// RFC 8489, section 14.9.
pub(super) const ERROR_CODE: AttributeType = AttributeType::new(0x0009);
/// RFC 8489, section 14.13.
pub(super) const UNKNOWN_ATTRIBUTES: AttributeType = AttributeType::new(0x000a);
/// RFC 8656, section 18.1.
pub(super) const CHANNEL_NUMBER: AttributeType = AttributeType::new(0x000c);
/// RFC 8656, section 18.2.
pub(super) const LIFETIME: AttributeType = AttributeType::new(0x000d);
/// RFC 8656, section 18.3.
pub(super) const XOR_PEER_ADDRESS: AttributeType = AttributeType::new(0x0012);
/// RFC 8656, section 18.4.
pub(super) const DATA: AttributeType = AttributeType::new(0x0013);
/// RFC 8489, section 14.9.
pub(super) const REALM: AttributeType = AttributeType::new(0x0014);
/// RFC 8489, section 14.10.
pub(super) const NONCE: AttributeType = AttributeType::new(0x0015);
/// RFC 8656, section 18.5.
pub(super) const XOR_RELAYED_ADDRESS: AttributeType = AttributeType::new(0x0016);
/// RFC 8656, section 18.6.
pub(super) const REQUESTED_ADDRESS_FAMILY: AttributeType = AttributeType::new(0x0017);
/// RFC 8656, section 18.7.
pub(super) const EVEN_PORT: AttributeType = AttributeType::new(0x0018);
/// RFC 8656, section 18.8.
pub(super) const REQUESTED_TRANSPORT: AttributeType = AttributeType::new(0x0019);
/// RFC 8489, section 14.2.
pub(super) const XOR_MAPPED_ADDRESS: AttributeType = AttributeType::new(0x0020);
/// RFC 5780, section 7.6.
pub(super) const PADDING: AttributeType = AttributeType::new(0x0026);
/// RFC 5780, section 7.3.
pub(super) const RESPONSE_ORIGIN: AttributeType = AttributeType::new(0x802b);
/// RFC 5780, section 7.4.
pub(super) const OTHER_ADDRESS: AttributeType = AttributeType::new(0x802c);

/// Attributes of authentication (RFC 8489, sections 14.3 to 14.12), which every request may have.
pub(super) const OF_AUTHENTICATION: [u16; 7] =
    [0x0006, 0x0008, 0x0014, 0x0015, 0x001c, 0x001d, 0x001e];

/// The value of an attribute.
pub(super) fn value<'a>(message: &'a Message<'_>, kind: AttributeType) -> Option<Vec<u8>> {
    message.raw_attribute(kind).map(|raw: RawAttribute<'a>| raw.value.to_vec())
}

/// The value of an attribute that holds a number of 32 bits.
pub(super) fn number(message: &Message<'_>, kind: AttributeType) -> Option<u32> {
    value(message, kind)?.try_into().ok().map(u32::from_be_bytes)
}

/// An address in an attribute.
pub(super) fn address(message: &Message<'_>, raw: &RawAttribute<'_>) -> Option<SocketAddr> {
    Some(XorSocketAddr::from_raw(raw).ok()?.addr(message.transaction_id()))
}

/// The attributes that must be understood and are not among `known`.
pub(super) fn unknown(message: &Message<'_>, known: &[AttributeType]) -> Vec<u16> {
    let kinds = message.iter_attributes().map(|(_, raw)| raw.header.get_type());
    let unknown = kinds.filter(|kind| {
        let familiar = known.contains(kind) || OF_AUTHENTICATION.contains(&kind.value());
        kind.comprehension_required() && !familiar
    });
    unknown.map(|kind| kind.value()).collect()
}

/// Adds an attribute.
pub(super) fn add(to: &mut MessageWriteVec, kind: AttributeType, value: &[u8]) {
    to.push_attribute_unchecked(&RawAttribute::new(kind, value));
}

/// Adds an attribute with an address.
pub(super) fn add_address(
    to: &mut MessageWriteVec,
    request: &Message<'_>,
    kind: AttributeType,
    address: SocketAddr,
) {
    let xor = XorSocketAddr::new(address, request.transaction_id());
    to.push_attribute_unchecked(&xor.to_raw(kind));
}

/// An error response with a code (RFC 8489, section 14.8) and without a reason phrase, which would
/// only make it longer.
pub(super) fn error(request: &Message<'_>, code: u16) -> MessageWriteVec {
    let mut response = Message::builder_error(request, MessageWriteVec::new());
    add(&mut response, ERROR_CODE, &[0, 0, (code / 100) as u8, (code % 100) as u8]);
    response
}

/// An error response that lists the attributes that were not understood.
pub(super) fn unknown_error(request: &Message<'_>, unknown: &[u16]) -> MessageWriteVec {
    let mut response = error(request, 420);
    let kinds: Vec<u8> = unknown.iter().take(8).flat_map(|kind| kind.to_be_bytes()).collect();
    add(&mut response, UNKNOWN_ATTRIBUTES, &kinds);
    response
}
