//! The lines of a server that speaks in text, and what else parsers of streams share.

/// The part of a line that is kept. RFC 5321 section 4.5.3.1.5 permits 512 bytes.
const LINE_BYTES_MAX: usize = 1024;

/// Joins the pieces of a stream into lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
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

/// Finds the last lines of the replies of SMTP and FTP, which may have several lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Replies {
    /// The code of a reply whose last line has not come.
    open: Option<u16>,
}

impl Replies {
    /// The code of a reply, with its last line; `None` for the lines before it. In FTP a line between may begin
    /// with another code, as of a text "500 MB free": the reply ends only with its own code and a blank
    /// (RFC 959 section 4.2). In SMTP every line has the code (RFC 5321 section 4.2.1).
    pub(super) fn code(&mut self, line: &[u8]) -> Option<u16> {
        let (code, rest) = line.split_first_chunk::<3>()?;
        let digits = code.iter().all(u8::is_ascii_digit);
        let code =
            code.iter().fold(0, |code, digit| code * 10 + u16::from(digit.wrapping_sub(b'0')));
        let last = rest.first().is_none_or(|byte| *byte == b' ');
        let goes_on = rest.first() == Some(&b'-');
        match self.open {
            _ if !digits => None,
            Some(open) if open != code => None,
            None if goes_on => {
                self.open = Some(code);
                None
            }
            _ if last => {
                self.open = None;
                Some(code)
            }
            _ => None,
        }
    }
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
        let codes = |lines: &[&[u8]]| {
            let mut replies = Replies::default();
            lines.iter().map(|line| replies.code(line)).collect::<Vec<_>>()
        };
        assert_eq!(codes(&[b"250-SIZE", b"250 OK", b"250"]), [None, Some(250), Some(250)]);
        assert_eq!(codes(&[b"25", b"2x0 ", b"", b"2500 x"]), [None; 4]);
    }

    /// RFC 959 section 4.2.
    #[test]
    fn another_code_within_a_reply_does_not_end_it() {
        let mut replies = Replies::default();
        let lines: [&[u8]; 6] =
            [b"230-Welcome", b"500 MB free", b"120-x", b"  230 files", b"", b"230 in"];
        let codes = lines.map(|line| replies.code(line));
        assert_eq!(codes, [None, None, None, None, None, Some(230)]);
    }
}
