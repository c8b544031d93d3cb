use super::AccEcnOption;
use crate::SeqNumber;

/// The options of a segment that the engine understands; others are skipped on arrival.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Options {
    /// Timestamps (RFC 7323 §3).
    pub timestamps: Option<Timestamps>,
    /// Maximum segment size in bytes (RFC 9293 §3.7.1); SYN only.
    pub mss: Option<u16>,
    /// Window scale shift (RFC 7323 §2); SYN only.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 §2); SYN only.
    pub sack_permitted: bool,
    /// SACK blocks (RFC 2018 §3); the first may be a DSACK (RFC 2883).
    pub sack: SackBlocks,
    /// Byte counters of AccECN (RFC 9768 §3.2.3); not on a SYN without ACK.
    pub accecn: Option<AccEcnOption>,
}

/// The timestamps option, in ticks of the sender's timestamp clock (RFC 7323 §3.2).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the echoed clock of the other end.
    pub echo_reply: u32,
}

/// Up to four SACK blocks, each a left edge and the sequence number after its right edge.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
#[repr(C)]
pub struct SackBlocks {
    /// The number of blocks, as wide as their edges: padding would cost a separate copy.
    len: u32,
    blocks: [(SeqNumber, SeqNumber); SackBlocks::MAX],
}

impl SackBlocks {
    /// The number of blocks that fit into 40 bytes of options.
    pub const MAX: usize = 4;

    /// Adds a block; returns false if there is no room for it.
    pub fn push(&mut self, left: SeqNumber, right: SeqNumber) -> bool {
        let Some(slot) = self.blocks.get_mut(self.len as usize) else { return false };
        *slot = (left, right);
        self.len += 1;
        true
    }

    /// The blocks in the order of the option: the most recent first.
    pub fn as_slice(&self) -> &[(SeqNumber, SeqNumber)] {
        &self.blocks[..self.len as usize]
    }

    /// Leaves out the blocks behind the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.blocks.iter_mut().skip(len).for_each(|block| *block = Default::default());
        self.len = self.len.min(len as u32);
    }

    /// True without any block.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Options {
    /// The room for options in a header, in bytes (RFC 9293 §3.1: a data offset of 15).
    pub const MAX_LEN: usize = 40;

    /// The bytes that these options take in a header, padding included: a multiple of four, at
    /// most [`Options::MAX_LEN`].
    #[inline]
    pub fn wire_len(&self) -> usize {
        if self.sack.is_empty() { self.len_without_sack() } else { self.len_with_sack() }
    }

    #[inline(never)]
    fn len_with_sack(&self) -> usize {
        let others = self.len_without_sack();
        match self.sack_that_fits().len() {
            0 => others,
            blocks => others + SACK_OVERHEAD + SACK_BLOCK * blocks,
        }
    }

    /// The number of SACK blocks that fit beside the other options: four alone or with an MSS,
    /// three with timestamps, two with all options of a SYN, fewer beside AccECN's. The oldest blocks, which
    /// come last, are left out (RFC 2018 §4).
    pub fn sack_that_fits(&self) -> &[(SeqNumber, SeqNumber)] {
        let room = (Self::MAX_LEN - self.len_without_sack()).saturating_sub(SACK_OVERHEAD);
        let blocks = self.sack.as_slice();
        &blocks[..blocks.len().min(room / SACK_BLOCK)]
    }

    /// The bytes that stay occupied beside an AccECN option: two SACK blocks have precedence over it, and further
    /// ones make room (RFC 9768 §3.2.3.3).
    pub(crate) fn len_beside_accecn(&self) -> usize {
        let others = Options { accecn: None, ..*self }.len_without_sack();
        let sack = match self.sack.as_slice().len().min(2) {
            0 => 0,
            blocks => SACK_OVERHEAD + SACK_BLOCK * blocks,
        };
        others + sack
    }

    /// At most 32 bytes.
    #[inline]
    fn len_without_sack(&self) -> usize {
        let of_syn = self.mss.is_some() | self.window_scale.is_some() | self.sack_permitted;
        let of_syn = if of_syn { self.len_of_syn_options() } else { 0 };
        // Two NOPs before the timestamps keep them aligned (RFC 7323 appendix A).
        let timestamps = if self.timestamps.is_some() { 12 } else { 0 };
        let accecn = self.accecn.map_or(0, |option| option.padded_len());
        of_syn + timestamps + accecn
    }

    #[cold]
    fn len_of_syn_options(&self) -> usize {
        let mss = if self.mss.is_some() { 4 } else { 0 };
        let window_scale = if self.window_scale.is_some() { 4 } else { 0 };
        // The option of a SYN that permits SACK takes the place of the NOPs before the timestamps.
        let sack_permitted = if self.sack_permitted && self.timestamps.is_none() { 4 } else { 0 };
        mss + window_scale + sack_permitted
    }
}

/// Two NOPs, kind and length, in bytes.
const SACK_OVERHEAD: usize = 4;
/// A left and a right edge, in bytes.
const SACK_BLOCK: usize = 8;
