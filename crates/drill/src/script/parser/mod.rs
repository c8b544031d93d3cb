//! Parses a script by the grammar of packetdrill.

mod cursor;
mod event;
mod expression;
mod option;
mod packet;
#[cfg(test)]
mod tests;

use super::error::Error;
use super::lexer::{Kind, tokens};
use super::tree::{Commands, Script, ScriptOption};
use cursor::Cursor;
use std::collections::BTreeMap;

/// Parses a script. `definitions` are those of the command line (`-D NAME=VALUE`); the script's own, by `--define`,
/// yield to them. A name that is defined stands for its value wherever a word may stand.
///
/// # Errors
///
/// The first thing that is not of the language, with its place.
pub fn parse(source: &str, definitions: &BTreeMap<String, String>) -> Result<Script, Error> {
    let (tokens, end) = tokens(source)?;
    let mut cursor = Cursor::new(source, tokens, end);
    let options = options(&mut cursor);
    let mut defined = own_definitions(&options)?;
    defined.extend(definitions.iter().map(|(name, value)| (name.clone(), value.clone())));
    cursor.define(&defined);
    let init = commands(&mut cursor);
    let mut events = Vec::new();
    let mut cleanup = None;
    while let Some(kind) = cursor.peek() {
        if matches!(kind, Kind::Command(_)) && !events.is_empty() {
            cleanup = commands(&mut cursor);
            cursor.expect_end("the end of the script behind its last command")?;
            break;
        }
        events.push(event::event(&mut cursor)?);
    }
    if events.is_empty() {
        return Err(cursor.expected("an event"));
    }
    Ok(Script { options, init, events, cleanup })
}

fn options(cursor: &mut Cursor<'_>) -> Vec<ScriptOption> {
    let mut options = Vec::new();
    while let Some(Kind::Option { name, value }) = cursor.peek().cloned() {
        options.push(ScriptOption { position: cursor.position(), name, value });
        cursor.skip();
    }
    options
}

/// The names that a script defines by `--define=NAME=VALUE`.
fn own_definitions(options: &[ScriptOption]) -> Result<BTreeMap<String, String>, Error> {
    let own = options.iter().filter(|option| option.name == "define");
    own.map(|option| {
        let pair = option.value.as_deref().and_then(|value| value.split_once('='));
        let pair = pair.filter(|(name, _)| !name.is_empty());
        let (name, value) =
            pair.ok_or_else(|| Error::new(option.position, "expected --define=NAME=VALUE"))?;
        Ok((name.to_owned(), value.to_owned()))
    })
    .collect()
}

fn commands(cursor: &mut Cursor<'_>) -> Option<Commands> {
    let position = cursor.position();
    let Some(Kind::Command(text)) = cursor.peek().cloned() else { return None };
    cursor.skip();
    Some(Commands { position, text })
}
