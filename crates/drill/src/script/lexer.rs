//! Splits a script into tokens. As in packetdrill, the longest token at a place counts: `1:2` is two numbers, `.5` is
//! a number with a point, `1a` is a word.

use super::error::{Error, Position};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The longest text of an IPv6 address.
const IPV6_TEXT_MAX: usize = 45;

/// A token with its place and its text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) position: Position,
    pub(crate) text: String,
    /// Where it begins and ends in the script, in bytes.
    pub(crate) span: (usize, usize),
}

/// The kinds of tokens.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Letters, digits and underscores.
    Word,
    /// A decimal number, with its sign.
    Integer(i64),
    /// A number with `0x` in front.
    Hex(i64),
    /// A number with a point.
    Float,
    /// A text in double quotes, escapes resolved.
    Text(Vec<u8>),
    /// Shell commands in backquotes.
    Command(String),
    /// Code between `%{` and `}%`.
    Code(String),
    /// `--name=value`.
    Option { name: String, value: Option<String> },
    /// An address.
    Ipv4,
    /// An address.
    Ipv6,
    /// `...`
    Ellipsis,
    /// Any other character.
    Punct(char),
}

/// The tokens of a script.
pub(crate) fn tokens(source: &str) -> Result<(Vec<Token>, Position), Error> {
    let position = Position { line: 1, column: 1 };
    let mut lexer = Lexer { len: source.len(), rest: source, position, fresh: true };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    Ok((tokens, lexer.position))
}

struct Lexer<'a> {
    /// Of the whole script, in bytes.
    len: usize,
    rest: &'a str,
    position: Position,
    /// Nothing but spaces stands before the place in its line.
    fresh: bool,
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> Result<Option<Token>, Error> {
        self.skip_blanks()?;
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        let position = self.position;
        let (kind, len) = match first {
            '%' if self.rest.starts_with("%{") => self.code()?,
            '"' => self.text()?,
            '`' => self.command()?,
            '.' if self.rest.starts_with("...") => (Kind::Ellipsis, 3),
            '-' if self.rest.starts_with("--") && option_name(self.rest) > 2 => self.option()?,
            _ => self.longest(first)?,
        };
        let start = self.len - self.rest.len();
        let text = self.take(len).to_owned();
        self.fresh = false;
        Ok(Some(Token { kind, position, text, span: (start, start + len) }))
    }

    /// Goes on by `len` bytes.
    fn take(&mut self, len: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(len);
        self.rest = rest;
        for c in taken.chars() {
            if c == '\n' {
                self.position = Position { line: self.position.line + 1, column: 1 };
            } else {
                self.position.column += 1;
            }
        }
        taken
    }

    fn skip_blanks(&mut self) -> Result<(), Error> {
        loop {
            let blanks = self.rest.len() - self.rest.trim_start().len();
            self.fresh |= self.take(blanks).contains('\n')
                || self.position.line == 1 && self.position.column == 1;
            let comment = if self.rest.starts_with("//") || self.fresh && self.rest.starts_with('#')
            {
                self.rest.find('\n').unwrap_or(self.rest.len())
            } else if self.rest.starts_with("/*") {
                let end = self.rest[2..].find("*/");
                end.ok_or_else(|| self.error("this comment has no end: expected */"))? + 4
            } else {
                return Ok(());
            };
            self.take(comment);
        }
    }

    fn error(&self, message: impl Into<String>) -> Error {
        Error::new(self.position, message)
    }

    fn code(&self) -> Result<(Kind, usize), Error> {
        let end =
            self.rest.find("}%").ok_or_else(|| self.error("this code has no end: expected }%"))?;
        Ok((Kind::Code(self.rest[2..end].to_owned()), end + 2))
    }

    /// The length of the text between quotes, without them.
    fn quoted(&self, quote: char, what: &str) -> Result<usize, Error> {
        let mut escaped = false;
        for (at, c) in self.rest.char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                c if c == quote => return Ok(at - 1),
                _ => {}
            }
        }
        Err(self.error(format!("this {what} has no end: expected {quote}")))
    }

    fn text(&self) -> Result<(Kind, usize), Error> {
        let len = self.quoted('"', "text")?;
        Ok((Kind::Text(unescaped(&self.rest[1..=len])), len + 2))
    }

    fn command(&self) -> Result<(Kind, usize), Error> {
        let len = self.quoted('`', "command")?;
        Ok((Kind::Command(self.rest[1..=len].to_owned()), len + 2))
    }

    fn option(&self) -> Result<(Kind, usize), Error> {
        let name_len = option_name(self.rest);
        let name = self.rest[2..name_len].to_owned();
        let rest = &self.rest[name_len..];
        let blank = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
        let Some(after) = rest.trim_start_matches([' ', '\t']).strip_prefix('=') else {
            return Ok((Kind::Option { name, value: None }, name_len));
        };
        let start = self.rest.len() - after.len() + blank(after);
        let value = &self.rest[start..];
        let len = option_value(value);
        let value = unquoted(&value[..len]).to_owned();
        Ok((Kind::Option { name, value: Some(value) }, start + len))
    }

    /// The longest of the kinds that begin here.
    fn longest(&self, first: char) -> Result<(Kind, usize), Error> {
        let word = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let word = word.unwrap_or(self.rest.len());
        let (number, point) = number(self.rest);
        let hex = hex(self.rest);
        let ipv4 = ipv4(self.rest);
        let ipv6 = ipv6(self.rest);
        let most = [word, number, hex, ipv4, ipv6].into_iter().max().unwrap_or(0);
        let text = &self.rest[..most];
        let range = || self.error(format!("the number {text} is out of range"));
        Ok(match most {
            0 => (Kind::Punct(first), first.len_utf8()),
            most if most == ipv6 => (Kind::Ipv6, most),
            most if most == ipv4 => (Kind::Ipv4, most),
            most if most == number && point => (Kind::Float, most),
            most if most == number => (Kind::Integer(text.parse().map_err(|_| range())?), most),
            most if most == hex => {
                let value = u64::from_str_radix(&text[2..], 16).map_err(|_| range())?;
                (Kind::Hex(value as i64), most)
            }
            most => (Kind::Word, most),
        })
    }
}

