//! The request and the answer at the start of each connection.
//!
//! The client sends one [`Request`] and then its data, without waiting. The server sends one
//! [`Answer`] before its first data. Numbers are big-endian.
//!
//! ```text
//! request: version (1 byte, 1) | kind (1) | length of the text (2) | text in UTF-8
//! answer:  status (1) | length of the text (2) | text in UTF-8
//! ```

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use windlass_base::address::parse_host;
use windlass_base::printable;

/// The version of the protocol.
pub const VERSION: u8 = 1;
/// Longest name of a service, in bytes.
pub const NAME_MAX: usize = 255;
/// Longest text of a request or an answer, in bytes. A host name has at most 253, a port five.
pub const TEXT_MAX: usize = 512;
/// Bytes of a request before its text.
pub const REQUEST_HEADER: usize = 4;
/// Bytes of an answer before its text.
pub const ANSWER_HEADER: usize = 3;

const SERVICE: u8 = 1;
const CONNECT: u8 = 2;
const RESOLVE: u8 = 3;

/// The destination that the client asks the server to join the connection to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// A service that the server exposes under this name.
    Service(String),
    /// A TCP connection from the server to this host.
    Connect {
        /// An address, or a name that the server resolves.
        host: String,
        /// The TCP port.
        port: u16,
    },
    /// The server's resolver: DNS messages follow in both directions, each after its length in two
    /// bytes, as over TCP (RFC 1035 section 4.2.2).
    Resolve,
}

/// A request or an answer is not one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// The first byte is not this version.
    Version(u8),
    /// There is no such kind of request.
    Kind(u8),
    /// The text is too long, or missing.
    Length(usize),
    /// The text is no UTF-8, or not of the form that its kind has.
    Text,
    /// There is no such status.
    Status(u8),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The first byte of TLS: the content type of a handshake record.
            Malformed::Version(0x16) => {
                f.write_str("the peer uses encryption, and this end does not (--plain)")
            }
            Malformed::Version(found) => {
                write!(f, "the peer speaks version {found} of the protocol, this end {VERSION}")
            }
            Malformed::Kind(found) => write!(f, "a request of the unknown kind {found}"),
            Malformed::Length(len) => write!(f, "a text of {len} bytes"),
            Malformed::Text => f.write_str("a text that is not valid"),
            // The content type of an alert.
            Malformed::Status(0x15) => {
                f.write_str("the peer expects encryption, and this end does not use it (--plain)")
            }
            Malformed::Status(found) => write!(f, "an answer of the unknown status {found}"),
        }
    }
}

impl Error for Malformed {}

impl From<Malformed> for io::Error {
    fn from(error: Malformed) -> io::Error {
        io::Error::new(ErrorKind::InvalidData, error)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The names are those of a program or a peer.
            Request::Service(name) => printable(name).fmt(f),
            Request::Connect { host, port } if host.contains(':') => {
                write!(f, "[{}]:{port}", printable(host))
            }
            Request::Connect { host, port } => write!(f, "{}:{port}", printable(host)),
            Request::Resolve => f.write_str("name resolution"),
        }
    }
}

/// Whether `name` can name a service: letters, digits, `-`, `_` and `.`, at most [`NAME_MAX`].
pub fn is_service_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(allowed)
}

/// Whether `host` can stand in a request. The server's resolver judges the rest.
fn is_host(host: &str) -> bool {
    // RFC 1035 section 2.3.4 allows 255 bytes on the wire, which are 253 in text.
    let len_ok = (1..=253).contains(&host.len());
    let plain = host.bytes().all(|byte| byte.is_ascii_graphic() && !b"[]/@".contains(&byte));
    // The resolver would read 0x7f.1 as 127.0.0.1.
    len_ok && plain && parse_host(host).is_ok()
}

