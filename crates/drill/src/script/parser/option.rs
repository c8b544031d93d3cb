//! TCP options.

use super::cursor::Cursor;
use crate::packet::TcpOption;
use crate::script::error::Error;
use crate::script::lexer::Kind;
use windlass_base::suggest::did_you_mean;

/// The room for options in a header, in bytes (RFC 9293 §3.1).
const ROOM: usize = 40;
/// The names of options.
const NAMES: [&str; 11] =
    ["mss", "wscale", "sackOK", "sack", "TS", "nop", "eol", "md5", "FO", "FOEXP", "ECN"];
/// AccECN's counters have 24 bits (RFC 9768 §3.2.3).
const COUNTER_MAX: i64 = 0xff_ffff;

/// `<option, option>`, nothing, or `<...>`.
pub(super) fn options(cursor: &mut Cursor<'_>) -> Result<Option<Vec<TcpOption>>, Error> {
    let position = cursor.position();
    if !cursor.eat('<') {
        return Ok(Some(Vec::new()));
    }
    if cursor.eat_ellipsis() {
        cursor.expect('>', "behind `...`")?;
        return Ok(None);
    }
    let mut options = Vec::new();
    loop {
        options.push(option(cursor)?);
        if cursor.eat('>') {
            break;
        }
        cursor.expect(',', "or `>` behind a TCP option")?;
    }
    let mut bytes = Vec::new();
    options.iter().for_each(|option| option.emit(&mut bytes));
    let fault = match bytes.len() {
        len if len > ROOM => {
            format!("these options take {len} bytes; a header has room for {ROOM}")
        }
        len if len % 4 != 0 => {
            format!("these options take {len} bytes; expected a multiple of 4, filled with nop")
        }
        _ => return Ok(Some(options)),
    };
    Err(Error::new(position, fault))
}

fn option(cursor: &mut Cursor<'_>) -> Result<TcpOption, Error> {
    let error = |cursor: &Cursor<'_>| {
        let mut error = cursor.expected("a TCP option");
        error.message += &did_you_mean(cursor.text(), NAMES);
        error
    };
    let Some(name) = cursor.word().map(str::to_owned) else { return Err(error(cursor)) };
    if !NAMES.contains(&name.as_str()) {
        return Err(error(cursor));
    }
    cursor.skip();
    Ok(match name.as_str() {
        "nop" => TcpOption::Nop,
        "eol" => TcpOption::End,
        "sackOK" => TcpOption::SackPermitted,
        "mss" => TcpOption::Mss(cursor.expect_u16("an MSS")?),
        "wscale" => TcpOption::WindowScale(cursor.expect_integer("a shift", 0..=255)? as u8),
        "sack" => TcpOption::Sack(blocks(cursor)?),
        "TS" => timestamps(cursor)?,
        "md5" => TcpOption::Md5(digest(cursor)?),
        "ECN" => accecn(cursor)?,
        name => TcpOption::FastOpen { cookie: cookie(cursor)?, experimental: name == "FOEXP" },
    })
}

fn blocks(cursor: &mut Cursor<'_>) -> Result<Vec<(u32, u32)>, Error> {
    let mut blocks = Vec::new();
    loop {
        let left = cursor.expect_u32("the left edge of a SACK block")?;
        cursor.expect(':', "between the edges of a SACK block")?;
        blocks.push((left, cursor.expect_u32("the right edge of a SACK block")?));
        if !matches!(cursor.peek(), Some(Kind::Integer(_))) {
            return Ok(blocks);
        }
    }
}

fn timestamps(cursor: &mut Cursor<'_>) -> Result<TcpOption, Error> {
    let mut number = |name: &str| {
        if cursor.eat_word(name) {
            cursor.expect_u32("a timestamp")
        } else {
            Err(cursor.expected(&format!("`{name}`")))
        }
    };
    Ok(TcpOption::Timestamps { value: number("val")?, echo: number("ecr")? })
}

fn accecn(cursor: &mut Cursor<'_>) -> Result<TcpOption, Error> {
    let ect1_first = cursor.word() == Some("e1b");
    let names = if ect1_first { ["e1b", "ceb", "e0b"] } else { ["e0b", "ceb", "e1b"] };
    let mut counters = Vec::new();
    for name in names {
        if !cursor.eat_word(name) {
            break;
        }
        counters.push(cursor.expect_integer("a counter of AccECN", 0..=COUNTER_MAX)? as u32);
    }
    if counters.is_empty() {
        return Err(
            cursor.expected("the counters of AccECN, `e0b 1 ceb 0 e1b 1` or `e1b 1 ceb 0 e0b 1`")
        );
    }
    Ok(TcpOption::AccEcn { ect1_first, counters })
}

fn digest(cursor: &mut Cursor<'_>) -> Result<Vec<u8>, Error> {
    const LEN: usize = 16;
    let digest = hex(cursor)?.ok_or_else(|| cursor.expected("a digest as a hexadecimal number"))?;
    match digest.len() {
        0..=LEN => Ok(digest),
        len => {
            Err(cursor
                .expected(&format!("a digest of at most {LEN} bytes, not of {len}, before this")))
        }
    }
}

fn cookie(cursor: &mut Cursor<'_>) -> Result<Vec<u8>, Error> {
    hex(cursor).map(Option::unwrap_or_default)
}

/// A hexadecimal number of whole bytes; `None` where there is neither a word nor a number.
fn hex(cursor: &mut Cursor<'_>) -> Result<Option<Vec<u8>>, Error> {
    if !matches!(cursor.peek(), Some(Kind::Word | Kind::Integer(_))) {
        return Ok(None);
    }
    let text = cursor.text();
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2)).ok_or_else(|| {
        let mut error = cursor.expected("a hexadecimal number with two digits for each byte");
        error.message += "; a name is defined with -D NAME=VALUE";
        error
    })?;
    cursor.skip();
    Ok(Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()))
}
