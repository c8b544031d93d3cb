//! SMTP: a mail with many recipients, whose text is never sent. Servers that announce PIPELINING take all
//! these commands in one group (RFC 2920 section 3.1). Before the greeting and the answer to EHLO no command
//! may be sent, so the measured flight follows these two.

use super::lines::{Lines, Replies};
use super::talk::{Asked, Talk, Talker};
use super::{Dialogue, Kind};

/// Each brings an answer of 14 bytes or more: at the least MSS some 80 segments. RFC 5321 section
/// 4.5.3.1.8 permits limits of 100 and more; beyond, servers answer each with an error.
const RECIPIENTS: u32 = 500;
/// A name that no host has (RFC 2606).
const EHLO: &str = "EHLO windlass-probe.invalid\r\n";

/// The dialogue of a URL.
pub(super) fn dialogue(asked: &Asked<'_>) -> Result<Dialogue, &'static str> {
    let starttls = asked.starttls;
    let (codes, stage) = (Replies::default(), Stage::Greeting);
    let kind = Kind { begins_tls: starttls, ..Kind::named("smtp") };
    Ok(Dialogue::new(kind, Smtp { codes, starttls, stage, pipelining: false, replies: 0 }))
}

#[derive(Clone, Debug)]
struct Smtp {
    codes: Replies,
    starttls: bool,
    stage: Stage,
    pipelining: bool,
    replies: u32,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stage {
    Greeting,
    Ehlo,
    StartTls,
    Bulk { requests: u32 },
}

impl Smtp {
    fn say_hello(&mut self, talk: &mut Talk) {
        (self.stage, self.pipelining) = (Stage::Ehlo, false);
        talk.send(EHLO);
    }

    fn ask(&mut self, talk: &mut Talk) {
        let recipients = if self.pipelining { RECIPIENTS } else { 0 };
        self.stage = Stage::Bulk { requests: 1 + recipients };
        if recipients == 0 {
            return talk.ask("HELP\r\n");
        }
        // Every server has this mailbox (RFC 5321 section 4.5.1).
        let all = "RCPT TO:<postmaster>\r\n".repeat(recipients as usize);
        talk.ask(format!("MAIL FROM:<>\r\n{all}"));
    }
}

impl Talker for Smtp {
    fn secured(&mut self, talk: &mut Talk) {
        // RFC 3207 section 4.2: what was said before TLS does not count.
        (talk.lines, self.codes) = (Lines::default(), Replies::default());
        self.say_hello(talk);
    }

    fn take(&mut self, line: &[u8], talk: &mut Talk) {
        let code = self.codes.code(line);
        match (self.stage, code) {
            (Stage::Greeting, Some(220)) => {
                talk.greeted(line);
                self.say_hello(talk);
            }
            (Stage::Greeting, Some(_)) => talk.refuse("the connection", line),
            (Stage::Ehlo, _) => {
                // RFC 5321 section 4.1.1.1: in any case.
                let word = line.get(4..).unwrap_or_default().trim_ascii();
                self.pipelining |= word.eq_ignore_ascii_case(b"PIPELINING");
                match code {
                    None => {}
                    Some(250) if self.starttls => {
                        self.starttls = false;
                        self.stage = Stage::StartTls;
                        talk.send("STARTTLS\r\n");
                    }
                    Some(250) => self.ask(talk),
                    Some(_) => talk.refuse("EHLO", line),
                }
            }
            (Stage::StartTls, Some(220)) => talk.wants_tls = true,
            (Stage::StartTls, Some(_)) => talk.refuse("STARTTLS", line),
            (Stage::Bulk { requests }, _) => {
                talk.begun = true;
                self.replies += u32::from(code.is_some());
                // 421: the server closes the connection.
                talk.ended |= self.replies >= requests || code == Some(421);
            }
            (Stage::Greeting | Stage::StartTls, None) => {}
        }
    }
}
