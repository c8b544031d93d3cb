//! The errors of secured streams, from TLS's alerts and from this end's own checks.

use rustls::AlertDescription;
use std::error::Error as StdError;
use std::fmt;
use std::io::{self, ErrorKind};
use windlass_identity::PublicKey;

/// Why a stream could not be secured, or can no longer be used.
///
/// [`std::io::Error`]s of a [`SecureStream`](super::SecureStream) contain it:
///
/// ```
/// use windlass_tou::secure::Error;
///
/// fn refused(error: &std::io::Error) -> bool {
///     let reason = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
///     matches!(reason, Some(Error::Refused { .. }))
/// }
/// # let own = windlass_tou::secure::SecretKey::from_seed([7; 32]).public_key();
/// # assert!(refused(&std::io::Error::other(Error::Refused { own })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The client proved possession of this key, which the server does not allow.
    NotAllowed(PublicKey),
    /// The peer does not allow the key of this host.
    Refused {
        /// The key of this host.
        own: PublicKey,
    },
    /// The server has another key than the client expects.
    WrongPeer {
        /// The key that the client expects.
        expected: PublicKey,
        /// The key of which the server proved possession.
        found: PublicKey,
    },
    /// The peer's first bytes are not TLS.
    NotTls,
    /// The stream ended without a close_notify alert: someone may have cut it off.
    Truncated,
    /// A record is not the one that the peer sealed: someone has changed, added or removed bytes.
    Forged,
    /// A record is longer than TLS allows.
    Oversized,
    /// The peer broke the protocol.
    Protocol(String),
    /// The peer reports an error of the protocol.
    Alert(String),
    /// The peer did not answer within the time limit of the handshake.
    TimedOut,
    /// The connection below failed before the stream was secured.
    Connection(ErrorKind),
}

impl Error {
    /// The error for an alert of the peer, other than close_notify (RFC 8446, section 6.2).
    pub(super) fn of_alert(alert: AlertDescription, own: PublicKey) -> Error {
        match alert {
            AlertDescription::AccessDenied => Error::Refused { own },
            other => Error::Alert(format!("{other:?}")),
        }
    }

    pub(super) fn of_tls(error: &rustls::Error, own: PublicKey) -> Error {
        match error {
            rustls::Error::AlertReceived(alert) => Error::of_alert(*alert, own),
            other => Error::Protocol(other.to_string()),
        }
    }

    /// The alert that the peer gets when an open stream fails (RFC 8446, sections 5.2 and 6.2).
    pub(super) fn alert(&self) -> Option<AlertDescription> {
        match self {
            Error::Forged => Some(AlertDescription::BadRecordMac),
            Error::Oversized => Some(AlertDescription::RecordOverflow),
            Error::NotTls | Error::Protocol(_) => Some(AlertDescription::UnexpectedMessage),
            _ => None,
        }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Error::NotAllowed(_) | Error::Refused { .. } | Error::WrongPeer { .. } => {
                ErrorKind::PermissionDenied
            }
            Error::NotTls
            | Error::Forged
            | Error::Oversized
            | Error::Protocol(_)
            | Error::Alert(_) => ErrorKind::InvalidData,
            Error::Truncated => ErrorKind::UnexpectedEof,
            Error::TimedOut => ErrorKind::TimedOut,
            Error::Connection(kind) => *kind,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotAllowed(key) => {
                write!(f, "refused a connection: the peer's key {key} is not allowed here")
            }
            Error::Refused { own } => {
                write!(
                    f,
                    "the peer refused the connection: it does not allow this host's key {own}"
                )
            }
            Error::WrongPeer { expected, found } => {
                write!(f, "the peer has the key {found}, expected {expected}")
            }
            Error::NotTls => f.write_str("the peer does not use encryption"),
            Error::Truncated => f.write_str("the stream ended without the peer's close_notify"),
            Error::Forged => f.write_str("a record was forged or damaged on the way"),
            Error::Oversized => f.write_str("a record is longer than TLS allows"),
            Error::Protocol(what) => write!(f, "the peer broke the TLS protocol: {what}"),
            Error::Alert(what) => write!(f, "the peer reports a TLS error: {what}"),
            Error::TimedOut => f.write_str("no answer to the TLS handshake"),
            Error::Connection(kind) => write!(f, "the connection failed: {kind}"),
        }
    }
}

impl StdError for Error {}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        match error {
            Error::Connection(kind) => kind.into(),
            error => io::Error::new(error.kind(), error),
        }
    }
}
