//! Finger (RFC 1288): one line with the name of a user, or an empty one for the list of users. The text that
//! answers it ends with the connection.

use super::talk::{Asked, Talk, Talker};
use super::{Dialogue, Kind};

/// The dialogue of a URL.
pub(super) fn dialogue(asked: &Asked<'_>) -> Result<Dialogue, &'static str> {
    Ok(Dialogue::new(Kind::named("finger"), Finger { user: asked.path()? }))
}

#[derive(Clone, Debug)]
struct Finger {
    user: String,
}

impl Talker for Finger {
    fn open(&mut self, talk: &mut Talk) {
        talk.ask(format!("{}\r\n", self.user));
    }

    fn hear(&mut self, bytes: &[u8], talk: &mut Talk) {
        talk.begun |= !bytes.is_empty();
    }
}