impl Request {
    /// The request's bytes.
    ///
    /// # Errors
    /// [`Malformed::Text`] if the name or the host is empty, too long, or has characters that no
    /// name has.
    pub fn encode(&self) -> Result<Vec<u8>, Malformed> {
        let (kind, text) = match self {
            Request::Service(name) if is_service_name(name) => (SERVICE, name.clone()),
            Request::Connect { host, port } if is_host(host) && *port != 0 => {
                (CONNECT, self.to_string())
            }
            Request::Resolve => (RESOLVE, String::new()),
            _ => return Err(Malformed::Text),
        };
        let len = (text.len() as u16).to_be_bytes();
        Ok([&[VERSION, kind, len[0], len[1]], text.as_bytes()].concat())
    }

    /// The length of the text that follows this header.
    ///
    /// # Errors
    /// If the header is not one of a request.
    pub fn text_len(header: [u8; REQUEST_HEADER]) -> Result<usize, Malformed> {
        let [version, kind, high, low] = header;
        let len = usize::from(u16::from_be_bytes([high, low]));
        match (version, kind) {
            (VERSION, SERVICE) if (1..=NAME_MAX).contains(&len) => Ok(len),
            (VERSION, CONNECT) if (1..=TEXT_MAX).contains(&len) => Ok(len),
            (VERSION, RESOLVE) if len == 0 => Ok(0),
            (VERSION, SERVICE | CONNECT | RESOLVE) => Err(Malformed::Length(len)),
            (VERSION, kind) => Err(Malformed::Kind(kind)),
            (version, _) => Err(Malformed::Version(version)),
        }
    }

    /// The request with this header and text.
    ///
    /// # Errors
    /// If they are not those of a request.
    pub fn decode(header: [u8; REQUEST_HEADER], text: &[u8]) -> Result<Request, Malformed> {
        if Request::text_len(header)? != text.len() {
            return Err(Malformed::Length(text.len()));
        }
        let text = std::str::from_utf8(text).map_err(|_| Malformed::Text)?;
        match header[1] {
            SERVICE if is_service_name(text) => Ok(Request::Service(text.to_owned())),
            CONNECT => {
                let (host, port) = parse_host_port(text).ok_or(Malformed::Text)?;
                Ok(Request::Connect { host, port })
            }
            RESOLVE => Ok(Request::Resolve),
            _ => Err(Malformed::Text),
        }
    }
}

/// `HOST:PORT`, in which an IPv6 address stands in brackets.
pub fn parse_host_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = match bracketed {
        Some(inner) if inner.contains(':') => inner,
        Some(_) => return None,
        None if host.contains(':') => return None,
        None => host,
    };
    // `parse` alone would take a sign.
    let port = Some(port).filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()))?;
    let port = port.parse().ok().filter(|port| *port != 0)?;
    is_host(host).then(|| (host.to_owned(), port))
}

/// Whether the server has joined the connection, or why not.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// The far side is connected; its data follows.
    Connected,
    /// The server exposes no service of this name.
    UnknownService,
    /// The server does not let its peers reach this address.
    NotAllowed,
    /// The destination refused the connection.
    Refused,
    /// The server's network has no route to the destination's network.
    NetworkUnreachable,
    /// The destination cannot be reached.
    HostUnreachable,
    /// The destination does not answer.
    TimedOut,
    /// The server cannot resolve the name.
    NameNotFound,
    /// The server did not understand the request.
    BadRequest,
    /// The server is at its limit of connections.
    Busy,
    /// Anything else.
    Failed,
}

/// Every status with its number on the wire.
const STATUSES: [(Status, u8); 11] = [
    (Status::Connected, 0),
    (Status::UnknownService, 1),
    (Status::NotAllowed, 2),
    (Status::Refused, 3),
    (Status::NetworkUnreachable, 4),
    (Status::HostUnreachable, 5),
    (Status::TimedOut, 6),
    (Status::NameNotFound, 7),
    (Status::BadRequest, 8),
    (Status::Busy, 9),
    (Status::Failed, 10),
];

impl Status {
    /// The number on the wire.
    pub fn code(self) -> u8 {
        let found = STATUSES.iter().find(|(status, _)| *status == self);
        found.map_or(u8::MAX, |(_, code)| *code)
    }

