//! TCP options, each with all of its bytes, in the order of the header.

use std::fmt;

const KIND_MSS: u8 = 2;
const KIND_WINDOW_SCALE: u8 = 3;
const KIND_SACK_PERMITTED: u8 = 4;
const KIND_SACK: u8 = 5;
const KIND_TIMESTAMPS: u8 = 8;
/// RFC 2385.
const KIND_MD5: u8 = 19;
/// RFC 7413 §4.1.1.
const KIND_FAST_OPEN: u8 = 34;
/// RFC 9768 §3.2.3.
const KIND_ACCECN0: u8 = 172;
const KIND_ACCECN1: u8 = 174;
/// RFC 4727; with the magic number of RFC 6994 in front, Fast Open before its number was assigned.
const KIND_EXPERIMENT: u8 = 254;
const FAST_OPEN_MAGIC: [u8; 2] = [0xf9, 0x89];

/// An option of a TCP header.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TcpOption {
    /// The end of the options.
    End,
    /// No operation.
    Nop,
    /// Maximum segment size in bytes.
    Mss(u16),
    /// The shift of windows.
    WindowScale(u8),
    /// SACK permitted.
    SackPermitted,
    /// SACK blocks, each a left edge and the sequence number after its right edge.
    Sack(Vec<(u32, u32)>),
    /// Timestamps of RFC 7323.
    Timestamps {
        /// The sender's clock, TSval.
        value: u32,
        /// The echoed clock, TSecr.
        echo: u32,
    },
    /// The digest of RFC 2385; a script may give fewer bytes than its 16.
    Md5(Vec<u8>),
    /// Fast Open, with the cookie or an empty one.
    FastOpen {
        /// The cookie.
        cookie: Vec<u8>,
        /// As an experiment of RFC 6994.
        experimental: bool,
    },
    /// AccECN's counters of bytes, low 24 bits, in the order of the kind.
    AccEcn {
        /// Kind 174: ECT(1) first.
        ect1_first: bool,
        /// One to three counters, in their order.
        counters: Vec<u32>,
    },
    /// Another kind, or one whose length is wrong.
    Other {
        /// The kind.
        kind: u8,
        /// The bytes behind kind and length.
        data: Vec<u8>,
    },
}

impl TcpOption {
    /// The option's kind.
    pub fn kind(&self) -> u8 {
        match self {
            TcpOption::End => 0,
            TcpOption::Nop => 1,
            TcpOption::Mss(_) => KIND_MSS,
            TcpOption::WindowScale(_) => KIND_WINDOW_SCALE,
            TcpOption::SackPermitted => KIND_SACK_PERMITTED,
            TcpOption::Sack(_) => KIND_SACK,
            TcpOption::Timestamps { .. } => KIND_TIMESTAMPS,
            TcpOption::Md5(_) => KIND_MD5,
            TcpOption::FastOpen { experimental: false, .. } => KIND_FAST_OPEN,
            TcpOption::FastOpen { experimental: true, .. } => KIND_EXPERIMENT,
            TcpOption::AccEcn { ect1_first: false, .. } => KIND_ACCECN0,
            TcpOption::AccEcn { ect1_first: true, .. } => KIND_ACCECN1,
            TcpOption::Other { kind, .. } => *kind,
        }
    }

    /// Appends its bytes.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.push(self.kind());
        if matches!(self, TcpOption::End | TcpOption::Nop) {
            return;
        }
        let start = out.len();
        out.push(0);
        match self {
            TcpOption::End | TcpOption::Nop | TcpOption::SackPermitted => {}
            TcpOption::Mss(mss) => out.extend(mss.to_be_bytes()),
            TcpOption::WindowScale(shift) => out.push(*shift),
            TcpOption::Sack(blocks) => {
                for edge in blocks.iter().flat_map(|&(left, right)| [left, right]) {
                    out.extend(edge.to_be_bytes());
                }
            }
            TcpOption::Timestamps { value, echo } => {
                out.extend([value.to_be_bytes(), echo.to_be_bytes()].concat());
            }
            TcpOption::Md5(data) | TcpOption::Other { data, .. } => out.extend(data),
            TcpOption::FastOpen { cookie, experimental } => {
                out.extend(FAST_OPEN_MAGIC.iter().filter(|_| *experimental));
                out.extend(cookie);
            }
            TcpOption::AccEcn { counters, .. } => {
                counters.iter().for_each(|counter| out.extend(&counter.to_be_bytes()[1..]));
            }
        }
        // Options of a script may be longer than a header has room for; the caller refuses them.
        out[start] = u8::try_from(out.len() - start + 1).unwrap_or(u8::MAX);
    }
}

