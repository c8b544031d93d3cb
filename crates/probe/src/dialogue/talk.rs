//! A dialogue under way: what it hears, what it says, and the facts so far.

use super::exchange::Exchange;
use super::lines::Lines;
use crate::http::Head;
use percent_encoding::percent_decode_str;
use std::fmt;
use url::Url;
use windlass_base::printable;

/// The request of a user, of which a dialogue takes what it needs.
pub(super) struct Asked<'a> {
    pub(super) url: &'a Url,
    /// The path of the URL without its first slash, decoded; `None` if it has a control character.
    pub(super) path: Option<String>,
    /// TLS is to begin in the middle of the dialogue.
    pub(super) starttls: bool,
    pub(super) user_agent: &'a str,
    pub(super) exchange: &'a Exchange,
}

/// The text without its percent-encoding; `None` if it has a control character.
pub(super) fn decode(text: &str) -> Option<String> {
    let text = percent_decode_str(text).decode_utf8_lossy().into_owned();
    (!text.contains(|c: char| c.is_control())).then_some(text)
}

impl Asked<'_> {
    /// The path.
    ///
    /// # Errors
    ///
    /// It has a control character: the end of a line would begin another command.
    pub(super) fn path(&self) -> Result<String, &'static str> {
        self.path.clone().ok_or("a control character")
    }
}

/// One end of a dialogue under way.
pub(crate) trait Talker: fmt::Debug + Send {
    /// The connection is open, and secured if TLS comes first.
    fn open(&mut self, _: &mut Talk) {}

    /// The TLS that the dialogue wanted is established.
    fn secured(&mut self, _: &mut Talk) {}

    /// Takes bytes of the server, decrypted.
    fn hear(&mut self, mut bytes: &[u8], talk: &mut Talk) {
        while let Some(line) = talk.lines.next(&mut bytes) {
            if talk.trouble.is_none() {
                self.take(&line, talk);
            }
        }
    }

    /// Takes a line of a server that speaks in lines.
    fn take(&mut self, _line: &[u8], _: &mut Talk) {}
}

/// The output of a dialogue: bytes to send, and the facts so far.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    /// The line of the server that is under way.
    pub(super) lines: Lines,
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
    /// The beginning of its body, if it is to be kept.
    pub(crate) body: Vec<u8>,
    /// The answer to a request of HTTP is something else.
    pub(crate) not_http: bool,
}

impl Talk {
    pub(super) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.out.extend_from_slice(bytes.as_ref());
    }

    /// Sends the request for much data.
    pub(super) fn ask(&mut self, bytes: impl AsRef<[u8]>) {
        self.send(bytes);
        self.asked = true;
    }

    /// Ends the dialogue; the first reason counts.
    pub(super) fn fail(&mut self, why: impl Into<String>) {
        self.trouble.get_or_insert(why.into());
    }

    /// Ends the dialogue because of the server's answer to `to`.
    pub(super) fn refuse(&mut self, to: &str, line: &[u8]) {
        self.fail(format!("the answer to {to} is \"{}\"", begin_of(line)));
    }

    /// Keeps the greeting as the server's name.
    pub(super) fn greeted(&mut self, line: &[u8]) {
        self.server.get_or_insert_with(|| begin_of(line));
    }
}

/// The beginning of a server's text, escaped.
fn begin_of(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(200)]);
    printable(text.trim()).to_string()
}
