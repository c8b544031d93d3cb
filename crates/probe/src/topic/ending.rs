//! How a connection ended.

use serde::Serialize;
use std::fmt;

/// How a connection ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Ending {
    /// The ACKs were sent, and what came was counted.
    Measured,
    /// A scout has read the head of the answer, or seen that it is no HTTP. With other dialogues: it has heard
    /// enough, or the way to the measured connection is open.
    HeadRead,
    /// Nothing answered the SYN.
    Silent,
    /// A reset answered the SYN.
    Refused,
    /// A router or the host answered by ICMP. Without a code: this machine has no route.
    Unreachable {
        /// RFC 792, RFC 4443 §3.1.
        icmp_code: Option<u8>,
    },
    /// The path's round-trip time is too long for the script.
    TooFar,
    /// Connected, but no answer came.
    NoAnswer,
    /// Connected, but the server's window stayed closed: it took no request.
    ZeroWindow,
    /// The server reset the connection before it was measured.
    Reset,
    /// The answer ended before a window did: there was nothing left to send for more ACKs.
    TooShort,
    /// A packet was lost before the burst, or none came: the server's window could not grow for it.
    LostBefore,
    /// The server's window did not grow to the burst.
    NotReached,
    /// The TLS handshake failed.
    TlsFailed {
        /// In the TLS library's words.
        why: String,
    },
    /// The server sent more packets than the probe keeps.
    TooMuch,
    /// The server did not answer as its protocol wants, or refused.
    DialogueFailed {
        /// In words for the user.
        why: String,
    },
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ending::Measured => "measured",
            Ending::HeadRead => "answered",
            Ending::Silent => "silent: nothing answers the SYN",
            Ending::Refused => "refused: a reset answers the SYN",
            Ending::Unreachable { icmp_code: None } => "unreachable: no route from here",
            Ending::Unreachable { icmp_code: Some(code) } => {
                return write!(f, "unreachable: ICMP says so (code {code})");
            }
            Ending::TooFar => "too far: the round-trip time exceeds what the probe can hide",
            Ending::NoAnswer => "no answer: connected, but no data comes",
            Ending::ZeroWindow => "zero window: connected, but the server takes no request",
            Ending::Reset => "reset by the server",
            Ending::TooShort => "answer too short: it ends before the server has to wait for ACKs",
            Ending::LostBefore => "a packet was lost while the window grew",
            Ending::NotReached => "the server's window did not grow so far",
            Ending::TlsFailed { why } => return write!(f, "TLS failed: {why}"),
            Ending::DialogueFailed { why } => return write!(f, "the dialogue failed: {why}"),
            Ending::TooMuch => "flooded: more packets than any stack sends",
        })
    }
}
