//! Messages in a stream: STUN's and ChannelData follow each other, each with its length.

use crate::server::frame_len;

/// The longest message in bytes. Hosts send datagrams of at most the path's MTU.
pub(super) const FRAME_MAX: usize = 16 << 10;

/// The bytes are no message of STUN or TURN, so the stream has lost its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoFrame;

/// Passes the complete messages at the beginning of `inbox` to `deliver`, and removes them.
/// Returns how many there were.
pub(super) fn take(inbox: &mut Vec<u8>, mut deliver: impl FnMut(&[u8])) -> Result<usize, NoFrame> {
    let (mut at, mut count) = (0, 0);
    while let Some(len) = frame_len(&inbox[at..]) {
        // The first two bits tell STUN and ChannelData from everything else (RFC 7983).
        if len > FRAME_MAX || inbox[at] >> 6 > 1 {
            return Err(NoFrame);
        }
        // RFC 8656, section 12.5: padded to a multiple of four bytes.
        let padded = len.next_multiple_of(4);
        if inbox.len() - at < padded {
            break;
        }
        deliver(&inbox[at..at + len]);
        at += padded;
        count += 1;
    }
    inbox.drain(..at);
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames(inbox: &mut Vec<u8>) -> Result<Vec<Vec<u8>>, NoFrame> {
        let mut frames = Vec::new();
        take(inbox, |frame| frames.push(frame.to_vec()))?;
        Ok(frames)
    }

    #[test]
    fn an_invalid_message_ends_the_stream() {
        assert_eq!(frames(&mut b"GET / HTTP/1.1\r\n".to_vec()), Err(NoFrame), "too long");
        assert_eq!(frames(&mut vec![0x16, 3, 1, 0x80]), Ok(vec![]), "not yet complete");
        assert_eq!(frames(&mut vec![0x80, 0, 0, 0]), Err(NoFrame));
    }

    proptest! {
        /// However the bytes are cut, the messages come out whole and in order.
        #[test]
        fn messages_come_out_as_they_went_in(
            bodies in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..60)), 0..8),
            cut in 1..50_usize,
        ) {
            let mut expected = Vec::new();
            let mut stream = Vec::new();
            for (is_stun, mut body) in bodies {
                let mut frame = if is_stun { body.truncate(body.len() / 4 * 4); vec![0, 1] } else { vec![0x40, 7] };
                frame.extend((body.len() as u16).to_be_bytes());
                frame.extend(if is_stun { vec![9; 16] } else { vec![] });
                frame.extend(body);
                stream.extend(&frame);
                stream.resize(stream.len().next_multiple_of(4), 0);
                expected.push(frame);
            }
            let mut inbox = Vec::new();
            let mut got = Vec::new();
            for part in stream.chunks(cut) {
                inbox.extend(part);
                got.extend(frames(&mut inbox).expect("messages"));
            }
            prop_assert_eq!(got, expected);
            prop_assert!(inbox.is_empty());
        }
    }
}
