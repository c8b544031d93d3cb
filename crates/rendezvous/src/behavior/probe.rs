//! One test of the discovery: a request, its repetitions and its answer.

use super::wire::{self, Changed, Kind, Reply};
use super::{Socket, Transmit};
use std::net::SocketAddr;
use stun_types::message::TransactionId;
use windlass_base::{Span, Time};

/// Requests of the first test, which also finds out whether there is a server: with waits of 0.5, 1,
/// 2 and 4 s it gives up after 7.5 s.
const CONTACT_SENDS: u32 = 4;
/// Requests of the other tests. The absence of an answer is a finding: all of them being lost must be
/// improbable.
const SENDS: u32 = 4;

/// The tests, named after what an answer says.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// Test I of RFC 5780, sections 4.3 and 4.4.
    Contact,
    /// Test II of section 4.4: the answer comes from another address and port.
    FilterAddress,
    /// Test III of section 4.4: the answer comes from another port.
    FilterPort,
    /// Test II of section 4.3: a request to the other address.
    MappingAddress,
    /// Test III of section 4.3: a request to the other address and port.
    MappingPort,
    /// Test I from the second socket.
    SecondMapping,
    /// Section 4.5: a request to a mapped address of the host itself.
    HairpinToFirst,
    /// The same in the other direction. A filter may drop the packets that come before this one.
    HairpinToSecond,
}

/// A response, with the address that it came from.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) source: SocketAddr,
    pub(super) message: Reply,
}

#[derive(Debug)]
pub(super) struct Probe {
    pub(super) test: Test,
    pub(super) transaction: TransactionId,
    pub(super) answer: Option<Answer>,
    socket: Socket,
    destination: SocketAddr,
    started: Time,
    sends_left: u32,
    /// A request is to be sent now.
    due: bool,
    wait: Span,
    timeout: Time,
    given_up: bool,
}

impl Probe {
    pub(super) fn new(
        now: Time,
        test: Test,
        socket: Socket,
        destination: SocketAddr,
        transaction: TransactionId,
        rto: Span,
    ) -> Probe {
        let sends_left = if test == Test::Contact { CONTACT_SENDS } else { SENDS };
        Probe {
            test,
            transaction,
            answer: None,
            socket,
            destination,
            started: now,
            sends_left: sends_left - 1,
            due: true,
            wait: rto,
            timeout: now + rto,
            given_up: false,
        }
    }

    pub(super) fn poll_transmit(&mut self) -> Option<Transmit> {
        if !self.due || self.answer.is_some() {
            return None;
        }
        self.due = false;
        // RFC 5780, section 7.2: CHANGE-REQUEST has the server answer from elsewhere.
        let changed = match self.test {
            Test::FilterAddress => Changed::AddressAndPort,
            Test::FilterPort => Changed::Port,
            _ => Changed::Nothing,
        };
        Some(Transmit {
            socket: self.socket,
            destination: self.destination,
            bytes: wire::request(self.transaction, changed),
        })
    }

    /// The wait doubles with each request (RFC 8489 section 6.2.1).
    pub(super) fn handle_timeout(&mut self, now: Time) {
        if self.is_over() || now < self.timeout {
            return;
        }
        if self.sends_left == 0 {
            self.given_up = true;
            return;
        }
        self.sends_left -= 1;
        self.due = true;
        self.wait = self.wait.saturating_mul(2);
        self.timeout = now + self.wait;
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        (!self.is_over()).then_some(self.timeout)
    }

    pub(super) fn is_over(&self) -> bool {
        self.answer.is_some() || self.given_up
    }

    /// Since the first request. After a lost one that is too long, never too short.
    pub(super) fn round_trip(&self, now: Time) -> Span {
        now.saturating_since(self.started)
    }

    /// Whether a message of this kind at this socket is what the test waits for: a response where
    /// the request came from, or with hairpinning the request itself at the other socket.
    pub(super) fn is_answered_at(&self, socket: Socket, kind: Kind) -> bool {
        match self.test {
            // The NAT turns the request back to this host.
            Test::HairpinToFirst | Test::HairpinToSecond => {
                kind == Kind::Request && socket != self.socket
            }
            _ => kind != Kind::Request && socket == self.socket,
        }
    }
}
