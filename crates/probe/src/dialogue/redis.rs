//! Redis: INFO, many times in one segment. A server that wants a password answers each with an error, which
//! is data too.

use super::lines::skip;
use super::talk::{Asked, Talk, Talker};
use super::{Dialogue, Kind};

/// Statistics of some five kilobytes each, or errors of some 40 bytes.
const REQUESTS: u32 = 64;

/// The dialogue of a URL.
pub(super) fn dialogue(_: &Asked<'_>) -> Result<Dialogue, &'static str> {
    Ok(Dialogue::new(Kind::named("redis"), Redis::default()))
}

#[derive(Clone, Debug, Default)]
struct Redis {
    /// Bytes of a string that are still to come, with its CR LF.
    skip: u64,
    replies: u32,
}

impl Redis {
    /// Takes the first line of a reply (RESP2): a string begins with its length, all others are one line.
    fn take(&mut self, line: &[u8], talk: &mut Talk) {
        match line.split_first() {
            // The null string, which has no bytes.
            Some((b'$', b"-1")) => {}
            Some((b'$' | b'=', len)) => {
                let len = std::str::from_utf8(len).ok().and_then(|text| text.parse::<u32>().ok());
                match len {
                    Some(len) => self.skip = u64::from(len) + 2,
                    None => return talk.refuse("INFO", line),
                }
            }
            Some((b'-' | b'+' | b':' | b'_', _)) => {
                if self.replies == 0 {
                    talk.greeted(line);
                }
            }
            _ => return talk.refuse("INFO", line),
        }
        self.replies += 1;
    }
}

impl Talker for Redis {
    fn open(&mut self, talk: &mut Talk) {
        talk.ask("INFO\r\n".repeat(REQUESTS as usize));
    }

    fn hear(&mut self, mut bytes: &[u8], talk: &mut Talk) {
        talk.begun |= !bytes.is_empty();
        while !bytes.is_empty() && talk.trouble.is_none() {
            skip(&mut self.skip, &mut bytes);
            if self.skip == 0
                && let Some(line) = talk.lines.next(&mut bytes)
            {
                self.take(&line, talk);
            }
        }
        talk.ended = self.replies >= REQUESTS && self.skip == 0;
    }
}
