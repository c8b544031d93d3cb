//! Messages to bytes; `parse` is the way back.

use std::net::SocketAddr;

use stun_types::attribute::{AttributeType, RawAttribute, XorSocketAddr};
use stun_types::message::{
    Message as Stun, MessageClass, MessageType, MessageWrite, MessageWriteVec, TransactionId,
};

use super::{
    Content, INTRODUCE, Introduce, Introduced, KeepAlive, MAX_BODY_LEN, MIN_REQUEST_LEN, Message,
    REGISTER, Refused, Register, Registered, attributes as attr,
};

/// The length of an attribute's header in bytes.
const HEADER_LEN: usize = 4;

impl Message {
    /// The bytes of the message.
    ///
    /// # Panics
    ///
    /// If a body or a credential is longer than its limit.
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::new(self);
        match &self.content {
            Content::Hello(_) => {}
            Content::Register(register) => to.register(register),
            Content::KeepAlive(keep_alive) => to.keep_alive(keep_alive),
            Content::Registered(registered) => to.registered(registered),
            Content::Introduce(introduce) => to.introduce(introduce),
            Content::Introduced(introduced) => to.introduced(introduced),
            Content::Refused(refused) => to.refused(refused),
        }
        // No answer shall be longer than its request: a forged source would be flooded.
        if self.content.class() == MessageClass::Request {
            to.pad();
        }
        to.write.finish()
    }
}

impl Content {
    /// The STUN class of the message.
    pub(super) fn class(&self) -> MessageClass {
        match self {
            Self::Hello(_) | Self::Register(_) | Self::KeepAlive(_) | Self::Introduce(_) => {
                MessageClass::Request
            }
            Self::Registered(_) | Self::Introduced(_) => MessageClass::Success,
            Self::Refused(_) => MessageClass::Error,
        }
    }

    /// The STUN method of the message.
    pub(crate) fn method(&self) -> stun_types::message::Method {
        match self {
            Self::Hello(method) | Self::Refused(Refused { method, .. }) => *method,
            Self::Register(_) | Self::KeepAlive(_) | Self::Registered(_) => REGISTER,
            Self::Introduce(_) | Self::Introduced(_) => INTRODUCE,
        }
    }
}

struct Writer {
    write: MessageWriteVec,
    transaction: TransactionId,
}

impl Writer {
    fn new(message: &Message) -> Self {
        let class = message.content.class();
        let kind = MessageType::from_class_method(class, message.content.method());
        let write = Stun::builder(kind, message.transaction, MessageWriteVec::new());
        Self { write, transaction: message.transaction }
    }

    fn bytes(&mut self, kind: AttributeType, value: &[u8]) {
        self.write.push_attribute_unchecked(&RawAttribute::new(kind, value));
    }

    fn number(&mut self, kind: AttributeType, value: u32) {
        self.bytes(kind, &value.to_be_bytes());
    }

    fn address(&mut self, kind: AttributeType, address: SocketAddr) {
        // RFC 8489, section 14.2: XORed, because some NATs rewrite addresses in payload.
        let xor = XorSocketAddr::new(address, self.transaction);
        self.write.push_attribute_unchecked(&xor.to_raw(kind));
    }

    fn body(&mut self, body: &[u8]) {
        assert!(body.len() <= MAX_BODY_LEN, "a body of {} bytes is too long", body.len());
        self.bytes(attr::BODY, body);
    }

    fn register(&mut self, register: &Register) {
        self.bytes(attr::NONCE, register.nonce.as_str().as_bytes());
        self.bytes(attr::PUBLIC_KEY, register.key.as_bytes());
        self.bytes(attr::INSTANCE, &register.instance);
        self.number(attr::LIFETIME, register.lifetime_s);
        if let Some(challenge) = &register.challenge {
            self.bytes(attr::CHALLENGE, challenge);
        }
        self.bytes(attr::SIGNATURE, &register.signature);
    }

    fn keep_alive(&mut self, keep_alive: &KeepAlive) {
        self.bytes(attr::TOKEN, &keep_alive.token);
        self.number(attr::LIFETIME, keep_alive.lifetime_s);
    }

    fn registered(&mut self, registered: &Registered) {
        self.address(attr::XOR_MAPPED_ADDRESS, registered.mapped);
        self.number(attr::LIFETIME, registered.lifetime_s);
        if let Some(nonce) = &registered.nonce {
            self.bytes(attr::NONCE, nonce.as_str().as_bytes());
        }
        if let Some(token) = &registered.token {
            self.bytes(attr::TOKEN, token);
        }
        if let Some(turn) = &registered.turn {
            let longest = turn.username.len().max(turn.password.len());
            assert!(longest <= super::TurnCredentials::MAX_LEN, "a credential is too long");
            self.bytes(attr::USERNAME, turn.username.as_bytes());
            self.bytes(attr::CREDENTIAL, turn.password.as_bytes());
        }
        if let Some(proof) = &registered.proof {
            self.bytes(attr::SERVER_KEY, proof.key.as_bytes());
            self.bytes(attr::PROOF, &proof.signature);
        }
    }

    fn introduce(&mut self, introduce: &Introduce) {
        self.bytes(attr::NONCE, introduce.nonce.as_str().as_bytes());
        self.bytes(attr::PUBLIC_KEY, introduce.key.as_bytes());
        if let Some(target) = &introduce.target {
            self.bytes(attr::TARGET, target.as_bytes());
        }
        self.bytes(attr::INTRODUCTION, &introduce.introduction);
        if let Some(seen) = introduce.seen {
            self.address(attr::XOR_PEER_ADDRESS, seen);
        }
        self.body(&introduce.body);
        self.bytes(attr::SIGNATURE, &introduce.signature);
    }

    fn introduced(&mut self, introduced: &Introduced) {
        self.bytes(attr::PUBLIC_KEY, introduced.key.as_bytes());
        self.bytes(attr::INTRODUCTION, &introduced.introduction);
        self.body(&introduced.body);
        self.bytes(attr::SIGNATURE, &introduced.signature);
    }

    fn refused(&mut self, refused: &Refused) {
        // RFC 8489, section 14.8: the hundreds and the rest in one byte each. A reason phrase would
        // make the answer longer than the request.
        let [hundreds, rest] = [refused.code / 100, refused.code % 100].map(|part| part as u8);
        self.bytes(attr::ERROR_CODE, &[0, 0, hundreds & 7, rest]);
        if let Some(nonce) = &refused.nonce {
            self.bytes(attr::NONCE, nonce.as_str().as_bytes());
        }
        if let Some(mapped) = refused.mapped {
            self.address(attr::XOR_MAPPED_ADDRESS, mapped);
        }
        if let Some(lifetime_s) = refused.lifetime_s {
            self.number(attr::LIFETIME, lifetime_s);
        }
    }

    fn pad(&mut self) {
        let missing = MIN_REQUEST_LEN.saturating_sub(self.write.len());
        if missing > 0 {
            // Every attribute so far is a multiple of 4 long, and so is `missing`.
            self.bytes(attr::PADDING, &vec![0; missing - HEADER_LEN]);
        }
    }
}
