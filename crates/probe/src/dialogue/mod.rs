//! The dialogues by which a server is brought to send: what to say to it, when the request for much data
//! leaves, and where the answer ends. A dialogue takes the server's bytes and gives bytes to send. It does no
//! I/O, knows nothing of TCP or TLS, and keeps a bounded part of the server's bytes.

mod bittorrent;
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

pub use plain::{Exchange, unescape};
pub use scheme::{NAMES, Scheme};

use crate::http::Head;
use std::fmt;
use windlass_base::{Span, printable};

/// A dialogue, with what it needs to know of the target.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Dialogue {
    /// A GET, with TLS or without.
    Http {
        /// The request, as bytes.
        request: Vec<u8>,
    },
    /// A text that is sent at once, possibly empty, and whatever comes.
    Plain(Exchange),
    /// The control connection of FTP (RFC 959): opens the data connection, which is the measured one.
    Ftp {
        /// The user's name.
        user: String,
        /// The password.
        password: String,
        /// The file to retrieve; empty for the listing of the directory.
        path: String,
    },
    /// SMTP (RFC 5321): a mail with many recipients, whose text is never sent.
    Smtp {
        /// TLS begins after the greeting (RFC 3207).
        starttls: bool,
    },
    /// IMAP (RFC 9051): the capabilities, asked for many times.
    Imap {
        /// TLS begins after the greeting (RFC 9051 section 6.2.1).
        starttls: bool,
    },
    /// NNTP (RFC 3977): an article many times, or the server's groups and its help.
    Nntp {
        /// A message-id, a group, or a group, `/` and a number; empty for the help.
        path: String,
        /// TLS begins after the greeting (RFC 4642).
        starttls: bool,
    },
    /// SSH (RFC 4253): the algorithms and the server's part of the key exchange.
    Ssh,
    /// The daemon of rsync.
    Rsync {
        /// The module, and the file in it; the list of modules if empty.
        path: String,
    },
    /// Redis: its statistics, asked for many times.
    Redis,
    /// The peer protocol of BitTorrent (BEP 3): the first pieces that the peer has.
    BitTorrent {
        /// The hash that names the torrent.
        info_hash: [u8; 20],
    },
}

impl Dialogue {
    /// Its name in results.
    pub fn name(&self) -> &'static str {
        match self {
            Dialogue::Http { .. } => "http",
            Dialogue::Plain(exchange) if exchange.send.is_empty() => "first",
            Dialogue::Plain(_) => "send",
            Dialogue::Ftp { .. } => "ftp",
            Dialogue::Smtp { .. } => "smtp",
            Dialogue::Imap { .. } => "imap",
            Dialogue::Nntp { .. } => "nntp",
            Dialogue::Ssh => "ssh",
            Dialogue::Rsync { .. } => "rsync",
            Dialogue::Redis => "redis",
            Dialogue::BitTorrent { .. } => "bittorrent",
        }
    }

    /// Whether TLS begins in the middle of the dialogue, and not before it.
    pub(crate) fn begins_tls(&self) -> bool {
        match self {
            Dialogue::Smtp { starttls } | Dialogue::Imap { starttls } => *starttls,
            Dialogue::Nntp { starttls, .. } => *starttls,
            _ => false,
        }
    }

    /// How long the server may take before it has to answer, at least. Peers of BitTorrent decide every ten
    /// seconds to whom they send.
    pub(crate) fn patience_min(&self) -> Span {
        match self {
            Dialogue::BitTorrent { .. } => Span::from_secs(30),
            _ => Span::ZERO,
        }
    }

    /// The least pause before a connection to a server that has just had one. Transmission closes the second
    /// of two connections within a second.
    pub(crate) fn pause_min(&self) -> Span {
        match self {
            Dialogue::BitTorrent { .. } => Span::from_secs(2),
            _ => Span::ZERO,
        }
    }

    pub(crate) fn start(&self) -> Box<dyn Talker> {
        match self {
            Dialogue::Http { request } => Box::new(http::Http::new(request.clone())),
            Dialogue::Plain(exchange) => Box::new(plain::Plain::new(exchange.clone())),
            Dialogue::Ftp { user, password, path } => {
                Box::new(ftp::Ftp::new(user.clone(), password.clone(), path.clone()))
            }
            Dialogue::Smtp { starttls } => Box::new(smtp::Smtp::new(*starttls)),
            Dialogue::Imap { starttls } => Box::new(imap::Imap::new(*starttls)),
            Dialogue::Nntp { path, starttls } => Box::new(nntp::Nntp::new(path.clone(), *starttls)),
            Dialogue::Ssh => Box::new(ssh::Ssh::default()),
            Dialogue::Rsync { path } => Box::new(rsync::Rsync::new(path.clone())),
            Dialogue::Redis => Box::new(redis::Redis::default()),
            Dialogue::BitTorrent { info_hash } => Box::new(bittorrent::BitTorrent::new(*info_hash)),
        }
    }
}

/// One end of a dialogue under way.
pub(crate) trait Talker: fmt::Debug + Send {
    /// The connection is open, and secured if TLS comes first.
    fn open(&mut self, _: &mut Talk) {}

    /// The TLS that the dialogue wanted is established.
    fn secured(&mut self, _: &mut Talk) {}

    /// Takes bytes of the server, decrypted.
    fn hear(&mut self, bytes: &[u8], talk: &mut Talk);
}

/// The output of a dialogue: bytes to send, and the facts so far.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    /// Bytes to send.
    pub(crate) out: Vec<u8>,
    /// The request for much data is sent, or is in `out`.
    pub(crate) asked: bool,
    /// The answer to it has begun.
    pub(crate) begun: bool,
    /// The answer is complete.
    pub(crate) ended: bool,
    /// Why the dialogue cannot go on.
    pub(crate) trouble: Option<String>,
    /// TLS begins once `out` is sent.
    pub(crate) wants_tls: bool,
    /// The server's name for itself, from its greeting.
    pub(crate) server: Option<String>,
    /// The port of the connection to measure, once the server waits for it.
    pub(crate) opened: Option<u16>,
    /// The head of an answer in HTTP.
    pub(crate) head: Option<Head>,
    /// The answer to a request of HTTP is something else.
    pub(crate) not_http: bool,
}

impl Talk {
    fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.out.extend_from_slice(bytes.as_ref());
    }

    /// Sends the request for much data.
    fn ask(&mut self, bytes: impl AsRef<[u8]>) {
        self.send(bytes);
        self.asked = true;
    }

    /// Ends the dialogue; the first reason counts.
    fn fail(&mut self, why: impl Into<String>) {
        self.trouble.get_or_insert(why.into());
    }

    /// Ends the dialogue because of the server's answer to `to`.
    fn refuse(&mut self, to: &str, line: &[u8]) {
        self.fail(format!("the answer to {to} is \"{}\"", begin_of(line)));
    }

    /// Keeps the greeting as the server's name.
    fn greeted(&mut self, line: &[u8]) {
        self.server.get_or_insert_with(|| begin_of(line));
    }
}

/// The beginning of a server's text, escaped.
fn begin_of(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(200)]);
    printable(text.trim()).to_string()
}

#[cfg(test)]
mod tests;
