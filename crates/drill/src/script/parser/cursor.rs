//! A place among the tokens of a script.

use crate::script::error::{Error, Position};
use crate::script::lexer::{Kind, Token};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// How deep expressions may nest.
const DEPTH_MAX: usize = 60;

pub(super) struct Cursor<'a> {
    source: &'a str,
    tokens: Vec<Token>,
    at: usize,
    end: Position,
    depth: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(source: &'a str, tokens: Vec<Token>, end: Position) -> Cursor<'a> {
        Cursor { source, tokens, at: 0, end, depth: 0 }
    }

    /// Puts their values in the place of defined names, from here on.
    pub(super) fn define(&mut self, definitions: &BTreeMap<String, String>) {
        for token in self.tokens.iter_mut().skip(self.at).filter(|token| token.kind == Kind::Word) {
            if let Some(value) = definitions.get(&token.text) {
                token.kind = kind(value);
                token.text.clone_from(value);
            }
        }
    }

    pub(super) fn peek(&self) -> Option<&Kind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    pub(super) fn peek_behind(&self, tokens: usize) -> Option<&Kind> {
        self.tokens.get(self.at + tokens).map(|token| &token.kind)
    }

    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    pub(super) fn position(&self) -> Position {
        self.tokens.get(self.at).map_or(self.end, |token| token.position)
    }

    /// The text of the next token; empty at the end.
    pub(super) fn text(&self) -> &str {
        self.tokens.get(self.at).map_or("", |token| &token.text)
    }

    /// The place in the tokens, for [`Cursor::source_since`].
    pub(super) fn place(&self) -> usize {
        self.at
    }

    /// The text of the script from this token up to the last one taken.
    pub(super) fn source_since(&self, place: usize) -> String {
        let last = self.at.saturating_sub(1).max(place);
        match (self.tokens.get(place), self.tokens.get(last)) {
            (Some(first), Some(last)) => self.source[first.span.0..last.span.1].to_owned(),
            _ => String::new(),
        }
    }

    /// An error at this place.
    pub(super) fn expected(&self, what: &str) -> Error {
        let found = match self.tokens.get(self.at) {
            Some(token) => format!("`{}`", shortened(&token.text)),
            None => "the end of the script".to_owned(),
        };
        Error::new(self.position(), format!("expected {what}, found {found}"))
    }

    pub(super) fn expect_end(&self, what: &str) -> Result<(), Error> {
        if self.peek().is_some() { Err(self.expected(what)) } else { Ok(()) }
    }

    pub(super) fn eat(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(&Kind::Punct(sign));
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, sign: char, place: &str) -> Result<(), Error> {
        match self.eat(sign) {
            true => Ok(()),
            false => Err(self.expected(&format!("`{sign}` {place}"))),
        }
    }

    pub(super) fn eat_ellipsis(&mut self) -> bool {
        let found = self.peek() == Some(&Kind::Ellipsis);
        self.at += usize::from(found);
        found
    }

    /// The next token, if it is a word.
    pub(super) fn word(&self) -> Option<&str> {
        self.peek().filter(|kind| **kind == Kind::Word).map(|_| self.text())
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.word() == Some(word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect_word(&mut self, what: &str) -> Result<String, Error> {
        let word = self.word().map(str::to_owned).ok_or_else(|| self.expected(what))?;
        self.at += 1;
        Ok(word)
    }

    /// A decimal number in a range.
    pub(super) fn expect_integer(
        &mut self,
        what: &str,
        range: RangeInclusive<i64>,
    ) -> Result<i64, Error> {
        let Some(&Kind::Integer(value)) = self.peek() else { return Err(self.expected(what)) };
        if !range.contains(&value) {
            let (low, high) = range.into_inner();
            return Err(self.expected(&format!("{what} from {low} to {high}")));
        }
        self.at += 1;
        Ok(value)
    }

    pub(super) fn expect_u32(&mut self, what: &str) -> Result<u32, Error> {
        self.expect_integer(what, 0..=i64::from(u32::MAX)).map(|value| value as u32)
    }

    pub(super) fn expect_u16(&mut self, what: &str) -> Result<u16, Error> {
        self.expect_integer(what, 0..=i64::from(u16::MAX)).map(|value| value as u16)
    }

    /// Parses one level deeper.
    pub(super) fn deeper<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.depth == DEPTH_MAX {
            return Err(Error::new(self.position(), "this expression is nested too deep"));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }
}

/// The token that a defined value is.
fn kind(value: &str) -> Kind {
    let inside = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    if let Some(text) = inside('"') {
        return Kind::Text(text.as_bytes().to_vec());
    }
    if let Some(text) = inside('`') {
        return Kind::Command(text.to_owned());
    }
    let hex = value.strip_prefix("0x").and_then(|digits| i64::from_str_radix(digits, 16).ok());
    match (hex, value.parse()) {
        (Some(value), _) => Kind::Hex(value),
        (None, Ok(value)) => Kind::Integer(value),
        (None, Err(_)) => Kind::Word,
    }
}

/// The first line of a long text.
fn shortened(text: &str) -> String {
    const MOST: usize = 40;
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None if line.len() < text.len() => format!("{line}..."),
        None => line.to_owned(),
    }
}
