//! Numbers of the attributes.

use stun_types::attribute::AttributeType;

// Of STUN and TURN.
/// RFC 8489, section 14.3.
pub(super) const USERNAME: AttributeType = AttributeType::new(0x0006);
/// RFC 8489, section 14.8.
pub(super) const ERROR_CODE: AttributeType = AttributeType::new(0x0009);
/// RFC 8656, section 18.2.
pub(super) const LIFETIME: AttributeType = AttributeType::new(0x000d);
/// RFC 8656, section 18.3.
pub(super) const XOR_PEER_ADDRESS: AttributeType = AttributeType::new(0x0012);
/// RFC 8489, section 14.10.
pub(super) const NONCE: AttributeType = AttributeType::new(0x0015);
/// RFC 8489, section 14.2.
pub(super) const XOR_MAPPED_ADDRESS: AttributeType = AttributeType::new(0x0020);
/// RFC 5780, section 7.6.
pub(super) const PADDING: AttributeType = AttributeType::new(0x0026);

// Of Windlass, in the range of optional attributes (RFC 8489, section 14), so that another STUN
// server answers such a request with a clear error about the method.
pub(super) const PUBLIC_KEY: AttributeType = AttributeType::new(0xc0a0);
pub(super) const TARGET: AttributeType = AttributeType::new(0xc0a1);
pub(super) const SIGNATURE: AttributeType = AttributeType::new(0xc0a2);
pub(super) const TOKEN: AttributeType = AttributeType::new(0xc0a3);
pub(super) const INSTANCE: AttributeType = AttributeType::new(0xc0a4);
pub(super) const INTRODUCTION: AttributeType = AttributeType::new(0xc0a5);
pub(super) const BODY: AttributeType = AttributeType::new(0xc0a6);
pub(super) const CREDENTIAL: AttributeType = AttributeType::new(0xc0a7);
pub(super) const CHALLENGE: AttributeType = AttributeType::new(0xc0a8);
pub(super) const SERVER_KEY: AttributeType = AttributeType::new(0xc0a9);
pub(super) const PROOF: AttributeType = AttributeType::new(0xc0aa);

/// The attributes below 0x8000 that the messages use. A message with another one is refused, as
/// RFC 8489, section 6.3, asks.
pub(super) const KNOWN_REQUIRED: [AttributeType; 7] =
    [USERNAME, ERROR_CODE, LIFETIME, XOR_PEER_ADDRESS, NONCE, XOR_MAPPED_ADDRESS, PADDING];
