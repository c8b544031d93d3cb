//! The rules of a robots.txt for one crawler (RFC 9309).

use crate::topic::Report;
use percent_encoding::percent_decode_str;
use url::Url;

/// The rules that apply to this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    /// The file says nothing, or there is none.
    AllowAll,
    /// The file could not be read.
    DisallowAll,
    /// The longest pattern that a path matches decides.
    Of(Vec<Rule>),
}

/// A line Allow or Disallow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    permits: bool,
    /// The octets of the pattern as written, by which rules are weighed.
    len: usize,
    /// The decoded texts between its asterisks.
    parts: Vec<Vec<u8>>,
    /// It ends with a dollar sign: the path ends there, too.
    is_whole: bool,
}

impl Rules {
    /// The rules in the answer to the request for robots.txt.
    pub(super) fn of(report: &Report, user_agent: &str) -> Rules {
        let status = report.head.as_ref().map_or(0, |head| head.status);
        let text = report.body.as_ref().map_or(&[][..], |body| &body.begin);
        match status {
            200 => Rules::parse(text, user_agent),
            // RFC 9309 section 2.3.1.3: unavailable. 429 asks for fewer requests.
            400..=499 if status != 429 => Rules::AllowAll,
            // Section 2.3.1.4: unreachable. A redirect is not followed, so its rules are unknown.
            _ => Rules::DisallowAll,
        }
    }

    /// The rules of the groups for the product token of `user_agent`; if there are none, those of the groups for all.
    fn parse(text: &[u8], user_agent: &str) -> Rules {
        let text = String::from_utf8_lossy(text);
        let ours = token(user_agent);
        let (mut special, mut general) = (Vec::new(), Vec::new());
        let (mut has_special, mut in_special, mut in_general, mut in_rules) =
            (false, false, false, false);
        for (key, value) in text.trim_start_matches('\u{feff}').split(['\r', '\n']).filter_map(line)
        {
            if key.eq_ignore_ascii_case("user-agent") {
                // The first one after rules begins a group.
                if std::mem::take(&mut in_rules) {
                    (in_special, in_general) = (false, false);
                }
                in_general |= value == "*";
                in_special |= !ours.is_empty() && token(value).eq_ignore_ascii_case(ours);
                has_special |= in_special;
                continue;
            }
            let permits = key.eq_ignore_ascii_case("allow");
            if !permits && !key.eq_ignore_ascii_case("disallow") {
                continue;
            }
            in_rules = true;
            let rule = Rule::parse(permits, value);
            special.extend(rule.clone().filter(|_| in_special));
            general.extend(rule.filter(|_| in_general));
        }
        let rules = if has_special { special } else { general };
        if rules.is_empty() { Rules::AllowAll } else { Rules::Of(rules) }
    }

    /// Whether the object may be fetched.
    pub(super) fn permit(&self, url: &Url) -> bool {
        let rules = match self {
            Rules::AllowAll => return true,
            Rules::DisallowAll => return false,
            Rules::Of(rules) => rules,
        };
        let path: Vec<u8> = percent_decode_str(url.path()).collect();
        // Section 2.2.2: the most octets decide, and of equal rules the one that permits.
        let matching = rules.iter().filter(|rule| rule.matches(&path));
        matching.max_by_key(|rule| (rule.len, rule.permits)).is_none_or(|rule| rule.permits)
    }
}

impl Rule {
    /// A rule; `None` if its pattern is empty, which matches nothing.
    fn parse(permits: bool, pattern: &str) -> Option<Rule> {
        let (inner, is_whole) = match pattern.strip_suffix('$') {
            Some(inner) => (inner, true),
            None => (pattern, false),
        };
        let parts = inner.split('*').map(|part| percent_decode_str(part).collect());
        let len = pattern.len();
        (len > 0).then(|| Rule { permits, len, parts: parts.collect(), is_whole })
    }

    /// Whether the path matches. Each text is taken where it occurs first: that leaves most for the others.
    fn matches(&self, path: &[u8]) -> bool {
        let Some((first, others)) = self.parts.split_first() else { return false };
        let Some(mut rest) = path.strip_prefix(first.as_slice()) else { return false };
        let Some((last, inner)) = others.split_last() else {
            return !self.is_whole || rest.is_empty();
        };
        for part in inner {
            let Some(at) = find(rest, part) else { return false };
            rest = &rest[at + part.len()..];
        }
        if self.is_whole { rest.ends_with(last) } else { find(rest, last).is_some() }
    }
}

/// Where a text begins in another one.
fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    if text.is_empty() {
        return Some(0);
    }
    bytes.windows(text.len()).position(|window| window == text)
}

