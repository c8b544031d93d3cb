//! The STUN messages of the discovery.

use std::net::SocketAddr;
use stun_types::attribute::{
    AttributeFromRaw, AttributeStaticType, AttributeType, MappedSocketAddr, RawAttribute,
    XorMappedAddress,
};
use stun_types::message::{
    BINDING, Message, MessageClass, MessageType, MessageWrite, MessageWriteExt, MessageWriteVec,
    TransactionId,
};

/// RFC 5780 section 7.2.
const CHANGE_REQUEST: AttributeType = AttributeType::new(0x0003);
/// RFC 5780 section 7.4.
const OTHER_ADDRESS: AttributeType = AttributeType::new(0x802c);
/// Bytes without a meaning, so that no answer is longer than its request. A server without it ignores
/// it, unlike the PADDING of RFC 5780, to which an answer has at least the path's MTU.
const FILL: AttributeType = AttributeType::new(0xc0ff);
/// An answer has three addresses of at most 24 bytes, and a server's name.
const FILL_LEN: usize = 112;

const CHANGE_ADDRESS: u32 = 0x04;
const CHANGE_PORT: u32 = 0x02;

/// From where a server is asked to answer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    /// From where it is asked.
    Nothing,
    /// From another port of the same address.
    Port,
    /// From another port of another address.
    AddressAndPort,
}

/// The class of a STUN message.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Request,
    Success,
    Error,
}

/// The parts of a response that the discovery uses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) kind: Kind,
    pub(super) transaction: TransactionId,
    /// The sender as the server sees it: XOR-MAPPED-ADDRESS.
    pub(super) mapped: Option<SocketAddr>,
    /// The second address and port of the server: OTHER-ADDRESS.
    pub(super) other: Option<SocketAddr>,
}

/// A Binding request.
pub(super) fn request(transaction: TransactionId, changed: Changed) -> Vec<u8> {
    let kind = MessageType::from_class_method(MessageClass::Request, BINDING);
    let mut message = Message::builder(kind, transaction, MessageWriteVec::new());
    let flags = match changed {
        Changed::Nothing => 0,
        Changed::Port => CHANGE_PORT,
        Changed::AddressAndPort => CHANGE_ADDRESS | CHANGE_PORT,
    };
    let flags = flags.to_be_bytes();
    let change = RawAttribute::new(CHANGE_REQUEST, &flags);
    let mut attributes = vec![RawAttribute::new(FILL, &[0; FILL_LEN])];
    if changed != Changed::Nothing {
        attributes.insert(0, change);
    }
    for attribute in &attributes {
        // Fails only if the message holds the attribute already.
        let _ = message.add_attribute(attribute);
    }
    message.finish()
}

/// Reads a Binding message; `None` for anything else.
pub(super) fn parse(bytes: &[u8]) -> Option<Reply> {
    let message = Message::from_bytes(bytes).ok().filter(|m| m.has_method(BINDING))?;
    let kind = match message.class() {
        MessageClass::Request => Kind::Request,
        MessageClass::Success => Kind::Success,
        MessageClass::Error => Kind::Error,
        MessageClass::Indication => return None,
    };
    let transaction = message.transaction_id();
    let mapped = message.raw_attribute(XorMappedAddress::TYPE);
    let mapped = mapped.and_then(|raw| XorMappedAddress::from_raw_ref(&raw).ok());
    let other = message.raw_attribute(OTHER_ADDRESS);
    let other = other.and_then(|raw| MappedSocketAddr::from_raw(&raw).ok());
    Some(Reply {
        kind,
        transaction,
        mapped: mapped.map(|address| address.addr(transaction)),
        other: other.map(|address| address.addr()),
    })
}
