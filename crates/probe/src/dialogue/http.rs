//! HTTP/1.1: one GET. The head of the answer says where it ends; interim answers may precede it.

use super::Dialogue;
use super::talk::{Asked, Talk, Talker};
use crate::http::{self, LAST_CHUNK, Parsed, Reader};

pub(super) const NAME: &str = "http";

/// The dialogue of a URL.
pub(super) fn dialogue(asked: &Asked<'_>) -> Result<Dialogue, &'static str> {
    Ok(Dialogue::http(http::request(asked.url, asked.user_agent)))
}

#[derive(Clone, Debug)]
pub(super) struct Http {
    request: Vec<u8>,
    /// The beginning of the answer, until its head is complete.
    reader: Reader,
    head: Parsed,
    answer_bytes: u64,
    /// The last bytes of the answer.
    tail: Vec<u8>,
    /// Several answers are asked for: the end of the connection ends them.
    several: bool,
    /// The most bytes of the body to keep.
    kept_max: usize,
}

impl Http {
    pub(super) fn new(request: Vec<u8>) -> Http {
        let (reader, tail) = (Reader::default(), Vec::new());
        let (head, answer_bytes) = (Parsed::Partial, 0);
        Http { request, reader, head, answer_bytes, tail, several: false, kept_max: 0 }
    }

    /// The request is several ones.
    pub(super) fn several(self) -> Http {
        Http { several: true, ..self }
    }

    /// Keeps the beginning of the body.
    pub(super) fn keeping(self, kept_max: usize) -> Http {
        Http { kept_max, ..self }
    }

    /// Keeps the part of the bytes that belongs to the body; `from` is where they begin in the answer.
    fn keep(&self, from: u64, bytes: &[u8], head_bytes: usize, talk: &mut Talk) {
        let room = self.kept_max.saturating_sub(talk.body.len());
        let skipped = (head_bytes as u64).saturating_sub(from).min(bytes.len() as u64) as usize;
        talk.body.extend(bytes[skipped..].iter().take(room));
    }

    fn read_head(&mut self, bytes: &[u8], talk: &mut Talk) {
        self.head = self.reader.take(bytes);
        match &self.head {
            Parsed::Partial => {
                // An interim answer does not count: the server may compute the page meanwhile.
                talk.begun = self.reader.final_has_begun();
                return;
            }
            Parsed::NotHttp => talk.not_http = true,
            Parsed::Complete(head) => {
                talk.server.clone_from(&head.server);
                talk.head = Some(head.clone());
            }
        }
        talk.begun = true;
        self.reader = Reader::default();
    }
}

impl Talker for Http {
    fn open(&mut self, talk: &mut Talk) {
        talk.ask(std::mem::take(&mut self.request));
    }

    fn hear(&mut self, bytes: &[u8], talk: &mut Talk) {
        let from = self.answer_bytes;
        self.answer_bytes += bytes.len() as u64;
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(LAST_CHUNK.len())..]);
        self.tail.drain(..self.tail.len().saturating_sub(LAST_CHUNK.len()));
        if self.head == Parsed::Partial {
            self.read_head(bytes, talk);
        }
        if let Parsed::Complete(head) = &self.head {
            talk.ended = !self.several && head.ends_after(self.answer_bytes, &self.tail);
            self.keep(from, bytes, head.head_bytes, talk);
        }
    }
}
