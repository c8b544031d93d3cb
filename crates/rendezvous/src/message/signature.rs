//! The bytes that signatures cover.

use stun_types::message::MessageClass;
use windlass_identity::{BadSignature, PublicKey, SecretKey};

use super::{
    Challenge, Content, INTRODUCE, Instance, Introduce, Introduced, IntroductionId, Method, Nonce,
    Proof, REGISTER, Register, Registered,
};

/// The first bytes of every signed text. They keep a signature for one purpose from being valid for
/// another.
const CONTEXT: &[u8] = b"windlass-rendezvous-1";

/// The signed parts of a message. Absent parts are empty.
struct Signed<'a> {
    class: MessageClass,
    method: Method,
    nonce: &'a [u8],
    target: &'a [u8],
    introduction: &'a [u8],
    instance: &'a [u8],
    body: &'a [u8],
}

impl Signed<'_> {
    fn to_bytes(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(128 + self.body.len());
        text.extend_from_slice(CONTEXT);
        text.extend_from_slice(&self.method.value().to_be_bytes());
        // The two bits of RFC 8489, section 5.
        text.push(match self.class {
            MessageClass::Request => 0,
            MessageClass::Indication => 1,
            MessageClass::Success => 2,
            MessageClass::Error => 3,
        });
        let parts = [self.nonce, self.target, self.introduction, self.instance, self.body];
        extend_with_parts(&mut text, &parts);
        text
    }
}

/// Each part after its length: otherwise a server could choose a nonce such that the same text has
/// other parts.
fn extend_with_parts(text: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        text.extend_from_slice(&(part.len() as u16).to_be_bytes());
        text.extend_from_slice(part);
    }
}

impl Register {
    /// A registration of the public key of `secret`.
    pub fn signed(secret: &SecretKey, nonce: Nonce, instance: Instance, lifetime_s: u32) -> Self {
        let key = secret.public_key();
        let (challenge, signature) = (None, [0; 64]);
        let mut register = Self { key, instance, lifetime_s, nonce, challenge, signature };
        register.signature = secret.sign(&register.signed_text());
        register
    }

    /// Checks that the owner of the key made this message.
    ///
    /// # Errors
    ///
    /// [`BadSignature`] if not.
    pub fn verify(&self) -> Result<(), BadSignature> {
        self.key.verify(&self.signed_text(), &self.signature)
    }

    fn signed_text(&self) -> Vec<u8> {
        let signed = Signed {
            class: MessageClass::Request,
            method: REGISTER,
            nonce: self.nonce.as_str().as_bytes(),
            target: &[],
            introduction: &[],
            instance: &self.instance,
            body: &[],
        };
        signed.to_bytes()
    }
}

impl Registered {
    /// Adds the proof that the server with this key has made the response for `host`, which sent
    /// the challenge.
    pub fn prove(&mut self, secret: &SecretKey, host: &PublicKey, challenge: &Challenge) {
        let key = secret.public_key();
        let signature = secret.sign(&self.proved_text(host, challenge));
        self.proof = Some(Proof { key, signature });
    }

    /// The key that the server has proved; `None` without a proof.
    ///
    /// # Errors
    ///
    /// [`BadSignature`] if the proof is of another response, request or key.
    pub(crate) fn proved_key(
        &self,
        host: &PublicKey,
        challenge: &Challenge,
    ) -> Result<Option<PublicKey>, BadSignature> {
        let Some(Proof { key, signature }) = &self.proof else { return Ok(None) };
        key.verify(&self.proved_text(host, challenge), signature).map(|()| Some(*key))
    }

    fn proved_text(&self, host: &PublicKey, challenge: &Challenge) -> Vec<u8> {
        let mapped = self.mapped.to_string();
        let token = self.token.as_ref().map_or(&[][..], |token| token);
        let turn = self.turn.as_ref();
        let [username, password] = turn
            .map_or(["", ""], |turn| [turn.username.as_str(), turn.password.as_str()])
            .map(str::as_bytes);
        let lifetime = self.lifetime_s.to_be_bytes();
        let mut body = Vec::new();
        extend_with_parts(&mut body, &[mapped.as_bytes(), &lifetime, token, username, password]);
        let signed = Signed {
            class: MessageClass::Success,
            method: REGISTER,
            nonce: &[],
            target: host.as_bytes(),
            introduction: &[],
            instance: challenge,
            body: &body,
        };
        signed.to_bytes()
    }
}

impl Introduce {
    /// A body for the host `target`, or for the other host of an introduction if `target` is absent.
    pub fn signed(
        secret: &SecretKey,
        nonce: Nonce,
        target: Option<PublicKey>,
        introduction: IntroductionId,
        body: Vec<u8>,
    ) -> Self {
        let key = secret.public_key();
        let signature = [0; 64];
        let mut introduce = Self { key, target, introduction, body, nonce, seen: None, signature };
        introduce.signature = secret.sign(&introduce.signed_text());
        introduce
    }

    /// Checks that the owner of the key made this message.
    ///
    /// # Errors
    ///
    /// [`BadSignature`] if not.
    pub fn verify(&self) -> Result<(), BadSignature> {
        self.key.verify(&self.signed_text(), &self.signature)
    }

    fn signed_text(&self) -> Vec<u8> {
        let signed = Signed {
            class: MessageClass::Request,
            method: INTRODUCE,
            nonce: self.nonce.as_str().as_bytes(),
            target: self.target.as_ref().map_or(&[], |key| key.as_bytes()),
            introduction: &self.introduction,
            instance: &[],
            body: &self.body,
        };
        signed.to_bytes()
    }
}

impl Introduced {
    /// An answer to an introduction.
    pub fn signed(secret: &SecretKey, introduction: IntroductionId, body: Vec<u8>) -> Self {
        let key = secret.public_key();
        let mut introduced = Self { key, introduction, body, signature: [0; 64] };
        introduced.signature = secret.sign(&introduced.signed_text());
        introduced
    }

    /// Checks that the owner of the key made this message.
    ///
    /// # Errors
    ///
    /// [`BadSignature`] if not.
    pub fn verify(&self) -> Result<(), BadSignature> {
        self.key.verify(&self.signed_text(), &self.signature)
    }

    fn signed_text(&self) -> Vec<u8> {
        let signed = Signed {
            class: MessageClass::Success,
            method: INTRODUCE,
            nonce: &[],
            target: &[],
            introduction: &self.introduction,
            instance: &[],
            body: &self.body,
        };
        signed.to_bytes()
    }
}

impl Content {
    /// Checks the signature of a message that has one. Others pass.
    ///
    /// # Errors
    ///
    /// [`BadSignature`] if it is not of the message's key.
    pub fn verify(&self) -> Result<(), BadSignature> {
        match self {
            Self::Register(register) => register.verify(),
            Self::Introduce(introduce) => introduce.verify(),
            Self::Introduced(introduced) => introduced.verify(),
            Self::Hello(_) | Self::KeepAlive(_) | Self::Registered(_) | Self::Refused(_) => Ok(()),
        }
    }
}
