//! Messages between two hosts through the rendezvous: ICE credentials and candidates (RFC 8445
//! §5.3). The rendezvous forwards these bytes without reading them; each is signed by its sender.
//!
//! | bytes | contents |
//! |---|---|
//! | 1 | version, 1 |
//! | 1 | kind: 1 offer, 2 answer, 3 more candidates |
//! | 4 | the session's tag |
//! | 1 + n | user name fragment |
//! | 1 + n | password |
//! | 1 | number of candidates, then each: type (1), priority (4), length of the address (1), address, port (2) |

use is::{Candidate, CandidateKind, IceCreds};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// The largest number of candidates in one message; an agent has one a local address, and one a
/// server for its reflexive and its relayed address.
pub(crate) const CANDIDATES_MAX: usize = 24;
/// The largest message in bytes: the rendezvous accepts bodies of this length.
pub(crate) const LEN_MAX: usize = 900;
const VERSION: u8 = 1;
/// RFC 8445 §5.3: fragments have at least 4 characters, passwords 22; both at most 256. ICE agents
/// in use take far fewer.
const TEXT_MAX: usize = 64;

/// Why a message is sent.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Opens a session, or restarts ICE for one that has lost its path.
    Offer,
    /// Accepts an offer.
    Answer,
    /// Adds candidates that were found later (RFC 8838).
    More,
}

/// The type of a candidate (RFC 8445 §5.1.1).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CandidateType {
    /// An address of the host itself.
    Host,
    /// The host's address as a STUN server sees it.
    ServerReflexive,
    /// The host's address as the peer sees it.
    PeerReflexive,
    /// An address of a relay.
    Relayed,
}

impl fmt::Display for CandidateType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CandidateType::Host => "host",
            CandidateType::ServerReflexive => "server-reflexive",
            CandidateType::PeerReflexive => "peer-reflexive",
            CandidateType::Relayed => "relayed",
        })
    }
}

impl CandidateType {
    pub(crate) fn of(kind: CandidateKind) -> CandidateType {
        match kind {
            CandidateKind::Host => CandidateType::Host,
            CandidateKind::ServerReflexive => CandidateType::ServerReflexive,
            CandidateKind::PeerReflexive => CandidateType::PeerReflexive,
            CandidateKind::Relayed => CandidateType::Relayed,
        }
    }

    fn kind(self) -> CandidateKind {
        match self {
            CandidateType::Host => CandidateKind::Host,
            CandidateType::ServerReflexive => CandidateKind::ServerReflexive,
            CandidateType::PeerReflexive => CandidateKind::PeerReflexive,
            CandidateType::Relayed => CandidateKind::Relayed,
        }
    }

    fn code(self) -> u8 {
        match self {
            CandidateType::Host => 1,
            CandidateType::ServerReflexive => 2,
            CandidateType::PeerReflexive => 3,
            CandidateType::Relayed => 4,
        }
    }

    fn from_code(code: u8) -> Option<CandidateType> {
        let all = [Self::Host, Self::ServerReflexive, Self::PeerReflexive, Self::Relayed];
        all.into_iter().find(|kind| kind.code() == code)
    }
}

/// A candidate as it is sent to the peer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) kind: CandidateType,
    pub(crate) priority: u32,
    pub(crate) address: SocketAddr,
}

impl Sent {
    pub(crate) fn of(candidate: &Candidate) -> Sent {
        Sent {
            kind: CandidateType::of(candidate.kind()),
            priority: candidate.prio(),
            address: candidate.addr(),
        }
    }

    /// The candidate for the ICE agent. Its foundation is its type: the agent does not freeze pairs,
    /// so it has no use for a finer one.
    pub(crate) fn candidate(&self) -> Candidate {
        Candidate::from_parts(
            self.kind.to_string(),
            1,
            is::Protocol::Udp,
            self.priority,
            self.address,
            self.kind.kind(),
            None,
            None,
            None,
        )
    }
}

/// A message to the other host of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) kind: Kind,
    pub(crate) tag: u32,
    pub(crate) credentials: IceCreds,
    pub(crate) candidates: Vec<Sent>,
}

