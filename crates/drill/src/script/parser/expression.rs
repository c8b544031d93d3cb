//! System calls and the expressions in them.

use super::cursor::Cursor;
use super::time::time;
use crate::script::error::Error;
use crate::script::lexer::Kind;
use crate::script::tree::{CallSpec, Expression, Field, When};

/// How many names a chain of `|` may have.
const ALTERNATIVES_MAX: usize = 100;

/// `... end name(arguments) = result ERRNO (note)`
pub(super) fn call(cursor: &mut Cursor<'_>, when: &When) -> Result<CallSpec, Error> {
    let position = cursor.position();
    let end = if cursor.eat_ellipsis() { Some(time(cursor)?) } else { None };
    if let (Some(end), When::At(start) | When::After(start)) = (end, *when)
        && end < start
    {
        return Err(Error::new(position, "this call returns before it begins"));
    }
    let name = cursor.expect_word("the name of a system call")?;
    cursor.expect('(', "behind the name of a system call")?;
    let arguments = list(cursor, ')')?;
    cursor.expect('=', "and the call's result")?;
    let result = expression(cursor)?;
    let errno = cursor.word().map(str::to_owned);
    if errno.is_some() {
        cursor.skip();
    }
    Ok(CallSpec { end, name, arguments, result, errno, note: note(cursor)? })
}

/// A text in parentheses.
fn note(cursor: &mut Cursor<'_>) -> Result<Option<String>, Error> {
    if !cursor.eat('(') {
        return Ok(None);
    }
    let mut words = Vec::new();
    while !cursor.eat(')') {
        if cursor.peek().is_none() {
            return Err(cursor.expected("`)` behind a note"));
        }
        words.push(cursor.text().to_owned());
        cursor.skip();
    }
    Ok(Some(words.join(" ")))
}

/// Expressions with commas up to `close`.
fn list(cursor: &mut Cursor<'_>, close: char) -> Result<Vec<Expression>, Error> {
    let mut items = Vec::new();
    if cursor.eat(close) {
        return Ok(items);
    }
    loop {
        items.push(expression(cursor)?);
        if cursor.eat(close) {
            return Ok(items);
        }
        cursor.expect(',', &format!("or `{close}`"))?;
    }
}

fn expression(cursor: &mut Cursor<'_>) -> Result<Expression, Error> {
    cursor.deeper(|cursor| {
        let mut left = primary(cursor)?;
        let mut names = 1;
        while cursor.eat('|') {
            names += 1;
            if names > ALTERNATIVES_MAX {
                return Err(
                    cursor.expected(&format!("at most {ALTERNATIVES_MAX} names between `|`"))
                );
            }
            left = Expression::Or(Box::new(left), Box::new(primary(cursor)?));
        }
        Ok(left)
    })
}

fn primary(cursor: &mut Cursor<'_>) -> Result<Expression, Error> {
    let Some(kind) = cursor.peek().cloned() else { return Err(cursor.expected("an expression")) };
    let text = cursor.text().to_owned();
    let error = cursor.expected("an expression");
    cursor.skip();
    Ok(match kind {
        Kind::Ellipsis => Expression::Ellipsis,
        Kind::Integer(value) | Kind::Hex(value) => Expression::Integer(value),
        Kind::Text(bytes) => texts(cursor, bytes),
        Kind::Word if cursor.eat('(') => Expression::Function(text, list(cursor, ')')?),
        Kind::Word => Expression::Name(text),
        Kind::Punct('[') => Expression::List(list(cursor, ']')?),
        Kind::Punct('{') => Expression::Struct(fields(cursor)?),
        _ => return Err(error),
    })
}

/// Texts behind each other are one; `...` behind them is for readers.
fn texts(cursor: &mut Cursor<'_>, mut bytes: Vec<u8>) -> Expression {
    while let Some(Kind::Text(more)) = cursor.peek() {
        bytes.extend(more);
        cursor.skip();
    }
    cursor.eat_ellipsis();
    Expression::Text(bytes)
}

/// `name = value`, `name(len) = value` or a value, with commas, up to the closing brace.
fn fields(cursor: &mut Cursor<'_>) -> Result<Vec<Field>, Error> {
    let mut fields = Vec::new();
    loop {
        fields.push(field(cursor)?);
        if cursor.eat('}') {
            return Ok(fields);
        }
        cursor.expect(',', "or `}`")?;
    }
}

fn field(cursor: &mut Cursor<'_>) -> Result<Field, Error> {
    let follows =
        |sign: char| cursor.word().is_some() && cursor.peek_behind(1) == Some(&Kind::Punct(sign));
    if follows('=') {
        let name = Some(cursor.expect_word("a field")?);
        cursor.skip();
        return Ok(Field { name, len: None, value: expression(cursor)? });
    }
    if !follows('(') {
        return Ok(Field { name: None, len: None, value: expression(cursor)? });
    }
    // A function as value looks the same up to its closing parenthesis.
    let name = cursor.expect_word("a field")?;
    cursor.skip();
    let mut arguments = list(cursor, ')')?;
    if !cursor.eat('=') {
        return Ok(Field { name: None, len: None, value: Expression::Function(name, arguments) });
    }
    let len = if arguments.len() == 1 { arguments.pop() } else { None };
    let len = Some(len.ok_or_else(|| cursor.expected("one number in the parentheses before `=`"))?);
    Ok(Field { name: Some(name), len, value: expression(cursor)? })
}
