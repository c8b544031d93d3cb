//! Bytes to messages; `encode` is the way back. Receivers verify signatures afterwards (`signature`).

use std::error::Error;
use std::fmt;
use std::net::SocketAddr;

use stun_types::attribute::{AttributeType, ErrorCode, RawAttribute, XorSocketAddr};
use stun_types::message::{Message as Stun, MessageClass, MessageHeader};
use stun_types::prelude::AttributeFromRaw;
use windlass_identity::PublicKey;

use super::{
    Content, INTRODUCE, Introduce, Introduced, KeepAlive, MAX_BODY_LEN, Message, Nonce, Proof,
    REGISTER, Refused, Register, Registered, TurnCredentials, attributes as attr,
};

/// Bytes are not a message of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseError {
    /// Not one STUN message, or its length field is wrong.
    NotStun,
    /// STUN of another method or class.
    OtherMethod,
    /// An attribute of this type is absent.
    Missing(u16),
    /// The value of an attribute of this type is malformed.
    Malformed(u16),
    /// An attribute of this type is unknown and must not be ignored.
    UnknownAttribute(u16),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStun => f.write_str("not a STUN message"),
            Self::OtherMethod => f.write_str("a STUN message of another method or class"),
            Self::Missing(kind) => write!(f, "attribute {kind:#06x} is absent"),
            Self::Malformed(kind) => write!(f, "attribute {kind:#06x} is malformed"),
            Self::UnknownAttribute(kind) => write!(f, "attribute {kind:#06x} is unknown"),
        }
    }
}

impl Error for ParseError {}

impl Message {
    /// The message in `bytes`, which hold exactly one. No signature is verified.
    ///
    /// # Errors
    ///
    /// [`ParseError`] if `bytes` are anything else.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let header = MessageHeader::from_bytes(bytes).map_err(|_| ParseError::NotStun)?;
        // `Stun::from_bytes` would take bytes after the message for attributes.
        if bytes.len() != MessageHeader::LENGTH + usize::from(header.data_length()) {
            return Err(ParseError::NotStun);
        }
        let method = header.get_type().method();
        if method != REGISTER && method != INTRODUCE {
            return Err(ParseError::OtherMethod);
        }
        let stun = Stun::from_bytes(bytes).map_err(|_| ParseError::NotStun)?;
        let fields = Fields { stun };
        fields.check_required()?;
        let content = match (stun.class(), method) {
            // Without a proof the host asks for a nonce.
            (MessageClass::Request, _) if !fields.has(attr::NONCE) && !fields.has(attr::TOKEN) => {
                Content::Hello(method)
            }
            (MessageClass::Request, REGISTER) if fields.has(attr::TOKEN) => {
                Content::KeepAlive(fields.keep_alive()?)
            }
            (MessageClass::Request, REGISTER) => Content::Register(fields.register()?),
            (MessageClass::Request, _) => Content::Introduce(fields.introduce()?),
            (MessageClass::Success, REGISTER) => Content::Registered(fields.registered()?),
            (MessageClass::Success, _) => Content::Introduced(fields.introduced()?),
            (MessageClass::Error, _) => Content::Refused(fields.refused()?),
            (MessageClass::Indication, _) => return Err(ParseError::OtherMethod),
        };
        Ok(Self { transaction: stun.transaction_id(), content })
    }
}

/// Reads the attributes of a message. Of several with one type, the first counts (RFC 8489,
/// section 14).
struct Fields<'a> {
    stun: Stun<'a>,
}

