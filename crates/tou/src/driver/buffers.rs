//! Buffers for one receive call.

use quinn_udp::RecvMeta;
use std::io::IoSliceMut;

/// Messages per receive call. Each holds many datagrams where the system coalesces them (GRO).
pub(super) const BATCH: usize = 32;
/// Approximate number of bytes per receive call. The endpoint reads them immediately afterwards, so
/// they should fit into the core's cache.
const TAKE_BYTES: usize = 512 << 10;
/// The longest UDP message, in bytes.
const MESSAGE_MAX: usize = 1 << 16;
/// Distance between messages in bytes. It is not a power of two: otherwise single datagrams would
/// all fall into the same few sets of a cache.
const MESSAGE_STEP: usize = MESSAGE_MAX + 2048 + 64;

/// Buffers for [`BATCH`] messages.
pub(super) struct Buffers {
    bytes: Vec<u8>,
    /// The longest message of the last call, in bytes.
    longest: usize,
}

impl Buffers {
    pub(super) fn new() -> Buffers {
        Buffers { bytes: vec![0; BATCH * MESSAGE_STEP], longest: 0 }
    }

    /// The largest number of messages for the next call.
    pub(super) fn messages(&self) -> usize {
        (TAKE_BYTES / self.longest.max(1)).clamp(1, BATCH)
    }

    pub(super) fn slices(&mut self) -> [IoSliceMut<'_>; BATCH] {
        let mut rest = &mut self.bytes[..];
        std::array::from_fn(|_| {
            let (head, tail) = std::mem::take(&mut rest).split_at_mut(MESSAGE_STEP);
            rest = tail;
            IoSliceMut::new(&mut head[..MESSAGE_MAX])
        })
    }

    /// Records the lengths of one call: the next messages will probably be as long.
    pub(super) fn note(&mut self, metas: &[RecvMeta]) {
        self.longest = metas.iter().map(|meta| meta.len).max().unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metas(lens: &[usize]) -> Vec<RecvMeta> {
        let meta = |len: &usize| {
            let mut meta = RecvMeta::default();
            meta.len = *len;
            meta
        };
        lens.iter().map(meta).collect()
    }

    #[test]
    fn a_call_takes_fewer_messages_when_they_are_long() {
        let mut buffers = Buffers::new();
        assert_eq!(buffers.messages(), BATCH, "before the first call");
        buffers.note(&metas(&[1472, MESSAGE_MAX - 1, 60]));
        assert_eq!(buffers.messages(), 8);
        buffers.note(&metas(&[1472, 1472]));
        assert_eq!(buffers.messages(), BATCH);
        buffers.note(&[]);
        assert_eq!(buffers.messages(), BATCH);
    }
}
