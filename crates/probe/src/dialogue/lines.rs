//! The lines of a server that speaks in text, and what else parsers of streams share.

/// The part of a line that is kept. RFC 5321 section 4.5.3.1.5 permits 512 bytes.
const LINE_BYTES_MAX: usize = 1024;

/// Joins the pieces of a stream into lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    /// The next complete line of the bytes, without its end, which is LF or CR LF. It leaves the rest of the
    /// bytes; without a complete line it keeps them all.
    pub(super) fn next(&mut self, bytes: &mut &[u8]) -> Option<Vec<u8>> {
        let at = bytes.iter().position(|byte| *byte == b'\n');
        let (line, rest) = match at {
            Some(at) => (&bytes[..at], &bytes[at + 1..]),
            None => (*bytes, &[][..]),
        };
        let room = LINE_BYTES_MAX.saturating_sub(self.begun.len());
        self.begun.extend_from_slice(&line[..line.len().min(room)]);
        *bytes = rest;
        at?;
        let mut line = std::mem::take(&mut self.begun);
        line.pop_if(|byte| *byte == b'\r');
        Some(line)
    }
}

/// Leaves out bytes that are not needed: as many as are `left`, if they are there.
pub(super) fn skip(left: &mut u64, bytes: &mut &[u8]) {
    let skipped = (*left).min(bytes.len() as u64);
    *left -= skipped;
    *bytes = &bytes[skipped as usize..];
}

/// The code of the last line of a reply in SMTP and FTP (RFC 5321 section 4.2, RFC 959 section 4.2).
/// `None` for the lines before it.
pub(super) fn reply_code(line: &[u8]) -> Option<u16> {
    let (code, rest) = line.split_first_chunk::<3>()?;
    let last = rest.first().is_none_or(|byte| *byte == b' ');
    let digits = code.iter().all(u8::is_ascii_digit);
    (last && digits).then(|| code.iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_from_pieces_and_kept_in_part_if_they_are_long() {
        let mut lines = Lines::default();
        let mut rest = &b"one\r\ntw"[..];
        assert_eq!(lines.next(&mut rest).as_deref(), Some(&b"one"[..]));
        assert_eq!(lines.next(&mut rest), None);
        let mut rest = &b"o\n\nx"[..];
        assert_eq!(lines.next(&mut rest).as_deref(), Some(&b"two"[..]));
        assert_eq!(lines.next(&mut rest).as_deref(), Some(&b""[..]));
        for _ in 0..100 {
            assert_eq!(lines.next(&mut &[b'x'; 4096][..]), None);
        }
        assert_eq!(lines.next(&mut &b"\n"[..]).map(|line| line.len()), Some(LINE_BYTES_MAX));
    }

    #[test]
    fn a_reply_ends_with_the_line_whose_code_a_blank_follows() {
        assert_eq!(reply_code(b"250-SIZE"), None);
        assert_eq!(reply_code(b"250 OK"), Some(250));
        assert_eq!(reply_code(b"250"), Some(250));
        assert_eq!((reply_code(b"25"), reply_code(b"2x0 "), reply_code(b"")), (None, None, None));
    }
}