impl Fields<'_> {
    fn check_required(&self) -> Result<(), ParseError> {
        // RFC 8489, section 14: types below 0x8000 must be understood.
        let unknown = self
            .stun
            .iter_attributes()
            .map(|(_, raw)| raw.header.get_type())
            .find(|kind| kind.comprehension_required() && !attr::KNOWN_REQUIRED.contains(kind));
        unknown.map_or(Ok(()), |kind| Err(ParseError::UnknownAttribute(kind.value())))
    }

    fn has(&self, kind: AttributeType) -> bool {
        self.stun.has_attribute(kind)
    }

    /// The value of an attribute after `read`, or `None` if it is absent.
    fn optional<T>(
        &self,
        kind: AttributeType,
        read: impl FnOnce(&RawAttribute<'_>) -> Option<T>,
    ) -> Result<Option<T>, ParseError> {
        let Some(raw) = self.stun.raw_attribute(kind) else { return Ok(None) };
        read(&raw).map(Some).ok_or(ParseError::Malformed(kind.value()))
    }

    fn required<T>(
        &self,
        kind: AttributeType,
        read: impl FnOnce(&RawAttribute<'_>) -> Option<T>,
    ) -> Result<T, ParseError> {
        self.optional(kind, read)?.ok_or(ParseError::Missing(kind.value()))
    }

    fn address(&self, kind: AttributeType) -> Result<Option<SocketAddr>, ParseError> {
        let transaction = self.stun.transaction_id();
        self.optional(kind, |raw| Some(XorSocketAddr::from_raw(raw).ok()?.addr(transaction)))
    }

    fn key(&self, kind: AttributeType) -> Result<PublicKey, ParseError> {
        self.required(kind, public_key)
    }

    fn body(&self) -> Result<Vec<u8>, ParseError> {
        // A longer one would not fit the MTU once it is forwarded.
        let fits = |raw: &RawAttribute<'_>| raw.value.len() <= MAX_BODY_LEN;
        self.required(attr::BODY, |raw| fits(raw).then(|| raw.value.to_vec()))
    }

    fn register(&self) -> Result<Register, ParseError> {
        Ok(Register {
            key: self.key(attr::PUBLIC_KEY)?,
            instance: self.required(attr::INSTANCE, array)?,
            lifetime_s: self.required(attr::LIFETIME, number)?,
            nonce: self.required(attr::NONCE, nonce)?,
            challenge: self.optional(attr::CHALLENGE, array)?,
            signature: self.required(attr::SIGNATURE, array)?,
        })
    }

    fn keep_alive(&self) -> Result<KeepAlive, ParseError> {
        Ok(KeepAlive {
            token: self.required(attr::TOKEN, array)?,
            lifetime_s: self.required(attr::LIFETIME, number)?,
        })
    }

    fn registered(&self) -> Result<Registered, ParseError> {
        let mapped = self.address(attr::XOR_MAPPED_ADDRESS)?;
        let username = self.optional(attr::USERNAME, credential)?;
        let password = self.optional(attr::CREDENTIAL, credential)?;
        let key = self.optional(attr::SERVER_KEY, public_key)?;
        let signature = self.optional(attr::PROOF, array)?;
        Ok(Registered {
            mapped: mapped.ok_or(ParseError::Missing(attr::XOR_MAPPED_ADDRESS.value()))?,
            lifetime_s: self.required(attr::LIFETIME, number)?,
            nonce: self.optional(attr::NONCE, nonce)?,
            token: self.optional(attr::TOKEN, array)?,
            turn: username
                .zip(password)
                .map(|(username, password)| TurnCredentials { username, password }),
            proof: key.zip(signature).map(|(key, signature)| Proof { key, signature }),
        })
    }

    fn introduce(&self) -> Result<Introduce, ParseError> {
        Ok(Introduce {
            key: self.key(attr::PUBLIC_KEY)?,
            target: self.optional(attr::TARGET, public_key)?,
            introduction: self.required(attr::INTRODUCTION, array)?,
            body: self.body()?,
            nonce: self.required(attr::NONCE, nonce)?,
            seen: self.address(attr::XOR_PEER_ADDRESS)?,
            signature: self.required(attr::SIGNATURE, array)?,
        })
    }

    fn introduced(&self) -> Result<Introduced, ParseError> {
        Ok(Introduced {
            key: self.key(attr::PUBLIC_KEY)?,
            introduction: self.required(attr::INTRODUCTION, array)?,
            body: self.body()?,
            signature: self.required(attr::SIGNATURE, array)?,
        })
    }

    fn refused(&self) -> Result<Refused, ParseError> {
        Ok(Refused {
            method: self.stun.method(),
            code: self.required(attr::ERROR_CODE, code)?,
            nonce: self.optional(attr::NONCE, nonce)?,
            mapped: self.address(attr::XOR_MAPPED_ADDRESS)?,
            lifetime_s: self.optional(attr::LIFETIME, number)?,
        })
    }
}

fn array<const N: usize>(raw: &RawAttribute<'_>) -> Option<[u8; N]> {
    raw.value[..].try_into().ok()
}

fn public_key(raw: &RawAttribute<'_>) -> Option<PublicKey> {
    PublicKey::from_bytes(array(raw)?)
}

fn number(raw: &RawAttribute<'_>) -> Option<u32> {
    array(raw).map(u32::from_be_bytes)
}

fn nonce(raw: &RawAttribute<'_>) -> Option<Nonce> {
    Nonce::new(std::str::from_utf8(&raw.value).ok()?)
}

fn credential(raw: &RawAttribute<'_>) -> Option<String> {
    let text = std::str::from_utf8(&raw.value).ok()?;
    (text.len() <= TurnCredentials::MAX_LEN).then(|| text.into())
}

fn code(raw: &RawAttribute<'_>) -> Option<u16> {
    ErrorCode::from_raw_ref(raw).ok().map(|error| error.code())
}
