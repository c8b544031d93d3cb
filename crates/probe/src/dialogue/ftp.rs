//! The control connection of FTP. It opens the passive port and asks for the file at once: the server waits
//! with the file until the data connection, which is the measured one, is there.

use super::lines::Replies;
use super::talk::{Asked, Talk, Talker, decode};
use super::{Dialogue, Kind};

/// The dialogue of a URL.
pub(super) fn dialogue(asked: &Asked<'_>) -> Result<Dialogue, &'static str> {
    let user = if asked.url.username().is_empty() { "anonymous" } else { asked.url.username() };
    let password = asked.url.password().unwrap_or("windlass-probe@");
    let ftp = Ftp {
        user: decode(user).ok_or("a control character")?,
        password: decode(password).ok_or("a control character")?,
        path: asked.path()?,
        codes: Replies::default(),
        stage: Stage::Greeting,
    };
    Ok(Dialogue::new(Kind { opens_way: true, ..Kind::named("ftp") }, ftp))
}

#[derive(Clone, Debug)]
struct Ftp {
    codes: Replies,
    user: String,
    password: String,
    path: String,
    stage: Stage,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stage {
    Greeting,
    User,
    Password,
    Type,
    Size,
    ExtendedPassive,
    Passive,
    Opened,
}

impl Ftp {
    fn say(&mut self, talk: &mut Talk, stage: Stage, command: &str) {
        self.stage = stage;
        talk.send(command);
        talk.send("\r\n");
    }

    fn open_port(&mut self, port: Option<u16>, line: &[u8], talk: &mut Talk) {
        let Some(port) = port.filter(|port| *port > 0) else {
            return talk.refuse(self.stage.name(), line);
        };
        let command = match self.path.is_empty() {
            true => "LIST".to_owned(),
            false => format!("RETR {}", self.path),
        };
        self.say(talk, Stage::Opened, &command);
        talk.asked = true;
        talk.opened = Some(port);
    }
}

impl Stage {
    /// The command that the server answers in this stage.
    fn name(self) -> &'static str {
        match self {
            Stage::Greeting => "the connection",
            Stage::User => "USER",
            Stage::Password => "PASS",
            Stage::Type => "TYPE",
            Stage::Size => "SIZE",
            Stage::ExtendedPassive => "EPSV",
            Stage::Passive => "PASV",
            Stage::Opened => "RETR",
        }
    }
}

impl Talker for Ftp {
    fn take(&mut self, line: &[u8], talk: &mut Talk) {
        let Some(code) = self.codes.code(line) else { return };
        match (self.stage, code) {
            // 120 and other preliminary replies: the real one follows.
            (_, 100..=199) => {}
            (Stage::Greeting, 220) => {
                talk.greeted(line);
                let user = format!("USER {}", self.user);
                self.say(talk, Stage::User, &user);
            }
            (Stage::User, 331) => {
                let password = format!("PASS {}", self.password);
                self.say(talk, Stage::Password, &password);
            }
            (Stage::User | Stage::Password, 230 | 202) => self.say(talk, Stage::Type, "TYPE I"),
            (Stage::Type, 200) if self.path.is_empty() => {
                self.say(talk, Stage::ExtendedPassive, "EPSV");
            }
            // Tells a missing file before the data connection would.
            (Stage::Type, 200) => {
                let size = format!("SIZE {}", self.path);
                self.say(talk, Stage::Size, &size);
            }
            (Stage::Size, 550) => talk.refuse("SIZE", line),
            (Stage::Size, _) => self.say(talk, Stage::ExtendedPassive, "EPSV"),
            (Stage::ExtendedPassive, 229) => self.open_port(extended_port(line), line, talk),
            // RFC 2428: a server without it knows the old command.
            (Stage::ExtendedPassive, 500..=504) => self.say(talk, Stage::Passive, "PASV"),
            (Stage::Passive, 227) => self.open_port(port(line), line, talk),
            (Stage::Opened, _) => {}
            (stage, _) => talk.refuse(stage.name(), line),
        }
    }
}

/// The port of `229 text (|||port|)` (RFC 2428 section 3).
fn extended_port(line: &[u8]) -> Option<u16> {
    let text = String::from_utf8_lossy(line);
    // A remark may stand in brackets before.
    let (_, inside) = text.rsplit_once('(')?;
    let delimiter = inside.chars().next().filter(|c| c.is_ascii_graphic())?;
    inside.split(delimiter).nth(3)?.parse().ok()
}

/// The port of `227 text (h1,h2,h3,h4,p1,p2)`. The address is not used: it may be any host's.
fn port(line: &[u8]) -> Option<u16> {
    let text = String::from_utf8_lossy(line.get(4..)?).into_owned();
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    let numbers: Vec<u8> = numbers.filter_map(|part| part.parse().ok()).collect();
    let [high, low] = *numbers.last_chunk::<2>()?;
    (numbers.len() >= 6).then(|| u16::from_be_bytes([high, low]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_both_replies() {
        assert_eq!(extended_port(b"229 Entering (|||40001|)"), Some(40_001));
        assert_eq!(extended_port(b"229 Entering (!!!7!)."), Some(7));
        for bad in [&b"229 none"[..], b"229 (", b"229 (|||70000|)", b"229 (||1|)"] {
            assert_eq!(extended_port(bad), None);
        }
        assert_eq!(port(b"227 Entering (192,0,2,1,156,65)."), Some(40_001));
        assert_eq!(port(b"227 =192,0,2,1,0,21"), Some(21));
        for bad in [&b"227"[..], b"227 (1,2,3)", b"227 (1,2,3,4,300,1)"] {
            assert_eq!(port(bad), None);
        }
    }
}
