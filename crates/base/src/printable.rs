//! Text of others in logs and on terminals.

use core::fmt;

/// Whether a character may change what stands around it in a log or on a terminal: the control
/// characters, which begin lines, move the cursor and colour; and those that reorder text or are
/// invisible (Unicode Technical Report 36, section 2.5).
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{61c}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// Displays a text with its unprintable characters as JSON writes them.
struct Printable<'a> {
    text: &'a str,
    keeps_lines: bool,
}

/// A text of a peer, a server or a program as one line, with which its author does not control the
/// log or the terminal. Unprintable characters appear as JSON writes them, such as `\u001b`; line
/// ends as `\n`.
pub fn printable(text: &str) -> impl fmt::Display + '_ {
    Printable { text, keeps_lines: false }
}

/// As [`printable`], but with its line ends and tabs, for a whole output.
pub fn printable_lines(text: &str) -> impl fmt::Display + '_ {
    Printable { text, keeps_lines: true }
}

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_kept = |c: char| self.keeps_lines && matches!(c, '\n' | '\t');
        let escaped = |c: char| is_unprintable(c) && !is_kept(c);
        let mut rest = self.text;
        while let Some(at) = rest.find(escaped) {
            let (before, after) = rest.split_at(at);
            f.write_str(before)?;
            let Some(c) = after.chars().next() else { break };
            match c {
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                // All of them are in the Basic Multilingual Plane.
                c => write!(f, "\\u{:04x}", u32::from(c))?,
            }
            rest = &after[c.len_utf8()..];
        }
        f.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn neither_lines_nor_the_terminal_can_be_forged() {
        let text = "a\n2026 INFO b\r\u{1b}[2Jc\u{9b}d\te\u{7f}\u{202e}f";
        let expected = r"a\n2026 INFO b\r\u001b[2Jc\u009bd\te\u007f\u202ef";
        assert_eq!(printable(text).to_string(), expected);
        assert_eq!(printable("Grüße, 世界 \"\\\"").to_string(), "Grüße, 世界 \"\\\"");
    }

    #[test]
    fn an_output_keeps_its_lines() {
        assert_eq!(printable_lines("a\tb\n\u{1b}c\r\n").to_string(), "a\tb\n\\u001bc\\r\n");
    }
}
