//! Room for what one call receives.

use quinn_udp::RecvMeta;
use std::io::IoSliceMut;

/// Messages taken in one call, each of many datagrams where the system joins them (GRO).
pub(super) const BATCH: usize = 32;
/// Bytes taken in one call, about: they are read again at once, from the core's own cache if they fit into it.
const TAKE_BYTES: usize = 512 << 10;
/// The longest message that UDP can tell.
const MESSAGE_MAX: usize = 1 << 16;
/// From one message to the next: not a power of two, or datagrams that come singly would all lie in
/// the same few sets of a cache.
const MESSAGE_STEP: usize = MESSAGE_MAX + 2048 + 64;

/// Room for [`BATCH`] messages.
pub(super) struct Buffers {
    bytes: Vec<u8>,
    /// The longest message of the last call, in bytes.
    longest: usize,
}

impl Buffers {
    pub(super) fn new() -> Buffers {
        Buffers { bytes: vec![0; BATCH * MESSAGE_STEP], longest: 0 }
    }

    /// How many messages the next call is to take at most.
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

    /// What a call has taken: the next messages will be about as long.
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
    fn long_messages_are_taken_few_at_a_time() {
        let mut buffers = Buffers::new();
        assert_eq!(buffers.messages(), BATCH, "nothing is known yet");
        buffers.note(&metas(&[1472, MESSAGE_MAX - 1, 60]));
        assert_eq!(buffers.messages(), 8);
        buffers.note(&metas(&[1472, 1472]));
        assert_eq!(buffers.messages(), BATCH);
        buffers.note(&[]);
        assert_eq!(buffers.messages(), BATCH);
    }
}