/// The body is not a message of this version.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl Offer {
    /// The message's bytes. Candidates beyond [`CANDIDATES_MAX`] are left out.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let kind = match self.kind {
            Kind::Offer => 1,
            Kind::Answer => 2,
            Kind::More => 3,
        };
        let mut out = vec![VERSION, kind];
        out.extend(self.tag.to_be_bytes());
        for text in [&self.credentials.ufrag, &self.credentials.pass] {
            out.push(text.len() as u8);
            out.extend(text.as_bytes());
        }
        let candidates = &self.candidates[..self.candidates.len().min(CANDIDATES_MAX)];
        out.push(candidates.len() as u8);
        for sent in candidates {
            out.push(sent.kind.code());
            out.extend(sent.priority.to_be_bytes());
            match sent.address.ip() {
                IpAddr::V4(ip) => {
                    out.push(4);
                    out.extend(ip.octets());
                }
                IpAddr::V6(ip) => {
                    out.push(16);
                    out.extend(ip.octets());
                }
            }
            out.extend(sent.address.port().to_be_bytes());
        }
        out
    }

    /// Reads a message.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Offer, Malformed> {
        let mut reader = Reader(bytes);
        if bytes.len() > LEN_MAX || reader.byte()? != VERSION {
            return Err(Malformed);
        }
        let kind = match reader.byte()? {
            1 => Kind::Offer,
            2 => Kind::Answer,
            3 => Kind::More,
            _ => return Err(Malformed),
        };
        let tag = u32::from_be_bytes(reader.array()?);
        let credentials = IceCreds { ufrag: reader.text()?, pass: reader.text()? };
        let count = usize::from(reader.byte()?);
        // Each candidate gets checks: a peer may not make this host send to many addresses.
        if count > CANDIDATES_MAX {
            return Err(Malformed);
        }
        let candidates = (0..count).map(|_| reader.candidate()).collect::<Result<_, _>>()?;
        if !reader.0.is_empty() {
            return Err(Malformed);
        }
        Ok(Offer { kind, tag, credentials, candidates })
    }
}

/// The rest of a message.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*head)
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    fn text(&mut self) -> Result<String, Malformed> {
        let len = usize::from(self.byte()?);
        if len > TEXT_MAX || len > self.0.len() {
            return Err(Malformed);
        }
        let (head, rest) = self.0.split_at(len);
        self.0 = rest;
        // RFC 8445 §5.3: ice-char, which excludes the colon of a STUN user name.
        let valid = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        if len < 4 || !head.iter().all(valid) {
            return Err(Malformed);
        }
        String::from_utf8(head.to_vec()).map_err(|_| Malformed)
    }

    fn candidate(&mut self) -> Result<Sent, Malformed> {
        let kind = CandidateType::from_code(self.byte()?).ok_or(Malformed)?;
        let priority = u32::from_be_bytes(self.array()?);
        let ip: IpAddr = match self.byte()? {
            4 => self.array::<4>()?.into(),
            16 => self.array::<16>()?.into(),
            _ => return Err(Malformed),
        };
        let port = u16::from_be_bytes(self.array()?);
        if port == 0 {
            return Err(Malformed);
        }
        Ok(Sent { kind, priority, address: (ip, port).into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn offers() -> impl Strategy<Value = Offer> {
        let kind = prop_oneof![Just(Kind::Offer), Just(Kind::Answer), Just(Kind::More)];
        let text = "[a-zA-Z0-9+/]{4,32}";
        let candidate = (1..=4_u8, any::<u32>(), any::<IpAddr>(), 1..=u16::MAX).prop_map(
            |(code, priority, ip, port)| Sent {
                kind: CandidateType::from_code(code).expect("a code"),
                priority,
                address: (ip, port).into(),
            },
        );
        let candidates = prop::collection::vec(candidate, 0..CANDIDATES_MAX);
        (kind, any::<u32>(), text, text, candidates).prop_map(
            |(kind, tag, ufrag, pass, candidates)| Offer {
                kind,
                tag,
                credentials: IceCreds { ufrag, pass },
                candidates,
            },
        )
    }

    proptest! {
        #[test]
        fn a_message_survives_its_encoding(offer in offers()) {
            let bytes = offer.encode();
            prop_assert!(bytes.len() <= LEN_MAX);
            prop_assert_eq!(Offer::decode(&bytes), Ok(offer));
            for cut in 0..bytes.len() {
                prop_assert_eq!(Offer::decode(&bytes[..cut]), Err(Malformed));
            }
        }
    }

    #[test]
    fn other_versions_kinds_and_trailing_bytes_are_refused() {
        let offer = Offer {
            kind: Kind::Offer,
            tag: 7,
            credentials: IceCreds { ufrag: "abcd".into(), pass: "efghijkl".into() },
            candidates: Vec::new(),
        };
        let bytes = offer.encode();
        for (at, value) in [(0, 2), (1, 0), (1, 4), (7, b':'), (6, 3)] {
            let mut other = bytes.clone();
            other[at] = value;
            assert_eq!(Offer::decode(&other), Err(Malformed), "byte {at} is {value}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(Offer::decode(&longer), Err(Malformed));
    }
}
