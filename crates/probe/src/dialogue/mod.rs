//! The dialogues by which a server is brought to send: what to say to it, when the request for much data
//! leaves, and where the answer ends. A dialogue takes the server's bytes and gives bytes to send. It does no
//! I/O, knows nothing of TCP or TLS, and keeps a bounded part of the server's bytes.

mod bittorrent;
mod exchange;
mod ftp;
mod http;
mod imap;
mod lines;
mod nntp;
mod plain;
mod redis;
mod rsync;
mod scheme;
mod smtp;
mod ssh;
mod talk;

pub use exchange::{Exchange, unescape};
pub use scheme::{NAMES, Scheme};
pub(crate) use talk::{Talk, Talker};

use std::fmt;
use std::sync::Arc;
use windlass_base::Span;

/// A dialogue, with what it needs to know of the target.
#[derive(Clone)]
pub struct Dialogue {
    pub(crate) kind: Kind,
    start: Arc<dyn Fn() -> Box<dyn Talker> + Send + Sync>,
}

/// The properties of a dialogue, whatever the target.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Kind {
    /// Its name in results.
    pub(crate) name: &'static str,
    /// TLS begins in the middle of the dialogue, and not before it.
    pub(crate) begins_tls: bool,
    /// It opens the way to another connection, which is the measured one.
    pub(crate) opens_way: bool,
    /// How long the server may take before it has to answer, at least.
    pub(crate) patience_min: Span,
    /// The least pause before a connection to a server that has just had one.
    pub(crate) pause_min: Span,
}

impl Kind {
    /// A dialogue without anything of its own but the name.
    fn named(name: &'static str) -> Kind {
        let (patience_min, pause_min) = (Span::ZERO, Span::ZERO);
        Kind { name, begins_tls: false, opens_way: false, patience_min, pause_min }
    }
}

impl Dialogue {
    fn new(kind: Kind, talker: impl Talker + Clone + Sync + 'static) -> Dialogue {
        let start = move || -> Box<dyn Talker> { Box::new(talker.clone()) };
        Dialogue { kind, start: Arc::new(start) }
    }

    /// HTTP with this request.
    pub fn http(request: Vec<u8>) -> Dialogue {
        Dialogue::new(Kind::named(http::NAME), http::Http::new(request))
    }

    /// HTTP with several requests at once, each with an answer.
    pub(crate) fn http_several(requests: Vec<u8>) -> Dialogue {
        Dialogue::new(Kind::named(http::NAME), http::Http::new(requests).several())
    }

    /// HTTP with this request, and the beginning of the body kept.
    pub(crate) fn http_kept(request: Vec<u8>, bytes_max: usize) -> Dialogue {
        Dialogue::new(Kind::named(http::NAME), http::Http::new(request).keeping(bytes_max))
    }

    /// A text that is sent at once, possibly empty, and whatever comes.
    pub(crate) fn plain(exchange: &Exchange) -> Dialogue {
        let name = if exchange.send.is_empty() { "first" } else { "send" };
        Dialogue::new(Kind::named(name), plain::Plain::new(exchange.clone()))
    }

    /// Whether it is HTTP.
    pub(crate) fn is_web(&self) -> bool {
        self.kind.name == http::NAME
    }

    /// Its end on a new connection.
    pub(crate) fn start(&self) -> Box<dyn Talker> {
        (self.start)()
    }
}

impl fmt::Debug for Dialogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialogue").field("kind", &self.kind).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
