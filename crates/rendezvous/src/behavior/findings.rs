//! Results of a discovery, and the direct connections that they allow.

use super::probe::Answer;
use super::wire::Kind;
use super::{Dependence, Outcome};
use Dependence::{Address, AddressAndPort, Independent};
use std::net::SocketAddr;
use windlass_nat::theory::{Access, outcome};

/// Properties of the NATs before a host, as far as the discovery could find them out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    /// The server that was asked.
    pub server: SocketAddr,
    /// The host's own address.
    pub local: SocketAddr,
    /// The host's address as the server sees it; `None` if the server did not answer.
    pub mapped: Option<SocketAddr>,
    /// How external endpoints depend on the remote one; `None` if the server has no second address.
    pub mapping: Option<Dependence>,
    /// How the filter depends on the remote endpoint; `None` if the server has no second address, or
    /// does not answer from it.
    pub filtering: Option<Dependence>,
    /// Whether the host reaches its own mapped address; `None` if there is no translation, or if
    /// mapping and filter may have hidden it.
    pub hairpin: Option<bool>,
    pub(super) towards_address: Option<SocketAddr>,
}

/// A kind of peer, for the table of the paths that a host can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The NAT or the public address of the peer, in words.
    pub behind: &'static str,
    /// The best path of a session with it.
    pub outcome: Outcome,
}

/// The peers of the table.
const PEERS: [(&str, Access); 5] = [
    ("a public address", Access::Udp { mapping: Independent, filtering: Independent }),
    ("a NAT that filters by address", Access::Udp { mapping: Independent, filtering: Address }),
    (
        "a firewall, or a NAT that filters by port",
        Access::Udp { mapping: Independent, filtering: AddressAndPort },
    ),
    ("a symmetric NAT", Access::Udp { mapping: AddressAndPort, filtering: AddressAndPort }),
    ("a network that blocks UDP", Access::Tcp443),
];

impl Findings {
    pub(super) fn new(server: SocketAddr, local: SocketAddr) -> Findings {
        Findings {
            server,
            local,
            mapped: None,
            mapping: None,
            filtering: None,
            hairpin: None,
            towards_address: None,
        }
    }

    /// Whether a NAT translates the host's address.
    pub fn is_translated(&self) -> bool {
        self.mapped.is_some_and(|mapped| mapped != self.local)
    }

    /// Whether the NAT kept the port; `None` without an answer.
    pub fn keeps_port(&self) -> Option<bool> {
        self.mapped.map(|mapped| mapped.port() == self.local.port())
    }

    /// The best path to each kind of peer; `None` if the behaviour is unknown. Without an answer
    /// the host counts as one whose UDP is blocked.
    pub fn peers(&self) -> Option<Vec<Peer>> {
        let own = match (self.mapped, self.mapping, self.filtering) {
            (None, ..) => Access::Tcp443,
            (_, Some(mapping), Some(filtering)) => Access::Udp { mapping, filtering },
            _ => return None,
        };
        let peer = |(behind, access)| Peer { behind, outcome: outcome(own, access) };
        Some(PEERS.into_iter().map(peer).collect())
    }

    /// One or two sentences on what the findings mean.
    pub fn meaning(&self) -> &'static str {
        match (self.mapped, self.mapping, self.filtering) {
            (None, ..) => {
                "The server did not answer. If it runs, the network blocks UDP: sessions use a relay \
                 over TLS."
            }
            (_, Some(Independent), Some(AddressAndPort)) => {
                "Direct sessions work with every peer but one behind a symmetric NAT. Those use a \
                 relay."
            }
            (_, Some(Independent), Some(_)) => "Direct sessions work with every peer that has UDP.",
            (_, Some(_), Some(AddressAndPort | Address)) => {
                "Each peer sees another port: the NAT is symmetric. Direct sessions work with peers \
                 whose NAT does not filter by port. Others use a relay."
            }
            (_, Some(_), Some(Independent)) => {
                "Each peer sees another port, and everyone may answer. Most peers with a filter by \
                 port need a relay."
            }
            _ => {
                "The server has no second address, so it cannot find out how the NAT maps and \
                 filters."
            }
        }
    }

    /// Notes the result of a filter test: its answer, if it came from where it was asked to, shows
    /// that the filter depends on no more than `dependence`.
    pub(super) fn note_filter(
        &mut self,
        dependence: Dependence,
        answer: Option<&Answer>,
        moved: impl Fn(SocketAddr) -> bool,
    ) {
        let before = self.filtering;
        self.filtering = match answer {
            Some(answer) if answer.message.kind == Kind::Error || !moved(answer.source) => None,
            // The tests come with the most open filter first.
            Some(_) if dependence == Independent => Some(Independent),
            Some(_) => before.map(|before| before.min(dependence)),
            // RFC 5780, section 4.4: no answer from elsewhere yet, so the strictest filter is assumed.
            None if dependence == Independent => Some(AddressAndPort),
            None => before,
        };
    }

    /// Notes the result of a hairpin test. The packets of a dependent mapping come from an endpoint
    /// that the other socket's filter may not admit: then no arrival means nothing.
    pub(super) fn note_hairpin(&mut self, arrived: bool) {
        if arrived {
            self.hairpin = Some(true);
        } else if self.mapping == Some(Independent) {
            self.hairpin = self.hairpin.or(Some(false));
        }
    }

    /// Compares the mapped addresses towards three endpoints of the server.
    pub(super) fn conclude_mapping(&mut self, towards_port: Option<SocketAddr>) {
        let (Some(first), Some(address)) = (self.mapped, self.towards_address) else { return };
        self.mapping = match towards_port {
            // RFC 5780, section 4.3: tests I and II, then II and III.
            _ if first == address => Some(Independent),
            Some(port) if port == address => Some(Address),
            Some(_) => Some(AddressAndPort),
            None => None,
        };
    }
}
