//! Parses packets.

use super::cursor::Cursor;
use super::option::options;
use crate::packet::{flags, icmp};
use crate::script::error::Error;
use crate::script::lexer::Kind;
use crate::script::tree::{Body, Direction, Echoed, IcmpSpec, IpSpec, PacketSpec, TcpSpec, Tos};
use windlass_base::Ecn;

/// The headers that may stand around a packet.
const ENCAPSULATIONS: [&str; 5] = ["ipv4", "ipv6", "gre", "GREv0", "mpls"];

pub(super) fn packet(cursor: &mut Cursor<'_>, direction: Direction) -> Result<PacketSpec, Error> {
    cursor.skip();
    let mut encapsulation = None;
    while let Some(word) = cursor.word().filter(|word| ENCAPSULATIONS.contains(word)) {
        encapsulation = Some(word.to_owned());
        skip_header(cursor)?;
    }
    let ip = ip(cursor, direction)?;
    if cursor.eat_word("encap") {
        encapsulation = Some(cursor.expect_word("an encapsulation")?);
        if cursor.eat_word("spi") {
            cursor.skip();
        }
    }
    if cursor.eat_word("icmp") {
        let body = Body::Icmp(message(cursor)?);
        return Ok(PacketSpec { direction, ip, encapsulation, ports: None, body });
    }
    let is_udp = cursor.eat_word("udp");
    let ports = ports(cursor)?;
    let body = if is_udp {
        Body::Udp(in_parentheses(cursor)?)
    } else {
        Body::Tcp(segment(cursor, direction)?)
    };
    Ok(PacketSpec { direction, ip, encapsulation, ports, body })
}

/// Skips a header up to its colon.
fn skip_header(cursor: &mut Cursor<'_>) -> Result<(), Error> {
    while !cursor.eat(':') {
        if cursor.peek().is_none() {
            return Err(cursor.expected("`:` behind an outer header"));
        }
        cursor.skip();
    }
    Ok(())
}

/// `[ect0]`, `(tos 0x10, flowlabel 0x1)`, ...
fn ip(cursor: &mut Cursor<'_>, direction: Direction) -> Result<IpSpec, Error> {
    let mut ip = IpSpec::default();
    let close = match cursor.peek() {
        Some(Kind::Punct('[')) => ']',
        Some(Kind::Punct('(')) => ')',
        _ => return Ok(ip),
    };
    cursor.skip();
    loop {
        ip_field(cursor, direction, &mut ip)?;
        if cursor.eat(close) {
            return Ok(ip);
        }
        cursor.expect(',', &format!("or `{close}` behind a field of the IP header"))?;
    }
}

fn ip_field(cursor: &mut Cursor<'_>, direction: Direction, ip: &mut IpSpec) -> Result<(), Error> {
    const FIELDS: &str = "a field of the IP header: ect0, ect1, ect01, ce, noecn, `tos 0x0`, `flowlabel 0x1` or `ttl 64`";
    let error = cursor.expected(FIELDS);
    let word = cursor.word().unwrap_or_default().to_owned();
    if word == "ect01" && direction == Direction::Inbound {
        return Err(cursor.expected("one codepoint: ect01 is for outbound packets"));
    }
    cursor.skip();
    let octet = i64::from(u8::MAX);
    match word.as_str() {
        "noecn" => ip.tos = Tos::Ecn(Ecn::NotEct.bits()),
        "ect0" => ip.tos = Tos::Ecn(Ecn::Ect0.bits()),
        "ect1" => ip.tos = Tos::Ecn(Ecn::Ect1.bits()),
        "ce" => ip.tos = Tos::Ecn(Ecn::Ce.bits()),
        "ect01" => ip.tos = Tos::Ect0Or1,
        "tos" => ip.tos = Tos::Octet(hex(cursor, octet)? as u8),
        "flowlabel" => ip.flow_label = Some(hex(cursor, 0xf_ffff)? as u32),
        "ttl" => ip.ttl = Some(cursor.expect_integer("a TTL", 0..=octet)? as u8),
        _ => return Err(error),
    }
    Ok(())
}

fn hex(cursor: &mut Cursor<'_>, most: i64) -> Result<i64, Error> {
    match cursor.peek() {
        Some(&Kind::Hex(value)) if (0..=most).contains(&value) => {
            cursor.skip();
            Ok(value)
        }
        _ => Err(cursor.expected(&format!("a hexadecimal number from 0x0 to {most:#x}"))),
    }
}

