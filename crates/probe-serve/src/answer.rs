//! The bytes that a server sends. They are read at any position of the stream, so a connection stores
//! none that can be shared or generated.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// The bytes of a page's text before it repeats. The number is prime, so segments of equal length differ.
const TEXT_PERIOD: usize = 4099;
const TEXT: [u8; TEXT_PERIOD] = text();
/// A piece of written bytes is freed once all of it is acknowledged.
const PIECE_BYTES: usize = 16 << 10;

/// Letters in an order without structure: the high bits of the multiples of 2^32 divided by the golden
/// ratio.
const fn text() -> [u8; TEXT_PERIOD] {
    let mut text = [0; TEXT_PERIOD];
    let mut index = 0;
    while index < TEXT_PERIOD {
        text[index] = b'a' + ((index as u32).wrapping_mul(2_654_435_769) >> 24) as u8 % 26;
        index += 1;
    }
    text
}

/// An answer that all connections of a server share: stored bytes, and then text that is generated.
#[derive(Clone, Debug)]
pub struct Answer {
    stored: Arc<[u8]>,
    text_bytes: u64,
}

impl From<Vec<u8>> for Answer {
    fn from(bytes: Vec<u8>) -> Answer {
        Answer { stored: bytes.into(), text_bytes: 0 }
    }
}

impl Answer {
    /// An answer with status 200 and a body of `len` bytes of text, after which the server closes.
    pub fn page(len: usize) -> Answer {
        let head = format!(
            "HTTP/1.1 200 OK\r\nServer: engine\r\nContent-Length: {len}\r\nConnection: close\r\n\r\n"
        );
        Answer { stored: head.into_bytes().into(), text_bytes: len as u64 }
    }

    /// All of its bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.copy(0, self.len() as usize, &mut bytes);
        bytes
    }

    fn len(&self) -> u64 {
        self.stored.len() as u64 + self.text_bytes
    }

    /// Appends up to `len` bytes from `offset` on to `out`.
    fn copy(&self, offset: u64, len: usize, out: &mut Vec<u8>) {
        let end = out.len() + len.min((self.len() - offset) as usize);
        let stored = usize::try_from(offset).ok().and_then(|at| self.stored.get(at..));
        let stored = stored.unwrap_or_default();
        out.extend_from_slice(&stored[..stored.len().min(len)]);
        let mut at = offset.saturating_sub(self.stored.len() as u64);
        while out.len() < end {
            let text = &TEXT[(at % TEXT_PERIOD as u64) as usize..];
            let text = &text[..text.len().min(end - out.len())];
            out.extend_from_slice(text);
            at += text.len() as u64;
        }
    }
}

/// The bytes that the application of a connection has to send, until the client acknowledges them. An
/// application appends answers by [`Outgoing::push`], and bytes of its own by [`io::Write`].
#[derive(Debug, Default)]
pub struct Outgoing {
    pieces: VecDeque<Piece>,
    /// The position of the first piece in the stream.
    start: u64,
    /// The position after the last piece.
    end: u64,
}

#[derive(Debug)]
enum Piece {
    Shared(Answer),
    Own(Vec<u8>),
}

impl Piece {
    fn len(&self) -> u64 {
        match self {
            Piece::Shared(answer) => answer.len(),
            Piece::Own(bytes) => bytes.len() as u64,
        }
    }

    fn copy(&self, offset: u64, len: usize, out: &mut Vec<u8>) {
        match self {
            Piece::Shared(answer) => answer.copy(offset, len, out),
            Piece::Own(bytes) => {
                let rest = &bytes[offset as usize..];
                out.extend_from_slice(&rest[..rest.len().min(len)]);
            }
        }
    }
}

impl Outgoing {
    /// Appends an answer without a copy of it.
    pub fn push(&mut self, answer: &Answer) {
        self.end += answer.len();
        self.pieces.push_back(Piece::Shared(answer.clone()));
    }

    /// The number of bytes that the application has appended.
    pub(super) fn written(&self) -> u64 {
        self.end
    }

    /// Frees the pieces before `acknowledged`, a position in the stream.
    pub(super) fn release(&mut self, acknowledged: u64) {
        while let Some(piece) = self.pieces.front() {
            let end = self.start + piece.len();
            if end > acknowledged {
                return;
            }
            self.start = end;
            self.pieces.pop_front();
        }
    }

    /// Writes the `len` bytes at the position `from` of the stream to `out`. They must not be released.
    pub(super) fn read(&self, from: u64, len: usize, out: &mut Vec<u8>) {
        out.clear();
        let mut start = self.start;
        for piece in &self.pieces {
            let end = start + piece.len();
            let next = from + out.len() as u64;
            if (start..end).contains(&next) && out.len() < len {
                piece.copy(next - start, len - out.len(), out);
            }
            start = end;
        }
        debug_assert_eq!(out.len(), len, "{from} is not in {}..{}", self.start, self.end);
    }

    /// Memory of the bytes that no other connection shares.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        let own = |piece: &Piece| match piece {
            Piece::Shared(_) => 0,
            Piece::Own(bytes) => bytes.capacity(),
        };
        self.pieces.iter().map(own).sum()
    }
}

impl io::Write for Outgoing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let has_room = |piece: &Piece| matches!(piece, Piece::Own(own) if own.len() < PIECE_BYTES);
        if !self.pieces.back().is_some_and(has_room) {
            self.pieces.push_back(Piece::Own(Vec::new()));
        }
        let Some(Piece::Own(own)) = self.pieces.back_mut() else { return Ok(0) };
        let taken = bytes.len().min(PIECE_BYTES - own.len());
        own.extend_from_slice(&bytes[..taken]);
        self.end += taken as u64;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    #[test]
    fn a_page_announces_its_length_and_the_end_of_the_connection() {
        let text = String::from_utf8(Answer::page(10_000).to_vec()).expect("letters");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains("\r\nContent-Length: 10000"), "{head}");
        assert!(head.contains("\r\nConnection: close"), "{head}");
        assert_eq!(body.len(), 10_000);
        assert_ne!(body[..1460], body[1460..2920], "a misplaced segment shows");
    }

    proptest! {
        /// Reads of any length at any position give what was appended, while what is acknowledged goes.
        #[test]
        fn what_was_appended_is_read_at_any_position(
            appended in prop::collection::vec((any::<bool>(), 0..40_000_usize), 1..8),
            reads in prop::collection::vec((0.0..1.0_f64, 0..3000_usize), 1..40),
        ) {
            let (mut outgoing, mut whole) = (Outgoing::default(), Vec::new());
            for (shared, len) in appended {
                let bytes: Vec<u8> = (0..len).map(|index| (index % 253) as u8).collect();
                if shared {
                    let page = Answer::page(len);
                    outgoing.push(&page);
                    whole.extend_from_slice(&page.to_vec());
                } else {
                    outgoing.write_all(&bytes).expect("memory");
                    whole.extend_from_slice(&bytes);
                }
            }
            prop_assert_eq!(outgoing.written(), whole.len() as u64);
            let mut reads: Vec<(usize, usize)> = reads
                .into_iter()
                .map(|(part, len)| {
                    let from = (part * whole.len() as f64) as usize;
                    (from, len.min(whole.len() - from))
                })
                .collect();
            reads.sort_unstable();
            let mut out = Vec::new();
            for (from, len) in reads {
                outgoing.release(from as u64);
                outgoing.read(from as u64, len, &mut out);
                prop_assert!(out == whole[from..from + len]);
            }
            outgoing.release(whole.len() as u64);
            prop_assert_eq!(outgoing.memory(), 0);
        }
    }
}
