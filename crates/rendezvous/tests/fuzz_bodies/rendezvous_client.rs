//! A client against a server that does anything: it answers, repeats, lies, and floods. The client
//! must not panic, must not send more messages than its inputs and timers explain, and must always
//! have a next deadline in the future.

use windlass_base::{Rng, Span, Time};
use windlass_identity::SecretKey;
use windlass_rendezvous::client::{Client, Config, Event, Transport};
use windlass_rendezvous::message::{
    Content, Introduce, Introduced, IntroductionId, Message, Nonce, REGISTER, Refused, Registered,
    TransactionId,
};

/// Requests of the caller and of the server in one input.
const STEPS_MAX: usize = 400;

struct Server<'a> {
    bytes: std::slice::Iter<'a, u8>,
    client: Client,
    now: Time,
    /// The newest messages of the client.
    transactions: Vec<TransactionId>,
    introductions: Vec<IntroductionId>,
    sent: usize,
}

/// One input of the target `rendezvous_client`.
pub(crate) fn run(bytes: &[u8]) {
    let mut bytes = bytes.iter();
    let flags = bytes.next().copied().unwrap_or(0);
    let transport = if flags & 1 == 0 { Transport::Datagram } else { Transport::Stream };
    let publish = flags & 2 == 0;
    let config =
        Config { secret: secret(1), instance: [1; 16], publish, transport, server_key: None };
    let now = Time::ZERO;
    let client = Client::new(config, Rng::new(1), now);
    let (transactions, introductions) = (Vec::new(), vec![[3; 16]]);
    let mut server = Server { bytes, client, now, transactions, introductions, sent: 0 };
    for _ in 0..STEPS_MAX {
        let Some(&kind) = server.bytes.next() else { break };
        let before = server.sent;
        server.step(kind);
        server.drain();
        // One input causes at most one message for each body under way, and one for the
        // registration. A wait, which has many deadlines, checks each.
        let explained = server.introductions.len() + 2;
        assert!(kind % 12 == 0 || server.sent - before <= explained);
    }
}

impl Server<'_> {
    fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or(0)
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    fn step(&mut self, kind: u8) {
        match kind % 12 {
            0 => self.wait(),
            1..=5 => self.respond(kind % 12),
            6 => self.introduce(),
            7 => {
                let id = self.client.introduce(self.now, secret(2).public_key(), vec![1]);
                self.introductions.push(id);
            }
            8 => {
                let id = self.introduction();
                if self.client.send(self.now, id, vec![2]) {
                    // Counts as one more body under way.
                    self.introductions.push(id);
                }
            }
            9 => {
                let id = self.introduction();
                if self.byte() & 1 == 0 {
                    self.client.answer(id, vec![3]);
                } else {
                    self.client.refuse(id, 403);
                }
            }
            10 => self.control(),
            _ => {
                let at = (0..usize::from(self.byte())).map(|_| self.byte()).collect::<Vec<_>>();
                self.client.handle(self.now, &at);
            }
        }
    }

    fn control(&mut self) {
        match self.byte() % 4 {
            0 => self.client.refresh(self.now),
            1 => self.client.restart(self.now),
            2 => {
                let id = self.introduction();
                self.client.forget(id);
            }
            _ => self.client.close(self.now),
        }
    }

    fn introduction(&mut self) -> IntroductionId {
        let at = usize::from(self.byte()) % self.introductions.len();
        self.introductions[at]
    }

    /// Lets up to a minute pass. Each deadline must bring the client forward.
    fn wait(&mut self) {
        let end = self.now + Span::from_millis(u64::from(self.byte()) * 250);
        let mut deadlines = 0;
        while self.client.poll_timeout() <= end {
            self.now = self.client.poll_timeout();
            let before = self.sent;
            self.client.handle_timeout(self.now);
            assert!(self.client.poll_timeout() > self.now, "a deadline that is not over");
            self.drain();
            assert!(self.sent - before <= self.introductions.len() + 2);
            deadlines += 1;
            assert!(deadlines <= 1000 * self.introductions.len(), "a flood of deadlines");
        }
        self.now = end;
    }

    fn respond(&mut self, kind: u8) {
        let newest = self.transactions.len().saturating_sub(1 + usize::from(self.byte() % 4));
        let Some(&transaction) = self.transactions.get(newest) else { return };
        let [a, b, c, d] = self.array();
        let nonce = Nonce::new(&format!("n{}", a % 4)).expect("a nonce");
        let mapped = format!("1.2.3.4:{b}").parse().expect("an address");
        let content = match kind {
            1 | 2 => Content::Refused(Refused::challenge(REGISTER, nonce, mapped)),
            3 => Content::Refused(Refused {
                lifetime_s: (d & 1 == 0).then_some(d.into()),
                ..Refused::with_code(REGISTER, 300 + u16::from(c))
            }),
            4 => Content::Registered(Registered {
                mapped,
                lifetime_s: c.into(),
                nonce: (d & 1 == 0).then_some(nonce),
                token: (d & 2 == 0).then_some([d; 16]),
                turn: None,
                proof: None,
            }),
            _ => {
                let id = self.introduction();
                Content::Introduced(Introduced::signed(&secret(1 + d % 3), id, vec![c]))
            }
        };
        self.client.handle(self.now, &Message { transaction, content }.encode());
    }

    fn introduce(&mut self) {
        let [transaction, target, key, body] = self.array();
        let id = self.introduction();
        let target = (target & 1 == 0).then(|| secret(1 + target % 3).public_key());
        let nonce = Nonce::new("n").expect("a nonce");
        let introduce = Introduce::signed(&secret(1 + key % 3), nonce, target, id, vec![body]);
        let transaction = TransactionId::from(u128::from(transaction));
        let content = Content::Introduce(introduce);
        self.client.handle(self.now, &Message { transaction, content }.encode());
    }

    fn drain(&mut self) {
        while let Some(bytes) = self.client.poll_transmit() {
            let message = Message::parse(&bytes).expect("a valid message");
            message.content.verify().expect("a valid signature");
            self.transactions.push(message.transaction);
            self.sent += 1;
        }
        while let Some(event) = self.client.poll_event() {
            if let Event::Answer { from, .. } = event {
                assert_eq!(from, secret(2).public_key());
            }
        }
    }
}

fn secret(number: u8) -> SecretKey {
    SecretKey::from_seed([number; 32])
}
