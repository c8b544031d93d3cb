//! Discovery of a NAT's behaviour (RFC 5780): mapping, filtering and hairpinning, without I/O.
//!
//! The server is any STUN server with a second address, such as the rendezvous with `--alternate`
//! or coturn. Without a second address the discovery finds the mapped address and hairpinning only.
//!
//! [`discover`] does all of it with sockets of its own.
//!
//! # How to drive a `Discovery`
//!
//! It uses two UDP sockets, [`Socket::First`] and [`Socket::Second`], both unconnected: answers come
//! from addresses that nothing was sent to.
//!
//! 1. Send every [`Transmit`] of [`Discovery::poll_transmit`].
//! 2. Wait for a datagram at one of the sockets, at most until [`Discovery::poll_timeout`]. Pass it
//!    to [`Discovery::handle_datagram`], and after a timeout call [`Discovery::handle_timeout`].
//! 3. Repeat both until [`Discovery::result`] returns the findings.
//!
//! Times never decrease from call to call.

mod findings;
mod probe;
mod run;
mod wire;

pub use findings::{Findings, Peer, Unknown};
pub use run::discover;
pub use windlass_nat::Dependence;
pub use windlass_nat::theory::Outcome;

use probe::{Answer, Probe, Test};
use std::net::SocketAddr;
use windlass_base::{Rng, Span, Time};

/// The wait for an answer before a request is sent again, while the round-trip time is unknown (RFC
/// 8489 section 6.2.1).
const INITIAL_RTO: Span = Span::from_millis(500);
/// The shortest such wait.
const MIN_RTO: Span = Span::from_millis(100);
/// The round-trip times of the first answer that make the wait of the following requests.
const RTO_PER_RTT: u64 = 3;

/// One of the two sockets.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Socket {
    /// The one whose NAT binding is examined.
    First,
    /// The other one, for hairpinning.
    Second,
}

/// A datagram to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The socket to send from.
    pub socket: Socket,
    /// Its receiver.
    pub destination: SocketAddr,
    /// Its payload.
    pub bytes: Vec<u8>,
}

/// The part of the discovery that runs.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// The first answer: the server exists, the mapped address, the server's second address.
    Contact,
    /// The filtering, before anything is sent to the server's other addresses (RFC 5780, section
    /// 4.4).
    Filtering,
    /// The mapped address towards the server's other addresses.
    Mapping,
    /// Packets from one socket to the mapped address of the other one.
    Hairpin,
    Done,
}

/// The discovery of the behaviour of the NATs before one host.
#[derive(Debug)]
pub struct Discovery {
    server: SocketAddr,
    rng: Rng,
    phase: Phase,
    probes: Vec<Probe>,
    rto: Span,
    second_mapped: Option<SocketAddr>,
    findings: Findings,
}

impl Discovery {
    /// Begins at `now` with the main address of a server. `local` is the address of the first
    /// socket as the host knows it; `rng` draws the transaction ids.
    pub fn new(now: Time, server: SocketAddr, local: SocketAddr, rng: Rng) -> Discovery {
        let mut discovery = Discovery {
            server,
            rng,
            phase: Phase::Contact,
            probes: vec![],
            rto: INITIAL_RTO,
            second_mapped: None,
            findings: Findings::new(server, local),
        };
        discovery.start(now, Test::Contact, Socket::First, server);
        discovery
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.probes.iter_mut().find_map(Probe::poll_transmit)
    }

