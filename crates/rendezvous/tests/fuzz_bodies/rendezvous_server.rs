//! A server among hosts that do anything: they register, introduce, relay, answer what they were not
//! asked, repeat and lie. The server must not panic, its tables must stay within their bounds, and an
//! address that proves nothing must never get more bytes than it sent.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::slice::Iter;

use stun_types::attribute::{AttributeType, RawAttribute, XorSocketAddr};
use stun_types::message::{
    IntegrityAlgorithm, LongTermKeyCredentials, Message as Stun, MessageClass, MessageType,
    MessageWrite, MessageWriteExt, MessageWriteVec, Method,
};
use windlass_base::{Rng, Span, Time};
use windlass_identity::SecretKey;
use windlass_rendezvous::message::{
    Content, INTRODUCE, Introduce, Introduced, KeepAlive, Message, Nonce, REGISTER, Refused,
    Register, Token, TransactionId, TurnCredentials,
};
use windlass_rendezvous::server::{
    AllocationId, Config, Path, PeerPolicy, RelayRequest, Server, Transmit,
};

/// Messages and waits in one input.
const STEPS_MAX: usize = 400;
/// Bounds of the server's tables.
const MAX: usize = 3;
/// The hosts: four addresses and two streams. The first address proves nothing.
const HOSTS: u8 = 6;

struct World<'a> {
    bytes: Iter<'a, u8>,
    server: Server,
    now: Time,
    /// Bytes that the server may still send to the first host, whose address is not verified.
    balance: i64,
    /// The newest nonce of each host.
    nonces: Vec<Option<Nonce>>,
    tokens: Vec<Token>,
    users: Vec<TurnCredentials>,
    /// Requests that wait for a host's answer.
    asked: Vec<(u8, TransactionId)>,
    open: BTreeSet<AllocationId>,
    /// The next port of a relayed address.
    port: u16,
}

/// One input of the target `rendezvous_server`.
pub(crate) fn run(bytes: &[u8]) {
    let mut config = Config::new([3; 16]);
    config.relay = Some(PeerPolicy::Public);
    config.limits.registrations = MAX;
    config.limits.introductions = MAX;
    config.limits.allocations = MAX;
    config.limits.allocations_per_network = 2;
    config.limits.registrations_per_network = 2;
    config.alternate = Some([1, 2, 3, 4].map(|last| ([203, 0, 113, last], 3478).into()));
    let mut world = World {
        bytes: bytes.iter(),
        server: Server::new(config, Rng::new(1)),
        now: Time::ZERO + Span::from_secs(1000),
        balance: 0,
        nonces: vec![None; usize::from(HOSTS)],
        tokens: vec![[0; 16]],
        users: vec![TurnCredentials { username: "unknown".into(), password: "none".into() }],
        asked: Vec::new(),
        open: BTreeSet::new(),
        port: 50_000,
    };
    for _ in 0..STEPS_MAX {
        let Some(&kind) = world.bytes.next() else { break };
        world.step(kind);
        world.drain();
        world.check();
    }
}

fn path(host: u8) -> Path {
    let address = SocketAddr::from(([192, 0, 2, host], 1000));
    match host {
        4 | 5 => Path::Stream { id: host.into(), address },
        _ => Path::Udp { socket: host & 3, address },
    }
}

fn host(path: Path) -> u8 {
    match path.address().ip() {
        std::net::IpAddr::V4(ip) => ip.octets()[3],
        std::net::IpAddr::V6(_) => panic!("a host that does not exist"),
    }
}

fn secret(number: u8) -> SecretKey {
    SecretKey::from_seed([number; 32])
}

