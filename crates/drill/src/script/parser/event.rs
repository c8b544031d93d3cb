//! Events: a time and what happens then.

use super::cursor::Cursor;
use super::time::time;
use super::{commands, expression, packet};
use crate::script::code;
use crate::script::error::{Error, Position};
use crate::script::lexer::Kind;
use crate::script::tree::{Action, Direction, Event, When};

pub(super) fn event(cursor: &mut Cursor<'_>) -> Result<Event, Error> {
    let (position, place) = (cursor.position(), cursor.place());
    let when = when(cursor)?;
    let action = action(cursor, &when)?;
    checked(position, when, &action)?;
    Ok(Event { position, when, action, source: cursor.source_since(place) })
}

/// Only packets of the subject may come at a time that is not given exactly.
fn checked(position: Position, when: When, action: &Action) -> Result<(), Error> {
    let outbound =
        matches!(action, Action::Packet(packet) if packet.direction == Direction::Outbound);
    match when {
        When::At(_) | When::After(_) => Ok(()),
        _ if outbound => Ok(()),
        When::Any => Err(Error::new(position, "the time * is for outbound packets only")),
        When::Between(..) | When::AfterBetween(..) => {
            Err(Error::new(position, "a range of times is for outbound packets only"))
        }
    }
}

fn when(cursor: &mut Cursor<'_>) -> Result<When, Error> {
    let position = cursor.position();
    if cursor.eat('*') {
        return Ok(When::Any);
    }
    let relative = cursor.eat('+');
    let from = time(cursor)?;
    if !cursor.eat('~') {
        return Ok(if relative { When::After(from) } else { When::At(from) });
    }
    if relative {
        cursor.expect('+', "before the end of a relative range")?;
    }
    let until = time(cursor)?;
    if until < from {
        return Err(Error::new(position, "this range of times ends before it begins"));
    }
    Ok(if relative { When::AfterBetween(from, until) } else { When::Between(from, until) })
}

fn action(cursor: &mut Cursor<'_>, when: &When) -> Result<Action, Error> {
    let position = cursor.position();
    match cursor.peek() {
        Some(Kind::Punct('<')) => packet::packet(cursor, Direction::Inbound).map(Action::Packet),
        Some(Kind::Punct('>')) => packet::packet(cursor, Direction::Outbound).map(Action::Packet),
        Some(Kind::Command(_)) => {
            commands(cursor).map(Action::Commands).ok_or_else(|| cursor.expected("a command"))
        }
        Some(Kind::Code(text)) => {
            // The two characters that open the block.
            let start = Position { column: position.column + 2, ..position };
            let code = code::parse(text, start)?;
            cursor.skip();
            Ok(Action::Code(code))
        }
        Some(Kind::Ellipsis | Kind::Word) => expression::call(cursor, when).map(Action::Call),
        _ => Err(cursor.expected("a packet (`<` or `>`), a system call, `commands` or %{ code }%")),
    }
}