    /// The time of the next call of [`Discovery::handle_timeout`]; `None` at the end.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.probes.iter().filter_map(Probe::next_timeout).min()
    }

    /// The findings, once all tests are over.
    pub fn result(&self) -> Option<&Findings> {
        (self.phase == Phase::Done).then_some(&self.findings)
    }

    /// Sends again what has no answer, and gives up what has had no answer for long.
    pub fn handle_timeout(&mut self, now: Time) {
        for probe in &mut self.probes {
            probe.handle_timeout(now);
        }
        self.advance(now);
    }

    /// Takes a datagram that arrived at a socket from `source`. Datagrams that are no answer to this
    /// discovery are ignored.
    pub fn handle_datagram(&mut self, now: Time, socket: Socket, source: SocketAddr, bytes: &[u8]) {
        let Some(message) = wire::parse(bytes) else { return };
        let transaction = message.transaction;
        let Some(probe) = self.probes.iter_mut().find(|probe| probe.transaction == transaction)
        else {
            return;
        };
        if !probe.is_answered_at(socket, message.kind) || probe.answer.is_some() {
            return;
        }
        if probe.test == Test::Contact {
            // Later tests wait for a few of these round trips instead of half a second.
            self.rto = probe.round_trip(now).saturating_mul(RTO_PER_RTT);
            self.rto = self.rto.max(MIN_RTO).min(INITIAL_RTO);
        }
        probe.answer = Some(Answer { source, message });
        self.advance(now);
    }

    /// Goes to the next phase when all tests of this one are over.
    fn advance(&mut self, now: Time) {
        while self.phase != Phase::Done && self.probes.iter().all(Probe::is_over) {
            let probes = std::mem::take(&mut self.probes);
            for probe in probes {
                self.conclude(probe.test, probe.answer.as_ref());
            }
            self.phase = self.next_phase();
            self.begin(now);
        }
    }

    fn next_phase(&self) -> Phase {
        match self.phase {
            // Without an answer no test can tell a filter from a dead server.
            Phase::Contact if self.findings.mapped.is_none() => Phase::Done,
            Phase::Contact => Phase::Filtering,
            Phase::Filtering => Phase::Mapping,
            Phase::Mapping => Phase::Hairpin,
            Phase::Hairpin | Phase::Done => Phase::Done,
        }
    }

    /// Starts the tests of a phase. There may be none.
    fn begin(&mut self, now: Time) {
        let server = self.server;
        match self.phase {
            Phase::Filtering => {
                self.start(now, Test::SecondMapping, Socket::Second, server);
                // RFC 5780, section 4.4: tests II and III, before other addresses are contacted.
                if self.findings.other.is_some() {
                    self.start(now, Test::FilterAddress, Socket::First, server);
                    self.start(now, Test::FilterPort, Socket::First, server);
                }
            }
            Phase::Mapping => {
                let Some(other) = self.findings.other else { return };
                // RFC 5780, section 4.3: tests II and III.
                let second_address = SocketAddr::new(other.ip(), server.port());
                self.start(now, Test::MappingAddress, Socket::First, second_address);
                self.start(now, Test::MappingPort, Socket::First, other);
            }
            Phase::Hairpin if self.findings.is_translated() => {
                // RFC 5780, section 4.5.
                if let (Some(first), Some(second)) = (self.findings.mapped, self.second_mapped) {
                    self.start(now, Test::HairpinToSecond, Socket::First, second);
                    self.start(now, Test::HairpinToFirst, Socket::Second, first);
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, now: Time, test: Test, socket: Socket, destination: SocketAddr) {
        let transaction = u128::from(self.rng.bits()) << 64 | u128::from(self.rng.bits());
        self.probes.push(Probe::new(now, test, socket, destination, transaction.into(), self.rto));
    }

    fn conclude(&mut self, test: Test, answer: Option<&Answer>) {
        let mapped = answer.and_then(|answer| answer.message.mapped);
        match test {
            Test::Contact => {
                self.findings.mapped = mapped;
                let other = answer.and_then(|answer| answer.message.other);
                self.findings.other = other.filter(|other| self.is_second_address(*other));
            }
            Test::SecondMapping => self.second_mapped = mapped,
            Test::FilterAddress => {
                let moved = |source: SocketAddr| source.ip() != self.server.ip();
                self.findings.note_filter(Dependence::Independent, answer, moved);
            }
            Test::FilterPort => {
                let server = self.server;
                let moved = |source: SocketAddr| {
                    source.ip() == server.ip() && source.port() != server.port()
                };
                self.findings.note_filter(Dependence::Address, answer, moved);
            }
            Test::MappingAddress => self.findings.towards_address = mapped,
            Test::MappingPort => self.findings.conclude_mapping(mapped),
            Test::HairpinToFirst | Test::HairpinToSecond => {
                self.findings.note_hairpin(answer.is_some());
            }
        }
    }

    /// Whether OTHER-ADDRESS differs from the server's main address in both parts, as RFC 5780
    /// section 7.4 asks for.
    fn is_second_address(&self, other: SocketAddr) -> bool {
        other.is_ipv4() == self.server.is_ipv4()
            && other.ip() != self.server.ip()
            && other.port() != self.server.port()
    }
}

#[cfg(test)]
mod tests;
