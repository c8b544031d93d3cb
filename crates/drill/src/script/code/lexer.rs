//! Splits code into tokens.

use crate::script::error::{Error, Position};

/// A token of code with its place and where it begins in the code, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) position: Position,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The kinds of tokens.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Name(String),
    Integer(i128),
    Float(f64),
    Text(String),
    /// An operator or a parenthesis.
    Sign(&'static str),
    /// The end of a statement: a new line outside parentheses, or a semicolon.
    End,
}

/// Longer ones first.
const SIGNS: [&str; 35] = [
    "**=", "//=", "<<=", ">>=", "==", "!=", "<=", ">=", "<<", ">>", "**", "//", "+=", "-=", "*=",
    "/=", "%=", "&=", "|=", "^=", "=", "<", ">", "+", "-", "*", "/", "%", "&", "|", "^", "~", "(",
    ")", ",",
];

/// The tokens of code that begins at `position`.
pub(super) fn tokens(code: &str, position: Position) -> Result<Vec<Token>, Error> {
    let mut lexer = Lexer { code, at: 0, position, depth: 0 };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Lexer<'a> {
    code: &'a str,
    at: usize,
    position: Position,
    /// Open parentheses, inside which a line may end.
    depth: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.code[self.at..]
    }

    fn skip(&mut self, len: usize) {
        for c in self.code[self.at..self.at + len].chars() {
            match c {
                '\n' => self.position = Position { line: self.position.line + 1, column: 1 },
                _ => self.position.column += 1,
            }
        }
        self.at += len;
    }

    fn next(&mut self) -> Result<Option<Token>, Error> {
        loop {
            let rest = self.rest();
            let len = match rest.chars().next() {
                None => return Ok(None),
                Some('\n') if self.depth == 0 => break,
                Some(c) if c.is_whitespace() => c.len_utf8(),
                Some('#') => rest.find('\n').unwrap_or(rest.len()),
                Some('\\') if rest[1..].trim_start_matches([' ', '\t', '\r']).starts_with('\n') => {
                    rest.find('\n').unwrap_or(0) + 1
                }
                Some(_) => break,
            };
            self.skip(len);
        }
        let (kind, len) = self.token()?;
        let (position, start) = (self.position, self.at);
        self.skip(len);
        Ok(Some(Token { kind, position, start, end: self.at }))
    }

    fn token(&mut self) -> Result<(Kind, usize), Error> {
        let rest = self.rest();
        match rest.chars().next() {
            Some('\n' | ';') => Ok((Kind::End, 1)),
            Some(quote @ ('\'' | '"')) => self.text(quote),
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => {
                let len =
                    rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                Ok((Kind::Name(rest[..len].to_owned()), len))
            }
            _ => self.sign(),
        }
    }

    fn sign(&mut self) -> Result<(Kind, usize), Error> {
        let found = SIGNS.into_iter().find(|sign| self.rest().starts_with(sign));
        match found {
            Some("(") => self.depth += 1,
            Some(")") => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        let sign = found.ok_or_else(|| {
            let c = self.rest().chars().next().unwrap_or(' ');
            Error::new(self.position, format!("{c:?} is not understood in code"))
        })?;
        Ok((Kind::Sign(sign), sign.len()))
    }

    fn text(&self, quote: char) -> Result<(Kind, usize), Error> {
        let mut text = String::new();
        let mut escaped = false;
        for (at, c) in self.rest().char_indices().skip(1) {
            match c {
                'n' if escaped => text.push('\n'),
                '\\' if !escaped => {}
                c if c == quote && !escaped => return Ok((Kind::Text(text), at + 1)),
                c => text.push(c),
            }
            escaped = c == '\\' && !escaped;
        }
        Err(Error::new(self.position, format!("this text has no end: expected {quote}")))
    }

    fn number(&self) -> Result<(Kind, usize), Error> {
        let rest = self.rest();
        let bad = |text: &str| Error::new(self.position, format!("{text} is not a number"));
        if let Some(digits) = rest.strip_prefix("0x") {
            let len = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
            let value =
                i128::from_str_radix(&digits[..len], 16).map_err(|_| bad(&rest[..len + 2]))?;
            return Ok((Kind::Integer(value), len + 2));
        }
        let exponent = |at: usize| at > 0 && rest[..at].ends_with(['e', 'E']);
        let inside = |(at, c): (usize, char)| {
            c.is_ascii_digit() || c == '.' || "eE".contains(c) || "+-".contains(c) && exponent(at)
        };
        let len = rest.char_indices().find(|&part| !inside(part)).map_or(rest.len(), |(at, _)| at);
        let text = &rest[..len];
        let kind = match text.parse() {
            Ok(value) => Kind::Integer(value),
            Err(_) => Kind::Float(text.parse().map_err(|_| bad(text))?),
        };
        Ok((kind, len))
    }
}
