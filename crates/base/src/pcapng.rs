//! Packet captures in the pcapng format (draft-ietf-opsawg-pcapng), which Wireshark and tshark read.
//!
//! Three kinds of blocks are all that a capture needs, so they are written here: a crate would bring
//! a parser, its own error type and an allocation for each packet. A capture is a section header, one
//! interface, and its packets. Blocks are appended to a buffer.

use crate::Time;
use alloc::vec::Vec;

/// Raw IP packets, without a link layer.
const LINKTYPE_RAW: u16 = 101;
const SECTION_HEADER_BLOCK: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION_BLOCK: u32 = 1;
const ENHANCED_PACKET_BLOCK: u32 = 6;
const OPTION_END: u16 = 0;
const OPTION_INTERFACE_NAME: u16 = 2;
const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_PACKET_FLAGS: u16 = 2;
const FLAG_INBOUND: u32 = 0b01;
const FLAG_OUTBOUND: u32 = 0b10;

/// The beginning of a capture. Blocks are little-endian, as it says.
pub fn section_header(out: &mut Vec<u8>) {
    block(out, SECTION_HEADER_BLOCK, |body| {
        body.extend(0x1a2b_3c4d_u32.to_le_bytes());
        // Version 1.0, length of the section not given.
        body.extend([1, 0, 0, 0]);
        body.extend(u64::MAX.to_le_bytes());
    });
}

/// An interface of IP packets by its name. At most `snap_len` bytes of each are kept.
pub fn interface(out: &mut Vec<u8>, name: &str, snap_len: u32) {
    block(out, INTERFACE_DESCRIPTION_BLOCK, |body| {
        body.extend(LINKTYPE_RAW.to_le_bytes());
        body.extend([0, 0]);
        body.extend(snap_len.to_le_bytes());
        option(body, OPTION_INTERFACE_NAME, name.as_bytes());
        // Times are in units of 10^-9 s.
        option(body, OPTION_TIME_RESOLUTION, &[9]);
        option(body, OPTION_END, &[]);
    });
}

/// A packet of the first interface of a capture.
#[derive(Copy, Clone, Debug)]
pub struct Captured<'a> {
    /// When it passed.
    pub at: Time,
    /// Whether it comes in; otherwise it goes out.
    pub inbound: bool,
    /// Its length in bytes on the wire.
    pub original_len: u32,
    /// Its first bytes.
    pub bytes: &'a [u8],
}

/// Appends a packet.
pub fn packet(out: &mut Vec<u8>, captured: &Captured<'_>) {
    let Captured { at, inbound, original_len, bytes } = *captured;
    let nanos = at.as_nanos();
    let fields = [0, (nanos >> 32) as u32, nanos as u32, bytes.len() as u32, original_len];
    let flags = if inbound { FLAG_INBOUND } else { FLAG_OUTBOUND };
    block(out, ENHANCED_PACKET_BLOCK, |body| {
        fields.iter().for_each(|field| body.extend(field.to_le_bytes()));
        padded(body, bytes);
        option(body, OPTION_PACKET_FLAGS, &flags.to_le_bytes());
        option(body, OPTION_END, &[]);
    });
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    padded(body, value);
}

fn padded(body: &mut Vec<u8>, bytes: &[u8]) {
    body.extend(bytes);
    body.resize(body.len() + bytes.len().next_multiple_of(4) - bytes.len(), 0);
}

/// A block has its length before and behind its body.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let len = ((out.len() - begin + 4) as u32).to_le_bytes();
    out[begin + 4..begin + 8].copy_from_slice(&len);
    out.extend(len);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn blocks_have_the_lengths_that_they_tell() {
        let mut file = vec![];
        section_header(&mut file);
        interface(&mut file, "a-b", 80);
        let at = Time::from_nanos(0x1_0000_0002);
        let captured = Captured { at, inbound: true, original_len: 1_500, bytes: &[1; 41] };
        packet(&mut file, &captured);
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
        let (mut at, mut kinds) = (0, vec![]);
        while at < file.len() {
            let len = word(at + 4) as usize;
            assert_eq!((len % 4, word(at + len - 4) as usize), (0, len));
            kinds.push(word(at));
            at += len;
        }
        let expected = [SECTION_HEADER_BLOCK, INTERFACE_DESCRIPTION_BLOCK, ENHANCED_PACKET_BLOCK];
        assert_eq!((at, &kinds[..]), (file.len(), &expected[..]));
        let begin = file.len() - (32 + 44 + 12);
        assert_eq!([12, 16, 20, 24].map(|field| word(begin + field)), [1, 2, 41, 1_500]);
    }
}