/// The length of an option's name with its dashes.
fn option_name(text: &str) -> usize {
    let name = text[2..].find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    name.unwrap_or(text.len() - 2) + 2
}

/// The length of an option's value: up to a space outside quotes.
fn option_value(text: &str) -> usize {
    let mut open = None;
    for (at, c) in text.char_indices() {
        match open {
            Some(quote) if c == quote => open = None,
            Some(_) => {}
            None if c == '"' || c == '`' => open = Some(c),
            None if c.is_whitespace() => return at,
            None => {}
        }
    }
    text.len()
}

fn unquoted(text: &str) -> &str {
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inside.unwrap_or(text)
}

/// The length of a decimal number, and whether it has a point.
fn number(text: &str) -> (usize, bool) {
    let digits =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let sign = usize::from(text.starts_with('-'));
    let whole = digits(&text[sign..]);
    let after = &text[sign + whole..];
    match after.strip_prefix('.').map(digits) {
        Some(fraction) if fraction > 0 => (sign + whole + 1 + fraction, true),
        _ if whole > 0 => (sign + whole, false),
        _ => (0, false),
    }
}

/// The length of a number that begins with 0x.
fn hex(text: &str) -> usize {
    let Some(digits) = text.strip_prefix("0x") else { return 0 };
    match digits.len() - digits.trim_start_matches(|c: char| c.is_ascii_hexdigit()).len() {
        0 => 0,
        len => len + 2,
    }
}

fn ipv4(text: &str) -> usize {
    let len = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    if text[..len].parse::<Ipv4Addr>().is_ok() { len } else { 0 }
}

/// The longest IPv6 address; a range of sequence numbers, as `1:1001`, is none.
fn ipv6(text: &str) -> usize {
    let other = |c: char| !(c.is_ascii_hexdigit() || c == ':' || c == '.');
    let most = text.find(other).unwrap_or(text.len()).min(IPV6_TEXT_MAX);
    (2..=most).rev().find(|&len| text[..len].parse::<Ipv6Addr>().is_ok()).unwrap_or(0)
}

/// The bytes of a text with the escapes of C.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next() {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'0') => 0,
            Some(b'x') => {
                let mut value = 0u8;
                for _ in 0..2 {
                    let Some(digit) = rest.peek().and_then(|&c| (c as char).to_digit(16)) else {
                        break;
                    };
                    value = value.wrapping_mul(16).wrapping_add(digit as u8);
                    rest.next();
                }
                value
            }
            Some(other) => other,
            None => b'\\',
        });
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<Kind> {
        tokens(source).expect("tokens").0.into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn the_longest_token_counts() {
        use Kind::{Ellipsis, Float, Hex, Integer, Ipv4, Ipv6, Punct, Word};
        let integer = Integer;
        assert_eq!(
            kinds("+.01...0.011"),
            [Punct('+'), Float, Ellipsis, Float],
            "a span between two times"
        );
        let range = [integer(1), Punct(':'), integer(1001), Punct('('), integer(1000), Punct(')')];
        assert_eq!(kinds("1:1001(1000)"), range);
        assert_eq!(kinds("P.5 P5. . -"), [Word, Float, Word, Punct('.'), Punct('.'), Punct('-')]);
        assert_eq!(kinds("0x1f 3021b9 -1"), [Hex(31), Word, integer(-1)]);
        assert_eq!(kinds("192.0.2.1 fd00::1: ::1"), [Ipv4, Ipv6, Punct(':'), Ipv6]);
    }

    #[test]
    fn comments_and_blanks_are_skipped() {
        assert_eq!(
            kinds("# one\n 1 // two\n/* three\n */ 2"),
            [Kind::Integer(1), Kind::Integer(2)]
        );
        let error = tokens("1 /* no end").expect_err("no end");
        assert_eq!(error.to_string(), "1:3: this comment has no end: expected */");
    }

    #[test]
    fn options_keep_their_values() {
        let option = |name: &str, value: Option<&str>| Kind::Option {
            name: name.to_owned(),
            value: value.map(str::to_owned),
        };
        let expected = [
            option("ip_version", Some("ipv4-mapped-ipv6")),
            option("tcp_ts_ecr_scaled", None),
            option("define", Some("CC=\"reno\"")),
        ];
        assert_eq!(
            kinds("--ip_version=ipv4-mapped-ipv6 // x\n--tcp_ts_ecr_scaled\n--define=CC=\"reno\""),
            expected
        );
    }

    #[test]
    fn escapes_become_bytes() {
        assert_eq!(kinds(r#""a\n\x01\"""#), [Kind::Text(b"a\n\x01\"".to_vec())]);
    }
}
