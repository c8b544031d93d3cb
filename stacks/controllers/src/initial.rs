//! QUIC's Initial packets without encryption (RFC 9000 section 17.2.2).

/// The number of a client's Initial packet, and the connection ID that the client chose for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Initial {
    pub(crate) number: u64,
    pub(crate) source: Vec<u8>,
}

/// The connection ID of the server.
const SERVER: [u8; 8] = *b"windlass";
/// Long header, fixed bit, Initial, a packet number of four bytes.
const FIRST_BYTE: u8 = 0xc3;

/// Reads the header of an Initial packet whose header is not protected. `None` for another packet.
pub(crate) fn parse(packet: &[u8]) -> Option<Initial> {
    let (&first, rest) = packet.split_first()?;
    // A long header of type Initial; the fixed bit may be greased.
    if first & 0xb0 != 0x80 {
        return None;
    }
    let (_, rest) = split(rest, 4)?;
    let (_, rest) = connection_id(rest)?;
    let (source, rest) = connection_id(rest)?;
    let (token, rest) = varint(rest)?;
    let (_, rest) = split(rest, usize::try_from(token).ok()?)?;
    let (_, rest) = varint(rest)?;
    let (number, _) = split(rest, usize::from(first & 3) + 1)?;
    let number = number.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    Some(Initial { number, source: source.to_vec() })
}

/// A frame that acknowledges packet `number` alone (RFC 9000 section 19.3).
pub(crate) fn ack(number: u64) -> Vec<u8> {
    let mut frame = vec![0x02];
    frame.extend(eight(number));
    // Delay, further ranges and the length of the first one.
    frame.extend([0, 0, 0]);
    frame
}

/// A frame with one byte of the handshake, at this offset (RFC 9000 section 19.6).
pub(crate) fn crypto(offset: u64) -> Vec<u8> {
    let mut frame = vec![0x06];
    frame.extend(eight(offset));
    frame.extend([1, 0]);
    frame
}

/// A server's Initial packet with one of these frames.
pub(crate) fn packet(version: u32, client: &[u8], number: u32, frame: &[u8]) -> Vec<u8> {
    let mut packet = vec![FIRST_BYTE];
    packet.extend(version.to_be_bytes());
    packet.push(client.len() as u8);
    packet.extend(client);
    packet.push(SERVER.len() as u8);
    packet.extend(SERVER);
    // No token; the length of number and frame, which is below 64.
    packet.extend([0, 4 + frame.len() as u8]);
    packet.extend(number.to_be_bytes());
    packet.extend(frame);
    packet
}

/// A number of eight bytes (RFC 9000 section 16).
fn eight(number: u64) -> [u8; 8] {
    (number | 0xc000_0000_0000_0000).to_be_bytes()
}

fn split(bytes: &[u8], at: usize) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(at)
}

fn connection_id(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&len, rest) = bytes.split_first()?;
    split(rest, usize::from(len))
}

/// RFC 9000 section 16.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let first = *bytes.first()?;
    let (number, rest) = split(bytes, 1 << (first >> 6))?;
    let number = number.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    Some((number & (u64::MAX >> (66 - 8 * (1u64 << (first >> 6)))), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_variable_length_is_that_of_the_rfc() {
        // RFC 9000 appendix A.1.
        assert_eq!(varint(&[0x25]).map(|found| found.0), Some(37));
        assert_eq!(varint(&[0x7b, 0xbd]).map(|found| found.0), Some(15_293));
        assert_eq!(varint(&[0x9d, 0x7f, 0x3e, 0x7d]).map(|found| found.0), Some(494_878_333));
        let eight = [0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c];
        assert_eq!(varint(&eight).map(|found| found.0), Some(151_288_809_941_952_652));
        assert_eq!(varint(&eight[..7]), None);
    }

    #[test]
    fn a_packet_of_the_server_is_an_initial_one() {
        let packet = packet(1, b"client", 7, &ack(300));
        let expected = Initial { number: 7, source: SERVER.to_vec() };
        assert_eq!(parse(&packet), Some(expected));
        assert_eq!(parse(&packet[..20]), None);
        assert_eq!(parse(&[0x40, 1, 2]), None, "a short header");
    }
}
