//! A host of sessions against a rendezvous and peers that do anything: any datagrams, offers with any
//! contents that are properly signed, and calls of the user in any order. The host must not panic,
//! must come to rest at every point in time, and must open sessions only for hosts that it allows.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use windlass_base::{Rng, Span, Time};
use windlass_identity::{PublicKey, SecretKey};
use windlass_rendezvous::message::{
    Content, Introduce, Introduced, IntroductionId, Message, Nonce, TransactionId,
};
use windlass_tou::session::{Allow, Channel, Event, Host, HostConfig};

const STEPS_MAX: usize = 300;
/// Datagrams that one input may cause: checks of every pair, and answers.
const ANSWERS_MAX: usize = 4096;

struct World<'a> {
    bytes: std::slice::Iter<'a, u8>,
    host: Host,
    now: Time,
    tags: Vec<u32>,
    /// The host's own introductions, newest last.
    asked: Vec<(TransactionId, IntroductionId)>,
}

/// One input of the target `session_host`.
pub(crate) fn run(bytes: &[u8]) {
    let mut rng = Rng::new(1);
    let config = HostConfig {
        key: secret(1),
        instance: [1; 16],
        allow: Allow::Keys([key(2)].into()),
        relay_only: false,
        outage_max: Span::from_secs(900),
        source_for: Box::new(|_| None),
        random: Box::new(move |bytes| bytes.fill_with(|| rng.below(256) as u8)),
    };
    let now = Time::ZERO;
    let host = Host::new(config, 7000);
    let (tags, asked) = (Vec::new(), Vec::new());
    let mut world = World { bytes: bytes.iter(), host, now, tags, asked };
    world.host.set_addresses(now, [local(1)]);
    world.host.add_rendezvous(now, server(), None);
    for _ in 0..STEPS_MAX {
        let Some(&kind) = world.bytes.next() else { break };
        world.step(kind);
        world.drain();
    }
}

impl World<'_> {
    fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or(0)
    }

    fn take(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.byte()).collect()
    }

    fn datagram(&mut self) -> Vec<u8> {
        let len = usize::from(self.byte());
        self.take(len)
    }

    fn step(&mut self, kind: u8) {
        let now = self.now;
        match kind % 10 {
            0 => self.wait(),
            1 => {
                let datagram = self.datagram();
                self.arrive(server(), &datagram);
            }
            2 => {
                let datagram = self.datagram();
                let from = SocketAddr::new(local(self.byte() % 4), 7000);
                self.arrive(from, &datagram);
            }
            3 => {
                let body = self.datagram();
                self.offer(body);
            }
            4 | 5 => {
                let body = self.body(1 + (kind % 10 - 4) * 2);
                self.offer(body);
            }
            6 => {
                if let Ok(tag) = self.host.connect(now, key(2)) {
                    self.tags.push(tag);
                }
            }
            7 => self.answer(),
            8 => {
                let addresses: Vec<_> =
                    (0..self.byte() % 3).map(|_| local(self.byte() % 4)).collect();
                self.host.set_addresses(now, addresses);
            }
            _ => {
                if let Some(tag) = self.tags.pop() {
                    self.host.close(now, tag);
                }
            }
        }
    }

    fn arrive(&mut self, from: SocketAddr, datagram: &[u8]) {
        self.host.handle(self.now, Channel::Udp, None, from, datagram);
    }

    /// The body of an offer (1), an answer (2) or more candidates (3), with any candidates.
    fn body(&mut self, kind: u8) -> Vec<u8> {
        let tag = match self.tags.last().copied() {
            Some(tag) if self.byte() & 1 == 0 => tag.to_be_bytes(),
            _ => [0, 0, 0, self.byte() % 4],
        };
        let mut body = vec![1, kind];
        body.extend(tag);
        for text in ["abcdefgh", "abcdefghijklmnopqrstuvwx"] {
            body.push(text.len() as u8);
            body.extend(text.bytes());
        }
        let count = self.byte() % 4;
        body.push(count);
        for _ in 0..count {
            body.push(1 + self.byte() % 4);
            body.extend(self.take(4));
            body.push(4);
            body.extend(self.take(6));
        }
        body
    }

    fn offer(&mut self, body: Vec<u8>) {
        let who = 2 + self.byte() % 2;
        let nonce = Nonce::new("n").expect("a nonce");
        let id = [self.byte() % 4; 16];
        let introduce = Introduce {
            seen: Some(SocketAddr::new(local(9), 7000)),
            ..Introduce::signed(&secret(who), nonce, Some(key(1)), id, body)
        };
        let transaction = u128::from(self.byte()).into();
        self.deliver(transaction, Content::Introduce(introduce));
    }

    fn answer(&mut self) {
        let Some((transaction, introduction)) = self.asked.last().copied() else { return };
        let body = self.body(2);
        let introduced = Introduced::signed(&secret(2), introduction, body);
        self.deliver(transaction, Content::Introduced(introduced));
    }

    fn deliver(&mut self, transaction: TransactionId, content: Content) {
        self.arrive(server(), &Message { transaction, content }.encode());
    }

    /// Lets up to a minute pass. Each deadline must bring the host forward.
    fn wait(&mut self) {
        let end = self.now + Span::from_millis(u64::from(self.byte()) * 250);
        let mut same_time = 0;
        while let Some(at) = self.host.poll_timeout().filter(|at| *at <= end) {
            same_time = if at > self.now { 0 } else { same_time + 1 };
            assert!(same_time < 100, "the host never comes to rest at {}", self.now);
            self.now = self.now.max(at);
            self.host.handle_timeout(self.now);
            self.drain();
        }
        self.now = end;
    }

    fn drain(&mut self) {
        let mut sent = 0;
        while let Some(outgoing) = self.host.poll_transmit() {
            sent += 1;
            assert!(sent <= ANSWERS_MAX, "a flood of datagrams");
            if let Ok(Message { transaction, content: Content::Introduce(introduce) }) =
                Message::parse(&outgoing.bytes)
            {
                self.asked.push((transaction, introduce.introduction));
            }
        }
        while let Some(event) = self.host.poll_event() {
            if let Event::Opened { tag, peer, .. } = event {
                assert_eq!(peer, key(2), "a session with a host that is not allowed");
                self.tags.push(tag);
            }
        }
    }
}

fn secret(number: u8) -> SecretKey {
    SecretKey::from_seed([number; 32])
}

fn key(number: u8) -> PublicKey {
    secret(number).public_key()
}

fn server() -> SocketAddr {
    SocketAddr::from(([203, 0, 113, 1], 3478))
}

fn local(last: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, last).into()
}
