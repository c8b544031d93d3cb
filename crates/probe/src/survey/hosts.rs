//! The file of hosts.

use crate::dialogue::Scheme;
use crate::target::Target;
use std::collections::BTreeSet;
use windlass_base::address::{parse_host, parse_network};
use windlass_base::is_unprintable;

/// Reads a list with a URL or a host per line, in the forms of [`Target::parse_as`]. Text after a blank and
/// lines that begin with `#` are comments. Repeated lines count once.
///
/// # Errors
///
/// The error names the number of the invalid line and the reason, or says that the list is empty.
pub fn parse(text: &str, scheme: Option<Scheme>) -> Result<Vec<String>, String> {
    let mut hosts = Vec::new();
    let mut known = BTreeSet::new();
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let Some((word, comment)) = word_and_comment(line) else { continue };
        if word.starts_with('#') {
            continue;
        }
        let wrong = |why: String| format!("line {}: {why}", index + 1);
        // They go to a terminal and into a table.
        if word.chars().any(is_unprintable) {
            return Err(wrong(format!("{word:?}: a control character or an invisible one")));
        }
        Target::parse_as(word, scheme).map_err(wrong)?;
        check_comment(comment).map_err(wrong)?;
        if known.insert(word) {
            hosts.push(word.to_owned());
        }
    }
    if hosts.is_empty() { Err("no hosts in it".to_owned()) } else { Ok(hosts) }
}

/// The first word of a line, and the text after it; `None` for an empty line.
pub(super) fn word_and_comment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (word, comment) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (!word.is_empty()).then_some((word, comment.trim()))
}

/// Refuses a comment that may be meant as a part of the address before it: the length of a network, its mask or
/// the end of a range.
pub(super) fn check_comment(comment: &str) -> Result<(), String> {
    let marked = comment.starts_with(['#', ';']);
    let continues = comment.starts_with(['/', '-', ',', '\u{2013}']);
    // Of a date or a number there is no doubt: it has no dots.
    let is_address = |word: &str| {
        parse_network(word).is_ok()
            || parse_host(word).is_err() && word.contains(['.', ':']) && is_numeric(word)
    };
    let leads_to_address = comment.split_whitespace().take(2).any(is_address);
    match !marked && (continues || leads_to_address) {
        true => Err(format!("{comment:?}: a comment that looks like an address; put # before it")),
        false => Ok(()),
    }
}

fn is_numeric(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_hexdigit() || "xX.:/".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_host_a_line_comments_and_repetitions_taken_off() {
        let text = "# web servers\r\nexample.org  the first\r\n\nhttps://a.example/x#y\n192.0.2.1:81\n\
                    example.org\n  2001:db8::1\n";
        let hosts = parse(text, None).expect("hosts");
        let expected = ["example.org", "https://a.example/x#y", "192.0.2.1:81", "2001:db8::1"];
        assert_eq!(hosts, expected);
    }

    #[test]
    fn an_error_names_the_first_invalid_line_by_number() {
        let error = parse("a.example\ngopher://b.example/\n", None).expect_err("none");
        assert!(error.starts_with("line 2: ") && error.contains("gopher"), "{error}");
        for c in ["\u{1b}", "\u{9b}", "\u{202e}", "\u{200b}", "\u{feff}"] {
            let error = parse(&format!("a.example\nhttp://b.example/{c}x\n"), None).expect_err(c);
            assert!(error.starts_with("line 2: ") && !error.contains(c), "{error}");
        }
        assert_eq!(parse("# nothing\n\n", None), Err("no hosts in it".to_owned()));
    }

    #[test]
    fn the_rest_of_a_network_is_no_comment() {
        for line in ["192.0.2.0 /30", "192.0.2.0 - 192.0.2.9", "192.0.2.0 192.0.2.9"] {
            let error = parse(&format!("a.example\n{line}\n"), None).expect_err(line);
            assert!(error.starts_with("line 2: "), "{error}");
        }
        assert!(parse("192.0.2.1 # at 192.0.2.9\nb.example see c.example\n", None).is_ok());
    }

    proptest! {
        #[test]
        fn any_text_gives_targets_or_an_error(text in "(\\PC{0,20}[\n\t #:/\\[\\]]){0,8}") {
            for host in parse(&text, None).unwrap_or_default() {
                prop_assert!(Target::parse(&host).is_ok() && !host.contains(char::is_whitespace));
            }
        }
    }
}
