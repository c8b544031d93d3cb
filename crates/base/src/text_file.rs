//! Texts that users wrote, in whatever editor. Needs the feature `suggest`.

use std::format;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;
use std::string::String;
use std::vec::Vec;

/// The byte order mark that some editors put before a text in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The text of a file in UTF-8, without a byte order mark.
///
/// # Errors
///
/// The file cannot be read, or is not in UTF-8: the message says in which line, or that it is UTF-16.
pub fn read(path: &Path) -> Result<String> {
    decode(std::fs::read(path)?)
}

/// [`read`] for a file of at most `most` bytes.
///
/// # Errors
///
/// As for [`read`], or the file is larger.
pub fn read_at_most(path: &Path, most: u64) -> Result<String> {
    if std::fs::metadata(path)?.len() > most {
        return Err(invalid(&format!("expected at most {most} bytes")));
    }
    read(path)
}

/// The bytes behind a byte order mark of UTF-8, if there is one.
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}

/// The text of bytes in UTF-8, without a byte order mark.
///
/// # Errors
///
/// As for [`read`].
pub fn decode(mut bytes: Vec<u8>) -> Result<String> {
    // UTF-16 with its mark; UTF-32 begins so too. Without a mark every other byte of English is zero.
    let marked = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    if marked || bytes.iter().take(4).any(|byte| *byte == 0) {
        return Err(invalid("a text in UTF-16, or none; expected UTF-8"));
    }
    let mark_len = bytes.len() - without_mark(&bytes).len();
    bytes.drain(..mark_len);
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        invalid(&format!("line {line}: not a text in UTF-8"))
    })
}

fn invalid(message: &str) -> Error {
    Error::new(ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    fn encoded(text: &str, mark: bool, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let mark = mark.then_some(0xfeff);
        mark.into_iter().chain(text.encode_utf16()).flat_map(unit).collect()
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        assert_eq!(decode(b"\xef\xbb\xbfa = 1\n".to_vec()).expect("UTF-8"), "a = 1\n");
        assert_eq!(decode("a = \"é\"".into()).expect("UTF-8"), "a = \"é\"");
        assert_eq!(decode(Vec::new()).expect("nothing"), "");
        let twice = decode(b"\xef\xbb\xbf\xef\xbb\xbfa".to_vec()).expect("UTF-8");
        assert_eq!(twice, "\u{feff}a", "one mark");
    }

    #[test]
    fn utf_16_is_refused_by_name_and_other_encodings_by_their_line() {
        for unit in [u16::to_le_bytes, u16::to_be_bytes] {
            for mark in [false, true] {
                let error = decode(encoded("a = 1\n", mark, unit)).expect_err("UTF-16");
                assert_eq!(error.to_string(), "a text in UTF-16, or none; expected UTF-8");
            }
        }
        let error = decode(b"a = 1\nb = \"\xe9\"\n".to_vec()).expect_err("Latin-1");
        assert_eq!(error.to_string(), "line 2: not a text in UTF-8");
    }
}
