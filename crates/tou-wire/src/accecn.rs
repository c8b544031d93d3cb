//! AccECN's flags AE, CWR and ECE (RFC 9768) in ToU's header: an option on SYN and SYN-ACK, and a bit that was
//! reserved on later segments. See docs/reference/tou-protocol.md, "AccECN".

use windlass_tcp::{Flags, Options, SackBlocks};

/// Kind, length and identifier of the option, one of those for trials (RFC 6994). One octet follows.
const PREFIX: [u8; 6] = [253, 7, b'T', b'o', b'U', b'A'];
/// Bytes that the option takes in a header, with padding.
const OPTION_LEN: usize = 8;

/// The three flags.
const ACE: Flags = Flags::AE.union(Flags::CWR).union(Flags::ECE);
const SHIFT: u32 = Flags::ECE.bits().trailing_zeros();

/// The three flags as a number, with ECE as its lowest bit (RFC 9768 §3.2.2).
fn number_of(flags: Flags) -> u8 {
    ((flags & ACE).bits() >> SHIFT) as u8
}

/// Whether ends without AccECN give these flags of a SYN or SYN-ACK a meaning: an offer or an answer of classic ECN
/// (RFC 3168 §6.1.1), or none.
fn is_classic(flags: Flags) -> bool {
    let setup = if flags.contains(Flags::ACK) { Flags::ECE } else { Flags::ECE | Flags::CWR };
    let ace = flags & ACE;
    ace.is_empty() || ace == setup
}

/// Whether a segment with these flags has the option.
pub(crate) fn has_option(flags: Flags) -> bool {
    flags.contains(Flags::SYN) && !is_classic(flags)
}

/// The flags in the header of a SYN or SYN-ACK that has the option. An end that skips the option sees an offer of classic
/// ECN, or no ECN.
pub(crate) fn flags_beside_option(flags: Flags) -> Flags {
    let offer = if flags.contains(Flags::ACK) { Flags::empty() } else { Flags::ECE | Flags::CWR };
    (flags - ACE) | offer
}

/// The other options of a SYN or SYN-ACK that has this one. AccECN's byte counters are left out: a SYN-ACK with them would
/// be longer than the SYN, and they begin with the first ACK. SACK blocks have no meaning there.
pub(crate) fn options_beside(options: &Options) -> Options {
    Options { sack: SackBlocks::default(), accecn: None, ..*options }
}

/// Writes the option to the beginning of `out`, and returns its length.
pub(crate) fn emit_option(flags: Flags, out: &mut [u8]) -> usize {
    out[..PREFIX.len()].copy_from_slice(&PREFIX);
    out[PREFIX.len()] = number_of(flags);
    // No-operation.
    out[PREFIX.len() + 1] = 1;
    OPTION_LEN
}

/// The flags of a SYN or SYN-ACK: those in its option in place of those in its header. `options` are well-formed.
/// Without the option, flags that ends without AccECN would not understand mean no ECN. Some peers reflect the flags
/// of a SYN, and that is no consent.
#[cold]
pub(crate) fn flags_of_syn(header: Flags, options: &[u8]) -> Flags {
    match find_option(options) {
        Some(number) => (header - ACE) | Flags::from_bits_retain(u16::from(number & 7) << SHIFT),
        None if is_classic(header) => header,
        None => header - ACE,
    }
}

/// The octet of the last such option.
fn find_option(mut rest: &[u8]) -> Option<u8> {
    let mut found = None;
    loop {
        let len = match *rest {
            [] | [0, ..] => return found,
            [1, ..] => 1,
            [_, len, ..] => usize::from(len),
            [_] => return found,
        };
        if let Some([number]) = rest.get(..len)?.strip_prefix(&PREFIX) {
            found = Some(*number);
        }
        rest = &rest[len..];
    }
}