/// `source > destination`
fn ports(cursor: &mut Cursor<'_>) -> Result<Option<(u16, u16)>, Error> {
    let both = matches!(cursor.peek(), Some(Kind::Integer(_)))
        && cursor.peek_behind(1) == Some(&Kind::Punct('>'));
    if !both {
        return Ok(None);
    }
    let source = cursor.expect_u16("a source port")?;
    cursor.skip();
    Ok(Some((source, cursor.expect_u16("a destination port")?)))
}

fn segment(cursor: &mut Cursor<'_>, direction: Direction) -> Result<TcpSpec, Error> {
    let (flags, ace) = control_bits(cursor)?;
    let (seq, len) = range(cursor)?;
    let ack =
        if cursor.eat_word("ack") { cursor.expect_u32("an acknowledgment number")? } else { 0 };
    let window = if cursor.eat_word("win") { Some(cursor.expect_u16("a window")?) } else { None };
    let urgent = if cursor.eat_word("urg") { cursor.expect_u16("an urgent pointer")? } else { 0 };
    let position = cursor.position();
    let options = options(cursor)?;
    if direction == Direction::Inbound && window.is_none() {
        return Err(Error::new(position, "expected `win` and a window: an inbound packet has one"));
    }
    if direction == Direction::Inbound && options.is_none() {
        return Err(Error::new(position, "expected options: <...> is for outbound packets"));
    }
    Ok(TcpSpec { flags, ace, seq, len, ack, window, urgent, options })
}

/// The flags, and whether they give ACE as a digit: `S.`, `P.5`, `SEWA`, `-`.
fn control_bits(cursor: &mut Cursor<'_>) -> Result<(u16, bool), Error> {
    let position = cursor.position();
    let what = "TCP flags (`S`, `F.`, `P.`, `.`, `P.5`, `SEWA`, `-`)";
    if cursor.eat('-') {
        return Ok((0, false));
    }
    let mut text = String::new();
    if let Some(word) = cursor.word() {
        text += word;
        cursor.skip();
    }
    match cursor.peek() {
        Some(Kind::Punct('.')) => text.push('.'),
        Some(Kind::Float) if cursor.text().starts_with('.') => text += cursor.text(),
        _ if text.is_empty() => return Err(cursor.expected(what)),
        _ => return flags::parse(&text).map_err(|fault| Error::new(position, fault)),
    }
    cursor.skip();
    flags::parse(&text).map_err(|fault| Error::new(position, fault))
}

/// `1:1001(1000)`: the first sequence number and the payload in bytes.
fn range(cursor: &mut Cursor<'_>) -> Result<(u32, u16), Error> {
    let position = cursor.position();
    let start = cursor.expect_u32("a sequence number")?;
    cursor.expect(':', "and the sequence number of the end")?;
    let end = cursor.expect_u32("the sequence number of the end")?;
    let len = in_parentheses(cursor)?;
    if u64::from(end) != u64::from(start) + u64::from(len) {
        let message = format!(
            "{start}:{end} is not {len} bytes: expected {start}:{}({len})",
            u64::from(start) + u64::from(len)
        );
        return Err(Error::new(position, message));
    }
    Ok((start, len))
}

fn in_parentheses(cursor: &mut Cursor<'_>) -> Result<u16, Error> {
    cursor.expect('(', "and the payload in bytes")?;
    let len = cursor.expect_u16("a payload in bytes")?;
    cursor.expect(')', "behind the payload")?;
    Ok(len)
}

fn message(cursor: &mut Cursor<'_>) -> Result<IcmpSpec, Error> {
    let position = cursor.position();
    let kind = cursor.expect_word("the type of an ICMP message")?;
    let code = cursor.word().filter(|word| !["mtu", "id"].contains(word)).map(str::to_owned);
    if code.is_some() {
        cursor.skip();
    }
    icmp::known(&kind, code.as_deref()).map_err(|fault| Error::new(position, fault))?;
    let mtu = if cursor.eat_word("mtu") { Some(cursor.expect_u32("an MTU")?) } else { None };
    let id = if cursor.eat_word("id") { cursor.expect_u16("an identifier")? } else { 0 };
    let mut echoed = Echoed::Tcp(0, 0);
    if cursor.eat('[') {
        echoed = if cursor.eat_word("udp") {
            Echoed::Udp(in_parentheses(cursor)?)
        } else if cursor.eat_word("raw") {
            Echoed::Raw(in_parentheses(cursor)?)
        } else {
            let (seq, len) = range(cursor)?;
            Echoed::Tcp(seq, len)
        };
        cursor.expect(']', "behind the packet in the message")?;
    }
    Ok(IcmpSpec { kind, code, mtu, id, echoed })
}
