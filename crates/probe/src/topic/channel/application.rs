//! The application of a probe: a dialogue with the server, with TLS or without.

use crate::dialogue::{Dialogue, Talk, Talker};
use crate::tls::Tls;
use crate::topic::Ending;
use rustls::ClientConnection;
use std::io::{Read, Write};

/// A bound on the bytes of TLS before the answer: a Finished (TLS 1.2) and session tickets are fewer.
const BEFORE_ANSWER_BYTES_MAX: u64 = 4096;
/// The most that a server may say before the request: greetings and replies are far shorter.
const BEFORE_REQUEST_BYTES_MAX: u64 = 256 * 1024;

#[derive(Debug)]
pub(crate) struct Application {
    talker: Box<dyn Talker>,
    talk: Talk,
    tls: Option<Box<ClientConnection>>,
    /// The TLS that begins when the dialogue wants it.
    tls_later: Option<Tls>,
    opened: bool,
    secured: bool,
    /// Bytes of TLS received since the request was sent.
    since_request: u64,
    heard_bytes: u64,
    answer_bytes: u64,
    trouble: Option<Ending>,
}

impl Application {
    pub(crate) fn new(dialogue: &Dialogue, tls: Option<&Tls>) -> Application {
        let mut application = Application {
            talker: dialogue.start(),
            talk: Talk::default(),
            tls: None,
            tls_later: tls.cloned(),
            opened: false,
            secured: false,
            since_request: 0,
            heard_bytes: 0,
            answer_bytes: 0,
            trouble: None,
        };
        if !dialogue.kind.begins_tls {
            application.begin_tls();
        }
        application
    }

    fn begin_tls(&mut self) {
        let Some(tls) = self.tls_later.take() else { return };
        match ClientConnection::new(tls.config, tls.name) {
            Ok(connection) => self.tls = Some(Box::new(connection)),
            Err(error) => self.trouble = Some(tls_failed(&error)),
        }
    }

    /// The ending if the dialogue or its TLS failed.
    pub(crate) fn trouble(&self) -> Option<Ending> {
        let dialogue = || Some(Ending::DialogueFailed { why: self.talk.trouble.clone()? });
        self.trouble.clone().or_else(dialogue)
    }

    /// The state of the dialogue.
    pub(crate) fn talk(&self) -> &Talk {
        &self.talk
    }

    /// Bytes since the request was sent, decrypted.
    pub(crate) fn answer_bytes(&self) -> u64 {
        self.answer_bytes
    }

    /// Whether the request was sent.
    pub(crate) fn has_asked(&self) -> bool {
        self.talk.asked && self.talk.out.is_empty()
    }

    /// Whether the answer has begun to arrive. With TLS that may be the beginning of a record, which
    /// cannot be decrypted yet.
    pub(crate) fn answer_has_begun(&self) -> bool {
        self.talk.begun || self.since_request > BEFORE_ANSWER_BYTES_MAX
    }

    /// Takes bytes of the server's stream.
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        if self.tls.is_some() {
            self.receive_tls(bytes);
        } else {
            self.hear(bytes);
        }
    }

    fn receive_tls(&mut self, mut bytes: &[u8]) {
        if self.has_asked() {
            self.since_request += bytes.len() as u64;
        }
        while !bytes.is_empty() && self.trouble.is_none() {
            let Some(tls) = &mut self.tls else { return };
            let read = match tls.read_tls(&mut bytes) {
                Ok(0) => return,
                Ok(_) => tls.process_new_packets().map_err(|error| tls_failed(&error)),
                // Its buffer is full only if plaintext is left in it, which is taken below.
                Err(error) => Err(tls_failed(&error)),
            };
            if let Err(trouble) = read {
                return self.trouble = Some(trouble);
            }
            let mut chunk = [0; 4096];
            while let Some(Ok(len @ 1..)) =
                self.tls.as_mut().map(|tls| tls.reader().read(&mut chunk))
            {
                self.hear(&chunk[..len]);
            }
        }
    }

    fn hear(&mut self, bytes: &[u8]) {
        let asked = self.has_asked();
        self.heard_bytes += bytes.len() as u64;
        self.answer_bytes += if asked { bytes.len() as u64 } else { 0 };
        self.talker.hear(bytes, &mut self.talk);
        if !self.talk.asked && self.heard_bytes > BEFORE_REQUEST_BYTES_MAX {
            let why = "the server says too much before the request".to_owned();
            self.trouble = Some(Ending::DialogueFailed { why });
        }
    }

    /// Returns the bytes to send now.
    pub(crate) fn outgoing(&mut self) -> Vec<u8> {
        if self.trouble().is_some() {
            return Vec::new();
        }
        if self.tls.is_none() {
            if !std::mem::replace(&mut self.opened, true) {
                self.talker.open(&mut self.talk);
            }
            let mut out = std::mem::take(&mut self.talk.out);
            if std::mem::take(&mut self.talk.wants_tls) {
                self.begin_tls();
                out.extend(self.outgoing_tls());
            }
            return out;
        }
        self.outgoing_tls()
    }

    fn outgoing_tls(&mut self) -> Vec<u8> {
        let Some(tls) = &mut self.tls else { return Vec::new() };
        if !tls.is_handshaking() {
            if !std::mem::replace(&mut self.secured, true) {
                match self.opened {
                    true => self.talker.secured(&mut self.talk),
                    false => self.talker.open(&mut self.talk),
                }
            }
            let out = std::mem::take(&mut self.talk.out);
            if let Err(error) = tls.writer().write_all(&out) {
                self.trouble = Some(tls_failed(&error));
            }
        }
        let mut out = Vec::new();
        while tls.wants_write() {
            // Writing to a Vec cannot fail.
            if tls.write_tls(&mut out).is_err() {
                break;
            }
        }
        out
    }
}

/// The ending with an error of the TLS library.
fn tls_failed(error: &dyn std::error::Error) -> Ending {
    Ending::TlsFailed { why: error.to_string() }
}
