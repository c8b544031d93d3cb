//! The application of a probe: sends a request, with TLS or without, and reads the beginning of the
//! answer.

use crate::http::{self, HEAD_BYTES_MAX, Head, LAST_CHUNK, Parsed};
use crate::tls::Tls;
use rustls::ClientConnection;
use std::io::{Read, Write};

/// A bound on the bytes of TLS before the answer: a Finished (TLS 1.2) and session tickets are fewer.
const BEFORE_ANSWER_BYTES_MAX: u64 = 4096;

#[derive(Debug)]
pub(crate) struct Application {
    tls: Option<Box<ClientConnection>>,
    /// Bytes of TLS received since the request was sent.
    since_request: u64,
    request: Option<Vec<u8>>,
    /// The beginning of the answer, until its head is complete.
    begin: Vec<u8>,
    head: Parsed,
    answer_bytes: u64,
    /// The last bytes of the answer.
    tail: Vec<u8>,
    trouble: Option<String>,
}

impl Application {
    pub(crate) fn new(request: Vec<u8>, tls: Option<&Tls>) -> Application {
        let made = tls.map(|tls| ClientConnection::new(tls.config.clone(), tls.name.clone()));
        let (tls, trouble) = match made {
            None => (None, None),
            Some(Ok(connection)) => (Some(Box::new(connection)), None),
            Some(Err(error)) => (None, Some(error.to_string())),
        };
        Application {
            tls,
            since_request: 0,
            request: Some(request),
            begin: Vec::new(),
            head: Parsed::Partial,
            answer_bytes: 0,
            tail: Vec::new(),
            trouble,
        }
    }

    /// The error of TLS, if it failed.
    pub(crate) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Bytes of the answer, decrypted.
    pub(crate) fn answer_bytes(&self) -> u64 {
        self.answer_bytes
    }

    /// Whether the request was sent.
    pub(crate) fn has_asked(&self) -> bool {
        self.request.is_none()
    }

    /// Whether the answer has begun to arrive. With TLS that may be the beginning of a record, which
    /// cannot be decrypted yet.
    pub(crate) fn answer_has_begun(&self) -> bool {
        self.answer_bytes > 0 || self.since_request > BEFORE_ANSWER_BYTES_MAX
    }

    pub(crate) fn head(&self) -> Option<&Head> {
        match &self.head {
            Parsed::Complete(head) => Some(head),
            _ => None,
        }
    }

    pub(crate) fn is_not_http(&self) -> bool {
        self.head == Parsed::NotHttp
    }

    /// Whether the answer is complete, by its own length or last chunk.
    pub(crate) fn has_ended(&self) -> bool {
        self.head().is_some_and(|head| head.ends_after(self.answer_bytes, &self.tail))
    }

    /// Takes bytes of the server's stream.
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        if self.tls.is_some() {
            self.receive_tls(bytes);
        } else {
            self.take_answer(bytes);
        }
    }

    fn receive_tls(&mut self, mut bytes: &[u8]) {
        if self.request.is_none() {
            self.since_request += bytes.len() as u64;
        }
        while !bytes.is_empty() && self.trouble.is_none() {
            let Some(tls) = &mut self.tls else { return };
            let read = match tls.read_tls(&mut bytes) {
                Ok(0) => return,
                Ok(_) => tls.process_new_packets(),
                // Its buffer is full only if plaintext is left in it, which is taken below.
                Err(error) => return self.trouble = Some(error.to_string()),
            };
            if let Err(error) = read {
                return self.trouble = Some(error.to_string());
            }
            let mut chunk = [0; 4096];
            while let Some(Ok(len @ 1..)) =
                self.tls.as_mut().map(|tls| tls.reader().read(&mut chunk))
            {
                self.take_answer(&chunk[..len]);
            }
        }
    }

    fn take_answer(&mut self, bytes: &[u8]) {
        self.answer_bytes += bytes.len() as u64;
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(LAST_CHUNK.len())..]);
        self.tail.drain(..self.tail.len().saturating_sub(LAST_CHUNK.len()));
        if self.head != Parsed::Partial {
            return;
        }
        let room = HEAD_BYTES_MAX - self.begin.len().min(HEAD_BYTES_MAX);
        self.begin.extend_from_slice(&bytes[..bytes.len().min(room)]);
        // Each attempt parses from the start. So it waits for the end of a line; the first bytes are parsed
        // at once because they show other protocols.
        let worth = self.begin.len() < 64 || room <= bytes.len() || bytes.contains(&b'\n');
        if worth {
            self.head = http::parse(&self.begin);
        }
        if self.head != Parsed::Partial {
            self.begin = Vec::new();
        }
    }

    /// Returns the bytes to send now.
    pub(crate) fn outgoing(&mut self) -> Vec<u8> {
        let Some(tls) = &mut self.tls else {
            return self.request.take().filter(|_| self.trouble.is_none()).unwrap_or_default();
        };
        if !tls.is_handshaking()
            && let Some(request) = self.request.take()
            && let Err(error) = tls.writer().write_all(&request)
        {
            self.trouble = Some(error.to_string());
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
