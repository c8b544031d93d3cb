//! Results of a discovery, and the direct connections that they allow.

use super::probe::Answer;
use super::wire::Kind;
use super::{Dependence, Outcome};
use Dependence::{Address, AddressAndPort, Independent};
use std::fmt;
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
    /// How external endpoints depend on the remote one; `None` if it is unknown:
    /// [`Findings::mapping_unknown`].
    pub mapping: Option<Dependence>,
    /// How the filter depends on the remote endpoint; `None` if it is unknown:
    /// [`Findings::filtering_unknown`].
    pub filtering: Option<Dependence>,
    /// Whether the host reaches its own mapped address; `None` if there is no translation, or if
    /// mapping and filter may have hidden it.
    pub hairpin: Option<bool>,
    pub(super) towards_address: Option<SocketAddr>,
    /// The server's second address and port.
    pub(super) other: Option<SocketAddr>,
}

/// Why a property is unknown.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unknown {
    /// The server has one address only. The tests need two.
    NoSecondAddress,
    /// The server does not answer at this address of its own.
    NoAnswer(SocketAddr),
    /// The server answers from where it was asked: it ignores CHANGE-REQUEST (RFC 5780 section 7.2).
    ChangeIgnored,
    /// A packet that did not come back tells nothing: the NAT's filter may have dropped it, as the
    /// mapping depends on the peer or is unknown.
    MayBeFiltered,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const OTHER_SERVER: &str = "Ask a rendezvous with --alternate, or another STUN server with two addresses (RFC 5780).";
        match self {
            Unknown::NoSecondAddress => {
                write!(f, "the server has one address only, and the test needs two. {OTHER_SERVER}")
            }
            Unknown::NoAnswer(address) => write!(
                f,
                "the server did not answer at {address}. Does a firewall before it drop UDP to that \
                 address, or does this host's? Packets may also have been lost: try again."
            ),
            Unknown::ChangeIgnored => write!(
                f,
                "the server did not answer from its second address or port, although asked to \
                 (CHANGE-REQUEST). {OTHER_SERVER}"
            ),
            Unknown::MayBeFiltered => f.write_str(
                "no packet to the own address came back, but the NAT's filter may have dropped it, as \
                 the mapping depends on the peer or is unknown. No other server would tell: hosts behind \
                 this same NAT try each other's own addresses, and a relay.",
            ),
        }
    }
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
            other: None,
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

    /// Why the mapping is unknown; `None` if it is known, or the server did not answer at all.
    pub fn mapping_unknown(&self) -> Option<Unknown> {
        if self.mapped.is_none() || self.mapping.is_some() {
            return None;
        }
        Some(match (self.other, self.towards_address) {
            (None, _) => Unknown::NoSecondAddress,
            // RFC 5780, section 4.3: test II asks at the other address and the same port, III at both.
            (Some(other), None) => {
                Unknown::NoAnswer(SocketAddr::new(other.ip(), self.server.port()))
            }
            (Some(other), Some(_)) => Unknown::NoAnswer(other),
        })
    }

    /// Why the filtering is unknown, as [`Findings::mapping_unknown`].
    pub fn filtering_unknown(&self) -> Option<Unknown> {
        if self.mapped.is_none() || self.filtering.is_some() {
            return None;
        }
        Some(self.other.map_or(Unknown::NoSecondAddress, |_| Unknown::ChangeIgnored))
    }

    /// Why hairpinning is unknown; `None` without a translation too.
    pub fn hairpin_unknown(&self) -> Option<Unknown> {
        if !self.is_translated() || self.hairpin.is_some() {
            return None;
        }
        Some(match self.mapping {
            // Then the test was not made: the second port has learned no address.
            Some(Independent) => Unknown::NoAnswer(self.server),
            _ => Unknown::MayBeFiltered,
        })
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
            _ => "Which sessions are direct follows from mapping and filtering, and is unknown.",
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
