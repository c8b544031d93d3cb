//! IMAP: CAPABILITY, many times in one segment (RFC 9051 section 5.5 permits that), and before the greeting,
//! so that the answer is in the first flight.

use super::lines::Lines;
use super::talk::{Asked, Talk, Talker};
use super::{Dialogue, Kind};

/// Each brings some 150 bytes. All together are shorter than the input buffer of Dovecot before a login,
/// 1,024 bytes.
const REQUESTS: u32 = 64;

/// The dialogue of a URL.
pub(super) fn dialogue(asked: &Asked<'_>) -> Result<Dialogue, &'static str> {
    let starttls = asked.starttls;
    let kind = Kind { begins_tls: starttls, ..Kind::named("imap") };
    Ok(Dialogue::new(kind, Imap { starttls, greeted: false, replies: 0 }))
}

#[derive(Clone, Debug)]
struct Imap {
    starttls: bool,
    greeted: bool,
    replies: u32,
}

impl Imap {
    fn ask(talk: &mut Talk) {
        talk.ask("a CAPABILITY\r\n".repeat(REQUESTS as usize));
    }
}

/// Whether a line begins so, in any case: that of words has no meaning in IMAP (RFC 9051 section 9).
fn begins(line: &[u8], with: &[u8]) -> bool {
    line.get(..with.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(with))
}

impl Talker for Imap {
    fn open(&mut self, talk: &mut Talk) {
        match self.starttls {
            true => talk.send("s STARTTLS\r\n"),
            false => Imap::ask(talk),
        }
    }

    fn secured(&mut self, talk: &mut Talk) {
        talk.lines = Lines::default();
        Imap::ask(talk);
    }

    fn take(&mut self, line: &[u8], talk: &mut Talk) {
        if !self.greeted {
            self.greeted = true;
            match begins(line, b"* OK") || begins(line, b"* PREAUTH") {
                true => talk.greeted(line),
                false => talk.refuse("the connection", line),
            }
            return;
        }
        if !talk.asked {
            // Lines without the tag may come before (RFC 9051 section 7).
            if begins(line, b"s OK") {
                talk.wants_tls = true;
            } else if begins(line, b"s ") {
                talk.refuse("STARTTLS", line);
            }
            return;
        }
        if begins(line, b"* BYE") {
            return talk.refuse("CAPABILITY", line);
        }
        talk.begun = true;
        self.replies += u32::from(line.starts_with(b"a "));
        talk.ended |= self.replies >= REQUESTS;
    }
}