impl World<'_> {
    fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or(0)
    }

    fn step(&mut self, kind: u8) {
        let from = self.byte() % HOSTS;
        match kind % 12 {
            0 => self.wait(),
            1 => self.junk(from),
            2 | 3 => self.register(from),
            4 => {
                let at = usize::from(self.byte()) % self.tokens.len();
                let lifetime_s = u32::from(self.byte());
                let token = self.tokens[at];
                self.send(from, Content::KeepAlive(KeepAlive { token, lifetime_s }));
            }
            5 | 6 => self.introduce(from),
            7 => self.answer(),
            8 | 9 => self.turn(from),
            10 => {
                let number = 0x40 + (self.byte() & 1);
                let data = self.byte() % 20;
                let mut bytes = vec![number, 0, 0, data];
                bytes.resize(4 + usize::from(data), 7);
                self.deliver(from, &bytes);
            }
            _ => self.receive_from_peer(),
        }
    }

    fn deliver(&mut self, from: u8, bytes: &[u8]) {
        if from == 0 {
            self.balance += bytes.len() as i64;
        }
        self.server.handle(self.now, path(from), bytes);
    }

    fn send(&mut self, from: u8, content: Content) {
        let transaction = TransactionId::from(u128::from(self.byte()));
        self.deliver(from, &Message { transaction, content }.encode());
    }

    /// The first host has none, so that it stays unverified.
    fn nonce(&mut self, of: u8) -> Nonce {
        let known = self.nonces[usize::from(of)].clone();
        known.unwrap_or_else(|| Nonce::new("unknown").expect("a nonce"))
    }

    fn junk(&mut self, from: u8) {
        let len = usize::from(self.byte());
        let bytes: Vec<u8> = (0..len).map(|_| self.byte()).collect();
        match self.byte() % 3 {
            0 => self.deliver(from, &bytes),
            kind => {
                // A header that fits, for a method of the input.
                let class =
                    if kind == 1 { MessageClass::Request } else { MessageClass::Indication };
                let method = Method::new(u16::from(self.byte()) % 12);
                let mut message = stun(class, method);
                add(&mut message, 0x8000 | u16::from(self.byte()), &bytes);
                self.deliver(from, &message.finish());
            }
        }
    }

    fn register(&mut self, from: u8) {
        let (key, flags) = (self.byte(), self.byte());
        let nonce = self.nonce(from);
        if flags & 7 == 0 {
            let method = if flags & 8 == 0 { REGISTER } else { INTRODUCE };
            return self.send(from, Content::Hello(method));
        }
        let lifetime_s = u32::from(flags >> 3) * 10;
        let mut register = Register::signed(&secret(key % 6), nonce, [flags & 1; 16], lifetime_s);
        if flags & 6 == 0 {
            register.key = secret(key % 6 + 1).public_key();
        }
        self.send(from, Content::Register(register));
    }

    fn introduce(&mut self, from: u8) {
        let (key, target, id) = (self.byte() % 6, self.byte(), self.byte() % 8);
        let nonce = self.nonce(from);
        let target = (target & 1 == 0).then(|| secret(target % 6).public_key());
        let body = vec![id; usize::from(self.byte()) * 3];
        let introduce = Introduce::signed(&secret(key), nonce, target, [id; 16], body);
        self.send(from, Content::Introduce(introduce));
    }

    /// The host that was asked answers, or another one.
    fn answer(&mut self) {
        let (at, flags) = (usize::from(self.byte()), self.byte());
        let Some(&(host, transaction)) = self.asked.get(at % self.asked.len().max(1)) else {
            return;
        };
        let from = if flags & 3 == 0 { flags % HOSTS } else { host };
        let content = match flags & 4 {
            0 => Content::Introduced(Introduced::signed(&secret(host), [1; 16], vec![flags; 90])),
            _ => Content::Refused(Refused::with_code(INTRODUCE, 403)),
        };
        self.deliver(from, &Message { transaction, content }.encode());
    }

    fn turn(&mut self, from: u8) {
        const METHODS: [u16; 5] = [3, 4, 6, 8, 9];
        let method = METHODS[usize::from(self.byte()) % METHODS.len()];
        let class = if method == 6 { MessageClass::Indication } else { MessageClass::Request };
        let mut message = stun(class, Method::new(method));
        let at = usize::from(self.byte()) % self.users.len();
        let user = self.users[at].clone();
        let (peer, flags) = (self.byte(), self.byte());
        let peer = SocketAddr::from(([198, 51, 100, peer], 9));
        // Seldom all attributes, which not every method understands.
        let has = |methods: &[u16]| flags >> 4 == 15 || methods.contains(&method);
        if has(&[6, 8, 9]) {
            let xor = XorSocketAddr::new(peer, message.transaction_id());
            message.push_attribute_unchecked(&xor.to_raw(AttributeType::new(0x12)));
        }
        for (kind, value, methods) in [
            (0x0d, (u32::from(flags) * 16).to_be_bytes(), &[3, 4][..]),
            (0x19, [17 + (flags & 1), 0, 0, 0], &[3]),
            (0x0c, [0x40, flags & 1, 0, 0], &[9]),
            (0x13, [flags; 4], &[6]),
        ] {
            if has(methods) {
                add(&mut message, kind, &value);
            }
        }
        if class == MessageClass::Request {
            let nonce = self.nonce(from);
            add(&mut message, 0x06, user.username.as_bytes());
            add(&mut message, 0x14, b"windlass");
            add(&mut message, 0x15, nonce.as_str().as_bytes());
            let credentials =
                LongTermKeyCredentials::new(user.username, user.password, "windlass".into());
            let added =
                message.add_message_integrity(&credentials.into(), IntegrityAlgorithm::Sha1);
            added.expect("the first integrity");
        }
        self.deliver(from, &message.finish());
    }

    fn receive_from_peer(&mut self) {
        let (at, peer, len) = (self.byte(), self.byte(), self.byte());
        let Some(&allocation) = self.open.iter().nth(usize::from(at) % MAX) else { return };
        let from = SocketAddr::from(([198, 51, 100, peer], 9));
        self.server.handle_relayed(self.now, allocation, from, &vec![1; len.into()]);
    }

    fn wait(&mut self) {
        let passed = Span::from_secs(u64::from(self.byte()));
        self.now += passed;
        self.server.handle_timeout(self.now);
        assert!(self.server.poll_timeout() > self.now, "a deadline that is not over");
        if self.byte() & 15 == 0 {
            self.server.stream_closed(self.now, 4);
        }
    }

    fn drain(&mut self) {
        while let Some(request) = self.server.poll_relay() {
            match request {
                RelayRequest::Open { allocation, .. } => {
                    let opened = self.byte() & 7 != 0;
                    if opened {
                        self.open.insert(allocation);
                    }
                    self.port += 1;
                    let address = opened.then(|| ([203, 0, 113, 1], self.port).into());
                    self.server.relay_opened(self.now, allocation, address);
                }
                RelayRequest::Close { allocation } => {
                    assert!(self.open.remove(&allocation), "a socket that was never opened");
                }
            }
        }
        while let Some(transmit) = self.server.poll_transmit() {
            match transmit {
                Transmit::Host { path, bytes } => self.receive(host(path), &bytes),
                Transmit::Peer { allocation, to, .. } => {
                    assert!(self.open.contains(&allocation));
                    assert_eq!(to.port(), 9, "a peer without a permission");
                }
            }
        }
    }

    fn receive(&mut self, host: u8, bytes: &[u8]) {
        if host == 0 {
            self.balance -= bytes.len() as i64;
            assert!(self.balance >= 0, "more than an unverified address had sent");
            return;
        }
        let at = usize::from(host);
        if let Ok(message) = Stun::from_bytes(bytes)
            && let Some(nonce) = message.raw_attribute(AttributeType::new(0x15))
        {
            let text = std::str::from_utf8(&nonce.value).expect("text");
            self.nonces[at] = Some(Nonce::new(text).expect("a nonce"));
        }
        let Ok(message) = Message::parse(bytes) else { return };
        match message.content {
            Content::Registered(registered) => {
                self.tokens.extend(registered.token);
                self.users.extend(registered.turn);
            }
            Content::Introduce(introduce) => {
                assert!(introduce.verify().is_ok() && introduce.seen.is_some());
                self.asked.push((host, message.transaction));
            }
            _ => {}
        }
    }

    fn check(&self) {
        self.server.check();
        let counters = self.server.counters();
        let max = MAX as u64;
        assert!(counters.registrations <= max && counters.introductions <= max, "{counters:?}");
        assert!(counters.allocations <= max, "{counters:?}");
    }
}

fn stun(class: MessageClass, method: Method) -> MessageWriteVec {
    let kind = MessageType::from_class_method(class, method);
    Stun::builder(kind, TransactionId::from(7), MessageWriteVec::new())
}

fn add(to: &mut MessageWriteVec, kind: u16, value: &[u8]) {
    to.push_attribute_unchecked(&RawAttribute::new(AttributeType::new(kind), value));
}
