//! SSH: the identification, the algorithms and the client's half of the key exchange in one segment. The
//! client may guess (RFC 4253 section 7.1); by offering one method only it guesses right. The server answers
//! with its algorithms, its host key and a signature: some two kilobytes. More than that takes the keys.

use super::lines::skip;
use super::talk::{Asked, Talk, Talker};
use super::{Dialogue, Kind};

const KEXINIT: u8 = 20;
const NEWKEYS: u8 = 21;
const KEX_ECDH_INIT: u8 = 30;
/// RFC 4253 section 6.1: every implementation takes packets of this size.
const PACKET_BYTES_MAX: u32 = 35_000;
/// RFC 4253 section 4.2 permits lines before the identification.
const LINES_MAX: u32 = 1024;

const ALGORITHMS: [&str; 10] = [
    "curve25519-sha256",
    // The longest keys first.
    "rsa-sha2-512,rsa-sha2-256,ecdsa-sha2-nistp256,ssh-ed25519",
    "aes128-ctr,aes256-ctr,aes128-gcm@openssh.com,chacha20-poly1305@openssh.com",
    "aes128-ctr,aes256-ctr,aes128-gcm@openssh.com,chacha20-poly1305@openssh.com",
    "hmac-sha2-256,hmac-sha2-512,hmac-sha1",
    "hmac-sha2-256,hmac-sha2-512,hmac-sha1",
    "none",
    "none",
    "",
    "",
];

/// The dialogue of a URL.
pub(super) fn dialogue(_: &Asked<'_>) -> Result<Dialogue, &'static str> {
    Ok(Dialogue::new(Kind::named("ssh"), Ssh::default()))
}

#[derive(Clone, Debug, Default)]
struct Ssh {
    lines_heard: u32,
    /// The beginning of a packet: its length, padding length and message number.
    begun: Vec<u8>,
    /// Bytes of a packet that are still to come.
    skip: u64,
    /// The identification has been heard.
    identified: bool,
    /// The packet under way is the last one without encryption.
    last: bool,
}

impl Ssh {
    fn take_line(&mut self, line: &[u8], talk: &mut Talk) {
        self.lines_heard += 1;
        if line.starts_with(b"SSH-2.0-") || line.starts_with(b"SSH-1.99-") {
            self.identified = true;
            talk.greeted(line);
        } else if line.starts_with(b"SSH-") || self.lines_heard > LINES_MAX {
            talk.refuse("the identification", line);
        }
    }

    fn take_packet(&mut self, bytes: &mut &[u8], talk: &mut Talk) {
        talk.begun = true;
        if self.skip > 0 {
            skip(&mut self.skip, bytes);
        } else {
            let missing = 6 - self.begun.len();
            let (taken, rest) = bytes.split_at(missing.min(bytes.len()));
            self.begun.extend_from_slice(taken);
            *bytes = rest;
            let Ok([a, b, c, d, _, message]) = <[u8; 6]>::try_from(&self.begun[..]) else { return };
            self.begun.clear();
            let len = u32::from_be_bytes([a, b, c, d]);
            if !(2..=PACKET_BYTES_MAX).contains(&len) {
                return talk.fail("no packet of SSH follows its identification");
            }
            self.skip = u64::from(len - 2);
            self.last = message == NEWKEYS;
        }
        talk.ended |= self.last && self.skip == 0;
    }
}

impl Talker for Ssh {
    fn open(&mut self, talk: &mut Talk) {
        let mut algorithms = vec![KEXINIT];
        // The cookie: it need not be random for a key that encrypts nothing.
        algorithms.extend([0x57; 16]);
        for names in ALGORITHMS {
            algorithms.extend((names.len() as u32).to_be_bytes());
            algorithms.extend(names.as_bytes());
        }
        // No packet that depends on a guess follows, and the reserved field.
        algorithms.extend([0; 5]);
        // RFC 8731 section 3: any point will do; this is the base point.
        let mut key = vec![KEX_ECDH_INIT, 0, 0, 0, 32, 9];
        key.extend([0; 31]);
        let mut request = b"SSH-2.0-windlass_probe\r\n".to_vec();
        request.extend(packet(&algorithms));
        request.extend(packet(&key));
        talk.ask(request);
    }

    fn hear(&mut self, mut bytes: &[u8], talk: &mut Talk) {
        while !bytes.is_empty() && talk.trouble.is_none() {
            if self.identified {
                self.take_packet(&mut bytes, talk);
            } else if let Some(line) = talk.lines.next(&mut bytes) {
                self.take_line(&line, talk);
            }
        }
    }
}

/// A packet without encryption (RFC 4253 section 6): length, padding length, payload, at least four bytes
/// of padding up to a multiple of eight.
fn packet(payload: &[u8]) -> Vec<u8> {
    let padding = 4 + (8 - (payload.len() + 9) % 8) % 8;
    let len = 1 + payload.len() + padding;
    let mut packet = (len as u32).to_be_bytes().to_vec();
    packet.push(padding as u8);
    packet.extend_from_slice(payload);
    packet.resize(4 + len, 0);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_padded_to_eight_bytes() {
        for len in 1..40 {
            let packet = packet(&vec![1; len]);
            assert!(packet.len().is_multiple_of(8) && packet[4] >= 4, "{len}");
            assert_eq!(usize::from(packet[4]) + len + 5, packet.len());
        }
    }
}
