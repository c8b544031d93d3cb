//! The settings of a server.

use std::fmt;
use std::net::SocketAddr;

use windlass_base::special::Prefix;
use windlass_identity::SecretKey;

use super::PeerPolicy;

/// The bounds of the server's state and of a source's requests.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Registered keys.
    pub registrations: usize,
    /// Registered keys of one network: an IPv4 address or an IPv6 /64. An IPv6 /48 or IPv4 /24 may have
    /// 16 times as many and at most half of all, a /32 or /16 64 times as many and at most three
    /// quarters.
    pub registrations_per_network: usize,
    /// Introductions under way.
    pub introductions: usize,
    /// Signed requests a second of one network: an IPv4 address or an IPv6 /64. An IPv6 /48 may send
    /// 8 times as many, a /32 64 times.
    pub requests_per_s: u32,
    /// Signed requests of one network at once.
    pub requests_burst: u32,
    /// Relayed addresses.
    pub allocations: usize,
    /// Relayed addresses of one network, with the same shares of wider networks as registrations.
    pub allocations_per_network: usize,
    /// Relayed addresses of one key.
    pub allocations_per_key: usize,
    /// Bytes a second that one relayed address carries, both ways together, with bursts of a quarter
    /// of a second or 64 KiB, whichever is more. `None`: as many as come.
    pub relayed_bytes_per_s: Option<u32>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            registrations: 100_000,
            registrations_per_network: 1000,
            introductions: 10_000,
            requests_per_s: 50,
            requests_burst: 500,
            allocations: 1000,
            allocations_per_network: 100,
            allocations_per_key: 8,
            relayed_bytes_per_s: None,
        }
    }
}

/// Settings of a [`Server`](super::Server). Start from [`Config::new`].
#[derive(Clone)]
pub struct Config {
    /// Secret random bytes, from which nonces and passwords are derived.
    pub secret: [u8; 16],
    /// The key that the server proves to hosts that ask for it.
    pub key: Option<SecretKey>,
    /// The realm of the relay's credentials (RFC 8489, section 9.2).
    pub realm: String,
    /// The addresses of four sockets for RFC 5780: the main one, one with another port, one with
    /// another address, one with another address and another port.
    pub alternate: Option<[SocketAddr; 4]>,
    /// Whether there is a relay, and which peers it sends to.
    pub relay: Option<PeerPolicy>,
    /// Networks of special addresses, and own addresses, that the relay sends to as well. A special
    /// address is one of a named network that lies within the same block of the IANA registries.
    pub relay_peers: Vec<Prefix>,
    /// The bounds of its state.
    pub limits: Limits,
}

impl Config {
    /// The default settings, with a relay to public addresses.
    pub fn new(secret: [u8; 16]) -> Config {
        Config {
            secret,
            key: None,
            realm: "windlass".to_owned(),
            alternate: None,
            relay: Some(PeerPolicy::Public),
            relay_peers: Vec::new(),
            limits: Limits::default(),
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The secret stays out of logs.
        f.debug_struct("Config").field("realm", &self.realm).field("relay", &self.relay).finish()
    }
}
