//! Checks a configuration and the machine that is to run it, and changes nothing.

mod machine;

use crate::config::{Config, ConfigError, Source};
use ipnet::IpNet;
use serde::Serialize;
use std::time::Duration;
use windlass_keys::{Message, Problem};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Severity {
    /// The proxy does not start, or does not serve an interface.
    Error,
    /// The proxy starts, but may not do what the user means.
    Warning,
}

/// The part of the setup that a finding concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Subject {
    /// The options or the file.
    Configuration,
    /// This machine: its kernel, interfaces, files, and this user's rights.
    Machine,
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The part of the setup that it concerns.
    pub subject: Subject,
    /// The place: file, line and key, an interface, a path.
    #[serde(rename = "where")]
    pub place: String,
    /// The present state of that place.
    pub what: String,
    /// The expected state, or a remedy.
    pub expected: String,
}

impl Finding {
    /// A finding at `place`: its present state, and the expected one.
    pub fn new(
        severity: Severity,
        subject: Subject,
        place: &str,
        what: &str,
        expected: &str,
    ) -> Finding {
        let [place, what, expected] = [place, what, expected].map(str::to_owned);
        Finding { severity, subject, place, what, expected }
    }

    fn of_message(place: &str, message: &Message) -> Finding {
        let (what, expected) = match message {
            Message::Unexpected { expected, found } => (format!("found {found}"), expected.clone()),
            Message::Wrong { what, expected } => (what.clone(), expected.clone()),
            Message::Other { what, hint } => {
                (what.clone(), format!("a configuration without this{hint}"))
            }
        };
        Finding::new(Severity::Error, Subject::Configuration, place, &what, &expected)
    }
}

/// All findings about the configuration and the machine, errors first. The checks of the machine need
/// a configuration without errors.
pub fn check(source: &Source) -> Vec<Finding> {
    let mut findings = match source.config() {
        Ok(config) => {
            let mut findings = lists(&config);
            findings.extend(times(&config));
            findings.extend(machine::check(&config));
            findings
        }
        Err(error) => mistakes(&source.place(), &error),
    };
    findings.sort_by_key(|finding| finding.severity != Severity::Error);
    findings
}

fn mistakes(place: &str, error: &ConfigError) -> Vec<Finding> {
    match error {
        ConfigError::Io(path, error) => {
            let place = path.display().to_string();
            let (severity, subject) = (Severity::Error, Subject::Configuration);
            let expected = "a file of TOML that this user can read";
            vec![Finding::new(severity, subject, &place, &error.to_string(), expected)]
        }
        ConfigError::File(problems) => {
            let finding = |problem: &Problem| {
                let Problem { position, key, message } = problem;
                let place =
                    if key.is_empty() { position.clone() } else { format!("{position}: {key}") };
                Finding::of_message(&place, message)
            };
            problems.list().iter().map(finding).collect()
        }
        ConfigError::Whole(message) => vec![Finding::of_message(place, message)],
    }
}

/// Prefixes of `allow` without effect, since `deny` has them whole.
fn lists(config: &Config) -> Vec<Finding> {
    let (allow, deny) = (&config.lists.allow.networks, &config.lists.deny.networks);
    let denied = |network: &&IpNet| deny.iter().any(|deny| deny.contains(*network));
    let finding = |network: &IpNet| {
        let what = format!("{network} is in deny as a whole, which takes precedence");
        let expected = "a prefix with an address that deny leaves";
        Finding::new(Severity::Warning, Subject::Configuration, "allow", &what, expected)
    };
    allow.iter().filter(denied).map(finding).collect()
}

/// RFC 5382 section 5 (REQ-5): a device that forgets connections earlier breaks idle ones.
fn times(config: &Config) -> Vec<Finding> {
    const IDLE_MIN: Duration = Duration::from_secs(7_440);
    const CLOSING_MIN: Duration = Duration::from_secs(240);
    let timeouts = config.timeouts;
    let keys = [
        ("idle_timeout", timeouts.idle, IDLE_MIN),
        ("closing_timeout", timeouts.closing, CLOSING_MIN),
    ];
    let short = keys.into_iter().filter(|(_, time, least)| time < least);
    let finding = |(key, time, least): (&str, Duration, Duration)| {
        let [time, least] = [time, least].map(humantime::format_duration);
        let what = format!("{time}: connections idle for longer continue without ECN");
        let expected = format!("{least} or more (RFC 5382 section 5)");
        Finding::new(Severity::Warning, Subject::Configuration, key, &what, &expected)
    };
    short.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        let text = format!("schema = 1\nclient_side = [\"lan\"]\n{text}");
        Config::from_toml("f", &text).expect("sound")
    }

    #[test]
    fn a_message_is_what_was_found_and_what_was_expected() {
        let missing = "`schema = 1`, the version of the format";
        for (text, place, what, expected) in [
            ("schema = 1\nports = [\"x\"]", "f:2:10: ports.0", "found \"x\"", "a port such as 443"),
            ("pin = true", "f:1:1: schema", "missing", missing),
            ("schema = 2", "f:1:10: schema", "found 2", "1, the only version there is"),
            (
                "schema = 1\npolcy = 1",
                "f:2:1: polcy",
                "unknown key",
                "a configuration without this; did you mean \"policy\"?",
            ),
            ("schema = 1", "f", "no interface", "--client-side or --network-side"),
            (
                "schema = 1\nclient_side = [\"a\", \"a\"]",
                "f",
                "interface a is named twice",
                "a configuration without this",
            ),
        ] {
            let findings = mistakes("f", &Config::read("f", text).expect_err(text));
            let [finding] = &findings[..] else { panic!("one finding: {findings:?}") };
            assert_eq!((&*finding.place, &*finding.what), (place, what));
            assert!(finding.expected.starts_with(expected), "{finding:?}");
        }
    }

    #[test]
    fn a_prefix_that_is_denied_whole_is_found() {
        let findings =
            lists(&config("allow = [\"10.1.0.0/16\", \"10.0.0.0/8\"]\ndeny = [\"10.1.0.0/16\"]"));
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].what.starts_with("10.1.0.0/16 is in deny"), "{findings:?}");
    }

    #[test]
    fn times_below_the_rfc_are_found() {
        assert_eq!(times(&config("")), []);
        let findings = times(&config("idle_timeout = \"1h\"\nclosing_timeout = \"4m\""));
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].expected, "2h 4m or more (RFC 5382 section 5)");
    }
}
