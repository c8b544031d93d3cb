//! Compares a packet of the subject with that of the script, field by field, as packetdrill does.

use crate::packet::{Packet, Tcp, TcpOption, flags};
use crate::script::{PacketSpec, TcpSpec, Tos};
use std::fmt;

/// The packet that the script expects.
#[derive(Copy, Clone, Debug)]
pub(super) struct Expected<'a> {
    pub(super) spec: &'a PacketSpec,
    pub(super) tcp: &'a TcpSpec,
}

/// As the script writes it, in one form.
impl fmt::Display for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TcpSpec { flags, ace, seq, len, ack, .. } = *self.tcp;
        let range = u64::from(seq) + u64::from(len);
        write!(f, "> {}{} {seq}:{range}({len})", self.tos(None), flags::text(flags, ace))?;
        self.rest(
            f,
            ack,
            self.tcp.window.unwrap_or(0),
            self.tcp.urgent,
            self.tcp.options.as_deref(),
        )
    }
}

impl Expected<'_> {
    /// A packet of the subject with the fields that the script names, so that both can be compared by eye.
    pub(super) fn seen(&self, packet: &Packet) -> String {
        match packet.tcp() {
            Some(tcp) => Seen { expected: self, packet, tcp }.to_string(),
            None => format!("> {packet}"),
        }
    }

    fn tos(&self, octet: Option<u8>) -> String {
        let ecn = |bits: u8| {
            ["[noecn] ", "[ect1] ", "[ect0] ", "[ce] "][usize::from(bits & 3)].to_owned()
        };
        match (self.spec.ip.tos, octet) {
            (Tos::Unspecified, _) => String::new(),
            (Tos::Ect0Or1, None) => "[ect01] ".to_owned(),
            (Tos::Ecn(bits), None) => ecn(bits),
            (Tos::Ecn(_) | Tos::Ect0Or1, Some(octet)) => ecn(octet),
            (Tos::Octet(own), octet) => format!("[tos {:#04x}] ", octet.unwrap_or(own)),
        }
    }

    /// The fields behind the sequence numbers.
    fn rest(
        &self,
        f: &mut fmt::Formatter<'_>,
        ack: u32,
        window: u16,
        urgent: u16,
        options: Option<&[TcpOption]>,
    ) -> fmt::Result {
        if self.tcp.flags & flags::ACK != 0 || ack != 0 {
            write!(f, " ack {ack}")?;
        }
        if self.tcp.window.is_some() {
            write!(f, " win {window}")?;
        }
        if self.tcp.urgent != 0 || urgent != 0 {
            write!(f, " urg {urgent}")?;
        }
        match options {
            _ if self.tcp.options.is_none() => f.write_str(" <...>"),
            None | Some([]) => Ok(()),
            Some(options) => {
                let texts: Vec<String> = options.iter().map(TcpOption::to_string).collect();
                write!(f, " <{}>", texts.join(","))
            }
        }
    }
}

struct Seen<'a> {
    expected: &'a Expected<'a>,
    packet: &'a Packet,
    tcp: &'a Tcp,
}

impl fmt::Display for Seen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seen { expected, packet, tcp } = self;
        let len = tcp.payload.len();
        let end = u64::from(tcp.seq) + len as u64;
        let bits = flags::text(tcp.flags, expected.tcp.ace);
        write!(f, "> {}{bits} {}:{end}({len})", expected.tos(Some(packet.ip.tos)), tcp.seq)?;
        expected.rest(f, tcp.ack, tcp.window, tcp.urgent, Some(&tcp.options))
    }
}

