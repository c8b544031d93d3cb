//! The bytes of outgoing datagrams, where they are.

#[cfg(any(test, target_os = "linux"))]
use std::io::IoSlice;

/// The bytes of datagrams: a header for each, and their payload, which may stand elsewhere.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Contents<'a> {
    /// Headers of equal length, one after the other.
    headers: &'a [u8],
    /// Bytes of each header.
    header_len: usize,
    /// The payload of all datagrams, in two pieces: the send buffer is a ring.
    payload: [&'a [u8]; 2],
    /// Bytes of payload of each datagram.
    payload_len: usize,
}

impl<'a> Contents<'a> {
    pub(super) fn new(
        headers: &'a [u8],
        header_len: usize,
        payload: [&'a [u8]; 2],
        payload_len: usize,
    ) -> Contents<'a> {
        Contents { headers, header_len, payload, payload_len }
    }

    /// Datagrams that stand one after the other already.
    pub(crate) fn contiguous(bytes: &'a [u8]) -> Contents<'a> {
        Contents { headers: bytes, header_len: bytes.len(), payload: [&[]; 2], payload_len: 0 }
    }

    /// The datagrams, if they stand one after the other.
    pub(crate) fn as_contiguous(&self) -> Option<&'a [u8]> {
        (self.payload_len == 0).then_some(self.headers)
    }

    /// All bytes in their order: a header, its payload, the next header, and so on.
    #[cfg(any(test, target_os = "linux"))]
    pub(crate) fn pieces(&self) -> Vec<IoSlice<'a>> {
        let count = self.headers.len() / self.header_len.max(1);
        let mut pieces = Vec::with_capacity(2 * count + 1);
        self.for_each(|piece| pieces.push(IoSlice::new(piece)));
        pieces
    }

    /// Copies the datagrams into `out`, one after the other, and replaces its contents.
    pub(crate) fn gather(&self, out: &mut Vec<u8>) {
        out.clear();
        self.for_each(|piece| out.extend_from_slice(piece));
    }

    /// The datagrams one after the other; in `scratch` if they are not so already.
    pub(crate) fn joined<'b>(&'b self, scratch: &'b mut Vec<u8>) -> &'b [u8] {
        match self.as_contiguous() {
            Some(bytes) => bytes,
            None => {
                self.gather(scratch);
                scratch
            }
        }
    }

    fn for_each(&self, mut piece: impl FnMut(&'a [u8])) {
        let mut rest = self.payload;
        for header in self.headers.chunks(self.header_len.max(1)) {
            piece(header);
            let (head, after) = rest[0].split_at(self.payload_len.min(rest[0].len()));
            let (tail, after_tail) = rest[1].split_at(self.payload_len - head.len());
            rest = [after, after_tail];
            for part in [head, tail] {
                if !part.is_empty() {
                    piece(part);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_payload_follows_its_header_across_the_end_of_the_ring() {
        let contents = Contents::new(b"ABCD", 2, [b"12345", b"678"], 4);
        let pieces: Vec<_> = contents.pieces().iter().map(|piece| piece.to_vec()).collect();
        assert_eq!(pieces, [&b"AB"[..], b"1234", b"CD", b"5", b"678"]);
        let mut out = vec![0; 3];
        contents.gather(&mut out);
        assert_eq!(out, b"AB1234CD5678");
        assert_eq!(contents.as_contiguous(), None);
        assert_eq!(Contents::contiguous(&out).as_contiguous(), Some(&out[..]));
    }

    #[test]
    fn a_datagram_without_payload_is_its_header() {
        let contents = Contents::new(b"ABCD", 4, [b"", b""], 0);
        assert_eq!(contents.as_contiguous(), Some(&b"ABCD"[..]));
        assert_eq!(contents.pieces().len(), 1);
    }
}
