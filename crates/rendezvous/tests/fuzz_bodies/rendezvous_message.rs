//! Parses any bytes as a message. Parsing must not panic, and a message that was parsed once must
//! stay the same when it is encoded and parsed again.

use windlass_rendezvous::message::Message;

/// The type of a message of each kind: three of REGISTER, three of INTRODUCE.
const TYPES: [u16; 6] = [0x1e41, 0x1f41, 0x1f51, 0x1e42, 0x1f42, 0x1f52];

/// One input of the target `rendezvous_message`.
pub(crate) fn run(bytes: &[u8]) {
    parse(bytes);
    for kind in TYPES {
        parse(&with_header(bytes, kind));
    }
}

fn parse(bytes: &[u8]) {
    let Ok(message) = Message::parse(bytes) else { return };
    let again = message.encode();
    assert_eq!(Message::parse(&again).as_ref(), Ok(&message));
    // A signature must not be valid by chance, and verifying must not panic.
    let _ = message.content.verify();
}

/// The bytes as the attributes of a message with a correct header.
fn with_header(bytes: &[u8], kind: u16) -> Vec<u8> {
    let body = &bytes[..bytes.len().min(2000) / 4 * 4];
    let mut message = kind.to_be_bytes().to_vec();
    message.extend((body.len() as u16).to_be_bytes());
    message.extend(0x2112_a442_u32.to_be_bytes());
    message.extend([7; 12]);
    message.extend(body);
    message
}
