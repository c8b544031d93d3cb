//! Parses a script by the grammar of packetdrill.

mod cursor;
mod event;
mod expression;
mod option;
mod packet;
#[cfg(test)]
mod tests;
mod time;

use super::error::Error;
use super::lexer::{Kind, tokens};
use super::tree::{Commands, Event, Script, ScriptOption, When};
use cursor::Cursor;
use std::collections::BTreeMap;

/// Parses a script. `definitions` are those of the command line (`-D NAME=VALUE`); the script's own, by `--define`,
/// yield to them. A name that is defined stands for its value wherever a word may stand.
///
/// # Errors
///
/// The first thing that is not of the language, with its place.
pub fn parse(source: &str, definitions: &BTreeMap<String, String>) -> Result<Script, Error> {
    parse_with(source, |options| {
        let mut defined = own_definitions(options)?;
        defined.extend(definitions.clone());
        Ok(defined)
    })
}

/// Parses a script; `define` makes the definitions of its options.
pub(crate) fn parse_with(
    source: &str,
    define: impl FnOnce(&[ScriptOption]) -> Result<BTreeMap<String, String>, Error>,
) -> Result<Script, Error> {
    let (tokens, end) = tokens(source)?;
    let mut cursor = Cursor::new(source, tokens, end);
    let options = options(&mut cursor);
    cursor.define(&define(&options)?);
    let init = commands(&mut cursor);
    let mut events: Vec<Event> = Vec::new();
    let mut cleanup = None;
    while let Some(kind) = cursor.peek() {
        if matches!(kind, Kind::Command(_)) && !events.is_empty() {
            cleanup = commands(&mut cursor);
            cursor.expect_end("the end of the script behind its last command")?;
            break;
        }
        let event = event::event(&mut cursor)?;
        in_order(events.last(), &event)?;
        events.push(event);
    }
    if events.is_empty() {
        return Err(cursor.expected("an event"));
    }
    Ok(Script { options, init, events, cleanup })
}

/// The first event is at time 0, and absolute times do not go back.
fn in_order(before: Option<&Event>, event: &Event) -> Result<(), Error> {
    let start = |when| match when {
        When::At(at) | When::Between(at, _) => Some(at),
        When::After(_) | When::AfterBetween(..) | When::Any => None,
    };
    let message = match (before.map(|before| start(before.when)), event.when) {
        (
            None,
            When::At(at) | When::After(at) | When::Between(at, _) | When::AfterBetween(at, _),
        ) if !at.is_zero() => "expected the first event at time 0",
        (Some(Some(before)), when) if start(when).is_some_and(|at| at < before) => {
            "expected a time not before that of the event before"
        }
        _ => return Ok(()),
    };
    Err(Error::new(event.position, message))
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
pub(crate) fn own_definitions(options: &[ScriptOption]) -> Result<BTreeMap<String, String>, Error> {
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
