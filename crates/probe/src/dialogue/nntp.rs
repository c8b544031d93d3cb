//! NNTP: an article, asked for many times in one segment (RFC 3977 section 3.5 permits that), or without one
//! what every server has: its capabilities, its groups and its help. As with IMAP the request precedes the
//! greeting, so that the answer is in the first flight.

use super::lines::Lines;
use super::talk::{Asked, Talk, Talker};
use super::{Dialogue, Kind};

/// An article or a text of help has some kilobytes.
const REQUESTS: u32 = 64;

/// The dialogue of a URL.
pub(super) fn dialogue(asked: &Asked<'_>) -> Result<Dialogue, &'static str> {
    let (path, starttls) = (asked.path()?, asked.starttls);
    let kind = Kind { begins_tls: starttls, ..Kind::named("nntp") };
    Ok(Dialogue::new(kind, Nntp { path, starttls, ..Nntp::default() }))
}

#[derive(Clone, Debug, Default)]
struct Nntp {
    /// A message-id, a group, a group and a number, or nothing.
    path: String,
    starttls: bool,
    greeted: bool,
    /// The lines of a block follow, up to a single dot (RFC 3977 section 3.1.1).
    in_block: bool,
    replies: u32,
    requests: u32,
}

impl Nntp {
    fn ask(&mut self, talk: &mut Talk) {
        let (before, repeated) = requests(&self.path);
        self.requests = before.len() as u32 + REQUESTS;
        let repeated = std::iter::repeat_n(repeated, REQUESTS as usize);
        for command in before.into_iter().chain(repeated) {
            talk.ask(command);
            talk.send("\r\n");
        }
    }

    fn take_reply(&mut self, line: &[u8], talk: &mut Talk) {
        let Some(code) = line.first_chunk::<3>().filter(|code| code.iter().all(u8::is_ascii_digit))
        else {
            return talk.refuse("the request", line);
        };
        match code {
            // The server closes the connection (RFC 3977 section 3.2.1).
            b"400" if talk.begun => talk.ended = true,
            b"400" => return talk.refuse("the request", line),
            // An error instead of help is data too. Without the article there is no other answer.
            [b'4' | b'5', ..] if !self.path.is_empty() => return talk.refuse("the request", line),
            b"100" | b"101" | b"215" | b"220" => self.in_block = true,
            _ => self.replies += 1,
        }
        talk.begun = true;
    }
}

/// The commands for a path: some once, then one many times. A group or message-id is as in the URLs of
/// RFC 5538.
fn requests(path: &str) -> (Vec<String>, String) {
    if path.is_empty() {
        return (vec!["CAPABILITIES".to_owned(), "LIST".to_owned()], "HELP".to_owned());
    }
    if path.contains('@') {
        let id = path.trim_start_matches('<').trim_end_matches('>');
        return (Vec::new(), format!("ARTICLE <{id}>"));
    }
    let (group, number) = path.split_once('/').unwrap_or((path, ""));
    // Without a number it is the group's first article (RFC 3977 section 6.1.1.2).
    let article = format!("ARTICLE {number}").trim_end().to_owned();
    (vec![format!("GROUP {group}")], article)
}

impl Talker for Nntp {
    fn open(&mut self, talk: &mut Talk) {
        match self.starttls {
            true => talk.send("STARTTLS\r\n"),
            false => self.ask(talk),
        }
    }

    fn secured(&mut self, talk: &mut Talk) {
        // RFC 4642 section 2.2.2: the server sends no second greeting.
        talk.lines = Lines::default();
        self.ask(talk);
    }

    fn take(&mut self, line: &[u8], talk: &mut Talk) {
        if !self.greeted {
            self.greeted = true;
            match line.first_chunk() {
                Some(b"200" | b"201") => talk.greeted(line),
                _ => talk.refuse("the connection", line),
            }
        } else if self.in_block {
            self.in_block = line != b".";
            self.replies += u32::from(!self.in_block);
        } else if talk.asked {
            self.take_reply(line, talk);
        } else {
            match line.first_chunk() {
                Some(b"382") => talk.wants_tls = true,
                _ => talk.refuse("STARTTLS", line),
            }
        }
        talk.ended |= talk.asked && self.replies >= self.requests;
    }
}
