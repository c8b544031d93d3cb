//! A rendezvous that lies: it names wrong addresses, answers with its own key, changes bodies, repeats
//! old messages, floods and keeps messages back. It can deny service, and nothing else.

use std::net::{Ipv4Addr, SocketAddr};
use windlass_base::Rng;
use windlass_identity::SecretKey;
use windlass_rendezvous::message::{Content, Introduce, Introduced, Message, Refused, Registered};

/// Old messages that are remembered.
const MEMORY_MAX: usize = 32;
/// Datagrams of a flood.
const FLOOD: usize = 20;

pub(super) struct Liar {
    rng: Rng,
    key: SecretKey,
    memory: Vec<Vec<u8>>,
}

impl Liar {
    pub(super) fn new(seed: u64) -> Liar {
        let key = SecretKey::from_seed([66; 32]);
        Liar { rng: Rng::fork(seed, 4), key, memory: Vec::new() }
    }

    /// Replaces a message of the server: returns none, one or several messages for the host.
    pub(super) fn twist(&mut self, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        let mut sent = match self.rng.below(8) {
            0 => vec![],
            1 => self.flood(),
            2 => self.repeat(),
            3..6 => vec![self.lie(&bytes).unwrap_or_else(|| bytes.clone())],
            _ => vec![bytes.clone()],
        };
        if self.memory.len() >= MEMORY_MAX {
            self.memory.remove(0);
        }
        self.memory.push(bytes);
        sent.truncate(FLOOD);
        sent
    }

    fn repeat(&mut self) -> Vec<Vec<u8>> {
        if self.memory.is_empty() {
            return vec![];
        }
        let at = self.rng.below(self.memory.len() as u64) as usize;
        vec![self.memory[at].clone()]
    }

    fn flood(&mut self) -> Vec<Vec<u8>> {
        let rng = &mut self.rng;
        let junk = |rng: &mut Rng| {
            let len = rng.between(1, 300);
            (0..len).map(|_| rng.below(256) as u8).collect()
        };
        (0..FLOOD).map(|_| junk(rng)).collect()
    }

    fn address(&mut self) -> SocketAddr {
        let ip = Ipv4Addr::from_bits(self.rng.below(1 << 32) as u32);
        (ip, self.rng.below(1 << 16) as u16).into()
    }

    /// The same message with something wrong in it; `None` for one of the relay.
    fn lie(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let Message { transaction, content } = Message::parse(bytes).ok()?;
        let content = match content {
            Content::Registered(registered) => {
                Content::Registered(Registered { mapped: self.address(), ..registered })
            }
            Content::Refused(refused) => match self.rng.below(2) {
                0 => Content::Refused(Refused { mapped: Some(self.address()), ..refused }),
                _ => Content::Refused(Refused::with_code(refused.method, 300 + self.code())),
            },
            Content::Introduce(introduce) => Content::Introduce(self.false_introduce(introduce)),
            Content::Introduced(introduced) => {
                Content::Introduced(self.false_introduced(introduced))
            }
            other => other,
        };
        Some(Message { transaction, content }.encode())
    }

    fn code(&mut self) -> u16 {
        self.rng.below(300) as u16
    }

    fn changed(&mut self, mut body: Vec<u8>) -> Vec<u8> {
        if !body.is_empty() {
            let at = self.rng.below(body.len() as u64) as usize;
            body[at] ^= 1 << self.rng.below(8);
        }
        body
    }

    fn false_introduce(&mut self, true_one: Introduce) -> Introduce {
        let Introduce { target, introduction, body, nonce, .. } = true_one.clone();
        match self.rng.below(4) {
            // With a key of its own, it is another host.
            0 => Introduce::signed(&self.key, nonce, target, introduction, body),
            1 => Introduce { key: self.key.public_key(), ..true_one },
            2 => Introduce { body: self.changed(body), ..true_one },
            _ => Introduce { seen: Some(self.address()), ..true_one },
        }
    }

    fn false_introduced(&mut self, true_one: Introduced) -> Introduced {
        let Introduced { introduction, body, .. } = true_one.clone();
        match self.rng.below(3) {
            0 => Introduced::signed(&self.key, introduction, body),
            1 => Introduced { key: self.key.public_key(), ..true_one },
            _ => Introduced { body: self.changed(body), ..true_one },
        }
    }
}