/// The fields that differ, each with both values.
pub(super) fn differences(expected: &Expected<'_>, packet: &Packet) -> Vec<String> {
    let Some(tcp) = packet.tcp() else { return vec!["expected a TCP segment".to_owned()] };
    let spec = expected.tcp;
    let mut found = Vec::new();
    let mut field = |name: &str, script: u64, seen: u64| {
        if script != seen {
            found.push(format!("{name}: expected {script}, was {seen}"));
        }
    };
    field("seq", spec.seq.into(), tcp.seq.into());
    field("payload", spec.len.into(), tcp.payload.len() as u64);
    field("ack", spec.ack.into(), tcp.ack.into());
    if let Some(window) = spec.window {
        field("win", window.into(), tcp.window.into());
    }
    field("urg", spec.urgent.into(), tcp.urgent.into());
    field("reserved bits", 0, tcp.reserved.into());
    if let Some(ttl) = expected.spec.ip.ttl.filter(|ttl| *ttl != 0) {
        field("ttl", ttl.into(), packet.ip.ttl.into());
    }
    if spec.flags != tcp.flags {
        let text = |bits| flags::text(bits, spec.ace);
        found.push(format!("flags: expected {}, was {}", text(spec.flags), text(tcp.flags)));
    }
    found.extend(tos_fault(expected, packet.ip.tos));
    found.extend(spec.options.as_deref().and_then(|options| options_fault(options, &tcp.options)));
    if tcp.payload.iter().any(|byte| *byte != 0) {
        found.push("payload: expected zeros".to_owned());
    }
    found
}

fn tos_fault(expected: &Expected<'_>, octet: u8) -> Option<String> {
    let ecn = octet & 3;
    let fits = match expected.spec.ip.tos {
        Tos::Unspecified => true,
        Tos::Ect0Or1 => ecn == 1 || ecn == 2,
        Tos::Ecn(bits) => bits == ecn,
        Tos::Octet(own) => own == octet,
    };
    let text = |octet| expected.tos(octet).trim().to_owned();
    (!fits).then(|| format!("ECN: expected {}, was {}", text(None), text(Some(octet))))
}

/// Options are in one order. Timestamps are compared elsewhere.
fn options_fault(script: &[TcpOption], seen: &[TcpOption]) -> Option<String> {
    let same = |(script, seen): (&TcpOption, &TcpOption)| match (script, seen) {
        (TcpOption::Timestamps { .. }, TcpOption::Timestamps { .. }) => true,
        _ => script == seen,
    };
    let fits = script.len() == seen.len() && script.iter().zip(seen).all(same);
    let text = |options: &[TcpOption]| {
        let texts: Vec<String> = options.iter().map(TcpOption::to_string).collect();
        format!("<{}>", texts.join(","))
    };
    (!fits).then(|| format!("options: expected {}, was {}", text(script), text(seen)))
}

/// Why a segment is not a further one of a larger packet; `None` if it is. All but the last have the same payload.
pub(super) fn follows(before: Option<&Tcp>, tcp: &Tcp, is_inner: bool) -> Option<String> {
    let before = before?;
    // A device sets these on the first or on the last segment alone.
    const FREE: u16 = flags::FIN | flags::PSH | flags::CWR;
    let next = before.seq.wrapping_add(before.payload.len() as u32);
    if tcp.seq != next {
        return Some(format!("seq: expected {next}, was {}", tcp.seq));
    }
    if tcp.flags & !FREE != before.flags & !FREE {
        return Some(format!(
            "flags: expected {}, was {}",
            flags::text(before.flags, false),
            flags::text(tcp.flags, false)
        ));
    }
    let fields = [
        ("ack", u64::from(before.ack), u64::from(tcp.ack)),
        ("win", before.window.into(), tcp.window.into()),
        ("urg", before.urgent.into(), tcp.urgent.into()),
        ("bytes of options", before.options_len() as u64, tcp.options_len() as u64),
    ];
    let other = fields.into_iter().find(|(_, before, now)| before != now);
    if let Some((name, before, now)) = other {
        return Some(format!("{name}: expected {before}, was {now}"));
    }
    let len = before.payload.len();
    (is_inner && tcp.payload.len() != len)
        .then(|| format!("payload: expected {len}, was {}", tcp.payload.len()))
}
