//! A text of the user's, or nothing: servers that speak first, and protocols that the probe does not know.

use super::Dialogue;
use super::exchange::Exchange;
use super::talk::{Asked, Talk, Talker};

/// The dialogue of a URL.
pub(super) fn dialogue(asked: &Asked<'_>) -> Result<Dialogue, &'static str> {
    Ok(Dialogue::plain(asked.exchange))
}

/// The bytes before the newest ones in which a match may begin.
const MATCH_BYTES_MAX: usize = 4096;

#[derive(Clone, Debug)]
pub(super) struct Plain {
    exchange: Exchange,
    tail: Vec<u8>,
}

impl Plain {
    pub(super) fn new(exchange: Exchange) -> Plain {
        Plain { exchange, tail: Vec::new() }
    }
}

impl Talker for Plain {
    fn open(&mut self, talk: &mut Talk) {
        talk.ask(&self.exchange.send);
    }

    fn hear(&mut self, bytes: &[u8], talk: &mut Talk) {
        talk.begun |= !bytes.is_empty();
        let Some(until) = &self.exchange.until else { return };
        self.tail.extend_from_slice(bytes);
        talk.ended |= until.is_match(&self.tail);
        self.tail.drain(..self.tail.len().saturating_sub(MATCH_BYTES_MAX));
    }
}