/// Takes the options of a header apart. Whatever follows a wrong length is one [`TcpOption::Other`].
pub(super) fn parse(mut bytes: &[u8]) -> Vec<TcpOption> {
    let mut options = Vec::new();
    while let [kind, rest @ ..] = bytes {
        bytes = match kind {
            0 => {
                options.push(TcpOption::End);
                rest
            }
            1 => {
                options.push(TcpOption::Nop);
                rest
            }
            _ => {
                let len = rest.first().map_or(0, |&len| usize::from(len));
                let Some(data) = rest.get(1..len.wrapping_sub(1)).filter(|_| len >= 2) else {
                    options.push(TcpOption::Other { kind: *kind, data: rest.to_vec() });
                    return options;
                };
                options.push(option(*kind, data));
                &rest[len - 1..]
            }
        };
    }
    options
}

fn option(kind: u8, data: &[u8]) -> TcpOption {
    let words: Vec<u32> = data
        .chunks_exact(4)
        .map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    match (kind, data) {
        (KIND_MSS, &[high, low]) => TcpOption::Mss(u16::from_be_bytes([high, low])),
        (KIND_WINDOW_SCALE, &[shift]) => TcpOption::WindowScale(shift),
        (KIND_SACK_PERMITTED, []) => TcpOption::SackPermitted,
        (KIND_SACK, data) if data.len().is_multiple_of(8) => {
            TcpOption::Sack(words.chunks_exact(2).map(|edges| (edges[0], edges[1])).collect())
        }
        (KIND_TIMESTAMPS, data) if data.len() == 8 => {
            TcpOption::Timestamps { value: words[0], echo: words[1] }
        }
        (KIND_MD5, data) => TcpOption::Md5(data.to_vec()),
        (KIND_FAST_OPEN, data) => {
            TcpOption::FastOpen { cookie: data.to_vec(), experimental: false }
        }
        (KIND_EXPERIMENT, [a, b, cookie @ ..]) if [*a, *b] == FAST_OPEN_MAGIC => {
            TcpOption::FastOpen { cookie: cookie.to_vec(), experimental: true }
        }
        (KIND_ACCECN0 | KIND_ACCECN1, data) if data.len().is_multiple_of(3) => TcpOption::AccEcn {
            ect1_first: kind == KIND_ACCECN1,
            counters: data
                .chunks_exact(3)
                .map(|three| u32::from_be_bytes([0, three[0], three[1], three[2]]))
                .collect(),
        },
        (kind, data) => TcpOption::Other { kind, data: data.to_vec() },
    }
}

/// As scripts write it.
impl fmt::Display for TcpOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TcpOption::End => f.write_str("eol"),
            TcpOption::Nop => f.write_str("nop"),
            TcpOption::Mss(mss) => write!(f, "mss {mss}"),
            TcpOption::WindowScale(shift) => write!(f, "wscale {shift}"),
            TcpOption::SackPermitted => f.write_str("sackOK"),
            TcpOption::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(left, right)| write!(f, " {left}:{right}"))
            }
            TcpOption::Timestamps { value, echo } => write!(f, "TS val {value} ecr {echo}"),
            TcpOption::Md5(digest) => write!(f, "md5 {}", Hex(digest)),
            TcpOption::FastOpen { cookie, experimental } => {
                f.write_str(if *experimental { "FOEXP" } else { "FO" })?;
                if cookie.is_empty() { Ok(()) } else { write!(f, " {}", Hex(cookie)) }
            }
            TcpOption::AccEcn { ect1_first, counters } => {
                f.write_str("ECN")?;
                let names = if *ect1_first { ["e1b", "ceb", "e0b"] } else { ["e0b", "ceb", "e1b"] };
                names
                    .iter()
                    .zip(counters)
                    .try_for_each(|(name, counter)| write!(f, " {name} {counter}"))
            }
            TcpOption::Other { kind, data } => write!(f, "kind {kind} {}", Hex(data)),
        }
    }
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_survive_the_wire() {
        let options = vec![
            TcpOption::Mss(1460),
            TcpOption::AccEcn { ect1_first: true, counters: vec![1, 0, 0xff_ffff] },
            TcpOption::Nop,
            TcpOption::Sack(vec![(1, 2), (3, 4)]),
            TcpOption::Timestamps { value: 1, echo: 2 },
            TcpOption::FastOpen { cookie: vec![1, 2], experimental: true },
            TcpOption::Md5(vec![7; 16]),
            TcpOption::Other { kind: 77, data: vec![1] },
        ];
        let mut bytes = Vec::new();
        options.iter().for_each(|option| option.emit(&mut bytes));
        assert_eq!(parse(&bytes), options);
    }

    #[test]
    fn a_wrong_length_ends_the_options() {
        assert_eq!(
            parse(&[1, 3, 9, 1]),
            [TcpOption::Nop, TcpOption::Other { kind: 3, data: vec![9, 1] }]
        );
        assert_eq!(parse(&[3, 1]), [TcpOption::Other { kind: 3, data: vec![1] }]);
        assert_eq!(parse(&[8]), [TcpOption::Other { kind: 8, data: vec![] }]);
    }
}