/// The key and the value of a line; `None` if it has none. A comment begins with #.
fn line(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split('#').next()?.split_once(':')?;
    Some((key.trim(), value.trim()))
}

/// The product token at the beginning of a name (RFC 9309 section 2.2.1).
fn token(name: &str) -> &str {
    let is_token = |c: char| c.is_ascii_alphabetic() || c == '-' || c == '_';
    let end = name.find(|c| !is_token(c)).unwrap_or(name.len());
    &name[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::USER_AGENT;
    use proptest::prelude::*;

    fn permits(text: &str, path: &str) -> bool {
        let url = Url::parse("http://a.example").and_then(|base| base.join(path)).expect("a URL");
        Rules::parse(text.as_bytes(), USER_AGENT).permit(&url)
    }

    #[test]
    fn the_groups_of_this_program_count_or_else_those_for_all() {
        let all = "User-agent: *\nDisallow: /a\n";
        assert!(!permits(all, "/a.iso") && permits(all, "/b.iso"));
        let ours = "User-Agent: other\nuser-agent: Windlass-Probe/9\r\nDisallow: /b # no\n\n";
        let both = format!("{all}{ours}User-agent: windlass-probe\nDisallow: /c");
        assert!(permits(&both, "/a.iso") && !permits(&both, "/b.iso") && !permits(&both, "/c"));
        assert!(permits("User-agent: windlass\nDisallow: /", "/a"), "another program");
        assert!(permits(&format!("{all}User-agent: windlass-probe\nDisallow:"), "/a"));
        let between = "User-agent: *\nCrawl-delay: 5\nSitemap: http://a.example/s\nDisallow: /a";
        assert!(!permits(between, "/a"));
        assert!(permits("Disallow: /", "/a"), "a rule of no group");
    }

    /// The examples of RFC 9309, section 5.2, and of section 2.2.3.
    #[test]
    fn the_longest_match_decides() {
        let text = "User-Agent: *\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif";
        assert!(permits(text, "/example/page/a") && !permits(text, "/example/page/disallowed.gif"));
        let text = "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/";
        assert!(!permits(text, "/a.gif") && permits(text, "/a.gif.txt"));
        assert!(!permits(text, "/example/x") && permits(text, "/publications/a.gif"));
        let text = "User-agent: *\nAllow: /this/*/exactly\nDisallow: /";
        assert!(permits(text, "/this/is/exactly/x") && !permits(text, "/this/exactly"));
        assert!(permits("User-agent: *\nDisallow: /a\nAllow: /a", "/a"), "of equal rules Allow");
    }

    #[test]
    fn encoded_paths_are_compared_decoded() {
        let text = "User-agent: *\nDisallow: /caf\u{e9}/\nDisallow: /%62ar\n";
        assert!(!permits(text, "/caf%C3%A9/x") && !permits(text, "/bar"));
    }

    #[test]
    fn without_a_file_all_is_permitted_and_with_an_unreadable_one_nothing() {
        let url = Url::parse("http://a.example/b").expect("a URL");
        let with = |status: u16| {
            let head = crate::http::Head { status, ..crate::http::Head::default() };
            let report = Report { head: Some(head), ..Report::new(crate::Ending::HeadRead) };
            Rules::of(&report, USER_AGENT).permit(&url)
        };
        let permitted = [200, 401, 404, 410, 301, 429, 500, 503].map(with);
        assert_eq!(permitted, [true, true, true, true, false, false, false, false]);
        assert!(!Rules::of(&Report::new(crate::Ending::Silent), USER_AGENT).permit(&url));
    }

    proptest! {
        /// A matcher by the definition, in exponential time.
        #[test]
        fn patterns_match_as_defined(pattern in "/[ab*]{0,6}[$]?", path in "/[ab]{0,8}") {
            fn matches(pattern: &[u8], path: &[u8]) -> bool {
                match pattern {
                    [] => true,
                    [b'$'] => path.is_empty(),
                    [b'*', rest @ ..] => (0..=path.len()).any(|at| matches(rest, &path[at..])),
                    [first, rest @ ..] => path.first() == Some(first) && matches(rest, &path[1..]),
                }
            }
            let rule = Rule::parse(true, &pattern).expect("a pattern");
            prop_assert_eq!(rule.matches(path.as_bytes()), matches(pattern.as_bytes(), path.as_bytes()));
        }

        #[test]
        fn any_file_is_read(bytes in prop::collection::vec(any::<u8>(), 0..400), path in "/.{0,40}") {
            let text = [b"User-agent: *\nDisallow: /", &bytes[..]].concat();
            if let Ok(url) = Url::parse("http://a.example").and_then(|base| base.join(&path)) {
                let _ = Rules::parse(&text, USER_AGENT).permit(&url);
            }
        }
    }
}
