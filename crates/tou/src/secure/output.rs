//! Where records are sealed: in a vector, or right in the ring of a send buffer.

use super::record::{OVERHEAD, Sealer};

/// Memory that records are appended to.
pub(super) trait Output {
    /// Appends a record with `payload`. Returns the number of its bytes.
    fn seal(&mut self, sealer: &mut Sealer, kind: u8, payload: &[u8]) -> usize;
}

impl Output for Vec<u8> {
    fn seal(&mut self, sealer: &mut Sealer, kind: u8, payload: &[u8]) -> usize {
        sealer.seal(kind, payload, self);
        payload.len() + OVERHEAD
    }
}

/// Free memory in two pieces, as that of a ring is.
pub(super) struct Pieces<'a> {
    pieces: [&'a mut [u8]; 2],
    filled: usize,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(pieces: [&'a mut [u8]; 2]) -> Pieces<'a> {
        Pieces { pieces, filled: 0 }
    }

    /// Bytes of both pieces together.
    pub(super) fn len(&self) -> usize {
        self.pieces[0].len() + self.pieces[1].len()
    }

    /// Bytes filled with records.
    pub(super) fn filled(&self) -> usize {
        self.filled
    }

    /// The next `len` bytes, if they are within one piece.
    fn contiguous(&mut self, len: usize) -> Option<&mut [u8]> {
        let [first, second] = &mut self.pieces;
        match self.filled.checked_sub(first.len()) {
            Some(start) => second.get_mut(start..start + len),
            None => first.get_mut(self.filled..self.filled + len),
        }
    }

    /// Copies `record`, part of which is in each piece.
    fn put_across(&mut self, record: &[u8]) {
        let [first, second] = &mut self.pieces;
        let free = &mut first[self.filled..];
        let (head, tail) = record.split_at(free.len());
        free.copy_from_slice(head);
        second[..tail.len()].copy_from_slice(tail);
    }
}

impl Output for Pieces<'_> {
    fn seal(&mut self, sealer: &mut Sealer, kind: u8, payload: &[u8]) -> usize {
        let len = payload.len() + OVERHEAD;
        match self.contiguous(len) {
            Some(record) => sealer.seal_into(kind, payload, record),
            // The cipher needs contiguous memory. Each turn of the ring has one such record.
            None => {
                let mut record = Vec::with_capacity(len);
                sealer.seal(kind, payload, &mut record);
                self.put_across(&record);
            }
        }
        self.filled += len;
        len
    }
}
