//! The daemon of rsync: its list of modules, or a file of a module. The protocol of version 27 needs no
//! answer before the next message, so that everything leaves in one segment.

use super::talk::{Asked, Talk, Talker};
use super::{Dialogue, Kind};

/// Every rsync since 2.6.0 of 2004 speaks it. Later versions negotiate checksums and compression.
const GREETING: &str = "@RSYNCD: 27\n";
const LINES_MAX: u32 = 10_000;

/// The dialogue of a URL.
pub(super) fn dialogue(asked: &Asked<'_>) -> Result<Dialogue, &'static str> {
    let rsync = Rsync { path: asked.path()?, lines_heard: 0, binary: false };
    Ok(Dialogue::new(Kind::named("rsync"), rsync))
}

#[derive(Clone, Debug)]
struct Rsync {
    path: String,
    lines_heard: u32,
    /// The server has accepted the module: what follows is no text.
    binary: bool,
}

impl Rsync {
    fn take(&mut self, line: &[u8], talk: &mut Talk) {
        self.lines_heard += 1;
        if self.lines_heard == 1 {
            match line.starts_with(b"@RSYNCD: ") {
                true => talk.greeted(line),
                false => talk.refuse("the connection", line),
            }
        } else if line.starts_with(b"@ERROR") || line.starts_with(b"@RSYNCD: AUTHREQD") {
            talk.refuse("the module's name", line);
        } else if line.starts_with(b"@RSYNCD: OK") {
            self.binary = true;
        } else if self.lines_heard > LINES_MAX {
            talk.fail("the list of modules does not end");
        } else if self.path.is_empty() {
            talk.begun = true;
            talk.ended |= line.starts_with(b"@RSYNCD: EXIT");
        }
    }
}

impl Talker for Rsync {
    fn open(&mut self, talk: &mut Talk) {
        talk.send(GREETING);
        if self.path.is_empty() {
            return talk.ask("#list\n");
        }
        let module = self.path.split('/').next().unwrap_or_default();
        let mut request =
            format!("{module}\n--server\n--sender\n.\n{}\n\n", self.path).into_bytes();
        // No filter; the file of index 0, of which this side has no block; then the end of both
        // phases and of the connection.
        for number in [0, 0, 0, 0, 0, 0, -1, -1, -1] {
            request.extend(i32::to_le_bytes(number));
        }
        talk.ask(request);
    }

    fn hear(&mut self, mut bytes: &[u8], talk: &mut Talk) {
        while !bytes.is_empty() && talk.trouble.is_none() {
            if self.binary {
                talk.begun = true;
                return;
            }
            if let Some(line) = talk.lines.next(&mut bytes) {
                self.take(&line, talk);
            }
        }
    }
}