    /// The status with this number.
    pub fn from_code(code: u8) -> Option<Status> {
        STATUSES.iter().find(|(_, known)| *known == code).map(|(status, _)| *status)
    }

    /// The status for a failed attempt to connect.
    pub(crate) fn of_error(error: &io::Error) -> Status {
        match error.kind() {
            ErrorKind::ConnectionRefused => Status::Refused,
            ErrorKind::NetworkUnreachable => Status::NetworkUnreachable,
            ErrorKind::HostUnreachable => Status::HostUnreachable,
            ErrorKind::TimedOut => Status::TimedOut,
            ErrorKind::PermissionDenied => Status::NotAllowed,
            // The socket of a service in the file system is not there.
            ErrorKind::NotFound => Status::Refused,
            _ => Status::Failed,
        }
    }

    /// The kind of error that a program sees.
    pub fn kind(self) -> ErrorKind {
        match self {
            Status::UnknownService | Status::NameNotFound => ErrorKind::NotFound,
            Status::NotAllowed => ErrorKind::PermissionDenied,
            Status::Refused => ErrorKind::ConnectionRefused,
            Status::NetworkUnreachable => ErrorKind::NetworkUnreachable,
            Status::HostUnreachable => ErrorKind::HostUnreachable,
            Status::TimedOut => ErrorKind::TimedOut,
            Status::BadRequest => ErrorKind::InvalidData,
            Status::Busy => ErrorKind::QuotaExceeded,
            Status::Connected | Status::Failed => ErrorKind::Other,
        }
    }
}

/// The server's answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether the connection is joined.
    pub status: Status,
    /// A sentence for people; empty if the connection is joined.
    pub text: String,
}

impl Answer {
    /// An answer with a text, which is cut at [`TEXT_MAX`].
    pub fn new(status: Status, text: impl Into<String>) -> Answer {
        let mut text: String = text.into();
        text.truncate(text.floor_char_boundary(TEXT_MAX));
        Answer { status, text }
    }

    /// The answer's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let text = &self.text[..self.text.floor_char_boundary(TEXT_MAX)];
        let len = (text.len() as u16).to_be_bytes();
        [&[self.status.code(), len[0], len[1]], text.as_bytes()].concat()
    }

    /// The length of the text that follows this header.
    ///
    /// # Errors
    /// If the header is not one of an answer.
    pub fn text_len(header: [u8; ANSWER_HEADER]) -> Result<usize, Malformed> {
        let [status, high, low] = header;
        Status::from_code(status).ok_or(Malformed::Status(status))?;
        let len = usize::from(u16::from_be_bytes([high, low]));
        if len > TEXT_MAX { Err(Malformed::Length(len)) } else { Ok(len) }
    }

    /// The answer with this header and text.
    ///
    /// # Errors
    /// If they are not those of an answer.
    pub fn decode(header: [u8; ANSWER_HEADER], text: &[u8]) -> Result<Answer, Malformed> {
        if Answer::text_len(header)? != text.len() {
            return Err(Malformed::Length(text.len()));
        }
        let status = Status::from_code(header[0]).ok_or(Malformed::Status(header[0]))?;
        let text = std::str::from_utf8(text).map_err(|_| Malformed::Text)?;
        Ok(Answer { status, text: text.to_owned() })
    }

    /// The error that a refusal is to this end; `Ok` if the connection is joined.
    ///
    /// # Errors
    /// An error with the kind of the status, which contains a [`Refusal`].
    pub fn into_result(self) -> io::Result<()> {
        match self.status {
            Status::Connected => Ok(()),
            status => Err(io::Error::new(status.kind(), Refusal(self))),
        }
    }
}

/// The server's refusal, as an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub Answer);

impl Refusal {
    /// The status in an error that [`Answer::into_result`] has made.
    pub fn status_in(error: &io::Error) -> Option<Status> {
        let refusal = error.get_ref()?.downcast_ref::<Refusal>()?;
        Some(refusal.0.status)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the peer refused: {}", printable(&self.0.text))
    }
}

impl Error for Refusal {}
