//! The file of hosts.

use crate::dialogue::Scheme;
use crate::target::Target;
use std::collections::BTreeSet;

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
        let Some(word) = line.split_whitespace().next() else { continue };
        if word.starts_with('#') {
            continue;
        }
        let wrong = |why: String| format!("line {}: {why}", index + 1);
        // They go to a terminal and into a table.
        if word.chars().any(char::is_control) {
            return Err(wrong("a control character".to_owned()));
        }
        Target::parse_as(word, scheme).map_err(wrong)?;
        if known.insert(word) {
            hosts.push(word.to_owned());
        }
    }
    if hosts.is_empty() { Err("no hosts in it".to_owned()) } else { Ok(hosts) }
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
        assert!(parse("a.example\nb\u{1b}.example\n", None).is_err());
        assert_eq!(parse("# nothing\n\n", None), Err("no hosts in it".to_owned()));
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
