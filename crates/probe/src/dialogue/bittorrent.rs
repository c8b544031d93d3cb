//! The peer protocol of BitTorrent: the handshake, the peer's pieces, and once it sends to this side, requests
//! for the first block of some pieces.

use super::lines::skip;
use super::talk::{Asked, Talk, Talker};
use super::{Dialogue, Kind};
use windlass_base::Span;

const PROTOCOL: &[u8; 20] = b"\x13BitTorrent protocol";
const HANDSHAKE_BYTES: usize = 68;
const BLOCK_BYTES: u32 = 16 * 1024;
/// 256 KiB.
const BLOCKS_MAX: usize = 16;
/// The bits of two million pieces; a longer message is an error.
const MESSAGE_BYTES_MAX: u32 = 256 * 1024;

const UNCHOKE: u8 = 1;
const INTERESTED: u8 = 2;
const HAVE: u8 = 4;
const BITFIELD: u8 = 5;
const REQUEST: u8 = 6;
const PIECE: u8 = 7;

/// The dialogue of a URL.
pub(super) fn dialogue(asked: &Asked<'_>) -> Result<Dialogue, &'static str> {
    let Some(info_hash) = asked.path.as_deref().and_then(info_hash) else {
        return Err("expected bittorrent://HOST:PORT/INFOHASH, 40 hexadecimal digits");
    };
    let kind = Kind {
        // Peers decide every ten seconds to whom they send.
        patience_min: Span::from_secs(30),
        // Transmission closes the second of two connections within a second.
        pause_min: Span::from_secs(2),
        ..Kind::named("bittorrent")
    };
    Ok(Dialogue::new(kind, BitTorrent { info_hash, ..BitTorrent::default() }))
}

fn info_hash(text: &str) -> Option<[u8; 20]> {
    let mut hash = [0; 20];
    if text.len() != 40 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(hash)
}

#[derive(Clone, Debug, Default)]
struct BitTorrent {
    info_hash: [u8; 20],
    /// The beginning of a handshake or of a message.
    begun: Vec<u8>,
    /// Bytes of a message that are still to come, and are not needed.
    skip: u64,
    shaken: bool,
    /// The first pieces that the peer has.
    pieces: Vec<u32>,
    blocks: usize,
}

impl BitTorrent {
    /// Fills the beginning up to `len` bytes; true if it is complete.
    fn fill(&mut self, len: usize, bytes: &mut &[u8]) -> bool {
        let missing = len.saturating_sub(self.begun.len()).min(bytes.len());
        let (taken, rest) = bytes.split_at(missing);
        self.begun.extend_from_slice(taken);
        *bytes = rest;
        self.begun.len() >= len
    }

    fn shake(&mut self, bytes: &mut &[u8], talk: &mut Talk) {
        if !self.fill(HANDSHAKE_BYTES, bytes) {
            return;
        }
        if !self.begun.starts_with(PROTOCOL) || self.begun[28..48] != self.info_hash {
            return talk.fail("the peer's handshake is for another protocol or torrent");
        }
        talk.greeted(&self.begun[48..56]);
        self.begun.clear();
        self.shaken = true;
    }

    fn take_message(&mut self, bytes: &mut &[u8], talk: &mut Talk) {
        if self.skip > 0 {
            skip(&mut self.skip, bytes);
            self.look_for_the_end(talk);
            return;
        }
        if !self.fill(4, bytes) {
            return;
        }
        let len = self.begun.first_chunk().map_or(0, |len| u32::from_be_bytes(*len));
        if len > MESSAGE_BYTES_MAX {
            return talk.fail("a message of the peer is too long");
        }
        if len == 0 {
            return self.begun.clear();
        }
        if !self.fill(5, bytes) {
            return;
        }
        match self.begun[4] {
            BITFIELD | HAVE => self.take_pieces(len as usize, bytes),
            message => {
                self.begun.clear();
                self.skip = u64::from(len - 1);
                self.take_signal(message, talk);
            }
        }
    }

    fn take_pieces(&mut self, len: usize, bytes: &mut &[u8]) {
        if !self.fill(4 + len, bytes) {
            return;
        }
        let message = std::mem::take(&mut self.begun);
        match (message[4], &message[5..]) {
            (HAVE, [a, b, c, d]) => self.pieces.push(u32::from_be_bytes([*a, *b, *c, *d])),
            (BITFIELD, bits) => {
                let is_set = |piece: &u32| bits[*piece as usize / 8] >> (7 - piece % 8) & 1 == 1;
                let has = (0..bits.len() as u32 * 8).filter(is_set);
                self.pieces.extend(has.take(BLOCKS_MAX));
            }
            _ => {}
        }
        self.pieces.truncate(BLOCKS_MAX);
    }

    fn take_signal(&mut self, message: u8, talk: &mut Talk) {
        if message == UNCHOKE && !talk.asked {
            if self.pieces.is_empty() {
                return talk.fail("the peer has no piece");
            }
            let mut requests = Vec::new();
            for piece in &self.pieces {
                requests.extend([0, 0, 0, 13, REQUEST]);
                for number in [*piece, 0, BLOCK_BYTES] {
                    requests.extend(number.to_be_bytes());
                }
            }
            talk.ask(requests);
        }
        if message == PIECE && talk.asked {
            talk.begun = true;
            self.blocks += 1;
        }
    }

    fn look_for_the_end(&self, talk: &mut Talk) {
        talk.ended |= talk.asked && self.blocks >= self.pieces.len() && self.skip == 0;
    }
}

impl Talker for BitTorrent {
    fn open(&mut self, talk: &mut Talk) {
        talk.send(PROTOCOL);
        talk.send([0; 8]);
        talk.send(self.info_hash);
        talk.send(b"-WL0001-windlass-pro");
        talk.send([0, 0, 0, 1, INTERESTED]);
    }

    fn hear(&mut self, mut bytes: &[u8], talk: &mut Talk) {
        while !bytes.is_empty() && talk.trouble.is_none() {
            match self.shaken {
                true => self.take_message(&mut bytes, talk),
                false => self.shake(&mut bytes, talk),
            }
        }
    }
}
