//! The settings of a measurement.

use crate::dialogue::{Exchange, Scheme};
use crate::topic::cca::Library;
use crate::topic::split::Test;
use rustls::ClientConfig;
use std::net::SocketAddr;
use std::sync::Arc;
use windlass_base::Span;

/// The settings of a measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The tests of a round.
    pub tests: Vec<Test>,
    /// The sizes of bursts to measure instead, in packets; none: the tests are run.
    pub bursts: Vec<u16>,
    /// How many rounds there are; each runs every test or size once.
    pub runs: Runs,
    /// How many of the first segments are acknowledged.
    pub acks: u16,
    /// How long to observe the server after the ACKs, for retransmissions.
    pub timeout: Span,
    /// The longest wait for a handshake, and again for an answer.
    pub patience: Span,
    /// The MSS to announce, in bytes. `None`: the MSS of Ethernet.
    pub mss: Option<u16>,
    /// Restricts the addresses to this family.
    pub family: Option<Family>,
    /// The User-Agent header.
    pub user_agent: String,
    /// The scheme of targets without one; `None`: the ports of the web are tried.
    pub scheme: Option<Scheme>,
    /// The dialogue of `tcp` and `tls`.
    pub exchange: Exchange,
    /// Look for a larger object where the page of a web server is too small: up to four requests more.
    pub find_object: bool,
    /// Learn first what ECN the server speaks.
    pub ecn: bool,
    /// Identify the congestion controller by this library, instead of running tests.
    pub controllers: Option<Arc<Library>>,
    /// The client's TLS configuration.
    pub tls: Arc<ClientConfig>,
}

/// The number of rounds.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Runs {
    /// Rounds until the answer is certain, at least two. Bursts get the most, as their statistics need them.
    UntilCertain {
        /// The most rounds.
        most: u32,
    },
    /// So many rounds, whatever they show.
    Exactly(u32),
}

impl Runs {
    /// The most rounds that there can be.
    pub fn most(self) -> u32 {
        match self {
            Runs::UntilCertain { most } => most,
            Runs::Exactly(count) => count,
        }
    }
}

/// A family of addresses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4 addresses only.
    V4,
    /// IPv6 addresses only.
    V6,
}

impl Settings {
    /// Whether the family of an address is wanted.
    pub(super) fn takes(&self, address: &SocketAddr) -> bool {
        match self.family {
            None => true,
            Some(Family::V4) => address.is_ipv4(),
            Some(Family::V6) => address.is_ipv6(),
        }
    }
}
