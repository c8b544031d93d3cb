//! What is asked and answered over the control socket: a JSON object a line, each with the version.
//!
//! A request is `{"version": 1, "command": "status"}`; the answer is a line with `result` or `error`.
//! `flows` sends a line with `flow` for each connection before that.

use crate::datapath::{Attachment, Features, Flow, Policy, Side};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The version of the requests and of the answers.
pub const VERSION: u32 = 1;
/// The longest request in bytes, its line feed included.
pub const REQUEST_LEN_MAX: usize = 4096;

/// What the daemon can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// What is in force.
    Status,
    /// The counters.
    Stats,
    /// The connections in the table.
    Flows,
    /// Let everything pass untouched.
    Off,
    /// Serve again: the end of `off`, and of a drain.
    On,
    /// End, at once, or when the connections under way have ended and at the latest after so many
    /// seconds.
    Stop {
        /// `None`: at once.
        drain_s: Option<u64>,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    version: u32,
    command: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    drain_s: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Name {
    Status,
    Stats,
    Flows,
    Off,
    On,
    Stop,
}

impl Command {
    /// The line that asks for it, with its line feed.
    pub fn line(self) -> String {
        let (command, drain_s) = match self {
            Command::Status => (Name::Status, None),
            Command::Stats => (Name::Stats, None),
            Command::Flows => (Name::Flows, None),
            Command::Off => (Name::Off, None),
            Command::On => (Name::On, None),
            Command::Stop { drain_s } => (Name::Stop, drain_s),
        };
        format!("{}\n", json!(Request { version: VERSION, command, drain_s }))
    }

    /// Reads a line.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in one line.
    pub fn parse(line: &[u8]) -> Result<Command, String> {
        let value: Value =
            serde_json::from_slice(line).map_err(|error| format!("no request: {error}"))?;
        // Before the rest, of which another version may know more.
        match value.get("version").and_then(Value::as_u64) {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => {
                return Err(format!("version: expected {VERSION}, the only one, found {version}"));
            }
            None => return Err(format!("no request: expected an object with version {VERSION}")),
        }
        // It may quote a key, in which everything can be.
        let told = |error: serde_json::Error| error.to_string().replace(char::is_control, " ");
        let request = serde_json::from_value(value).map_err(told)?;
        let Request { command, drain_s, .. } = request;
        if drain_s.is_some() && command != Name::Stop {
            return Err("drain_s: only stop has it".into());
        }
        Ok(match command {
            Name::Status => Command::Status,
            Name::Stats => Command::Stats,
            Name::Flows => Command::Flows,
            Name::Off => Command::Off,
            Name::On => Command::On,
            Name::Stop => Command::Stop { drain_s },
        })
    }
}

/// A line of an answer.
#[derive(Debug, Serialize, Deserialize)]
pub struct Answer {
    /// [`VERSION`] of who answers.
    pub version: u32,
    /// The rest.
    #[serde(flatten)]
    pub body: Body,
}

/// What a line of an answer says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// The last line: it is done, and this is what was asked for.
    Result(Value),
    /// The last line: it is not.
    Error(String),
    /// One connection.
    Flow(Value),
}

impl Answer {
    /// The last line of a success.
    pub fn result(result: &impl Serialize) -> Answer {
        Answer::of(Body::Result(json!(result)))
    }

    /// The last line of a failure.
    pub fn error(message: impl Into<String>) -> Answer {
        Answer::of(Body::Error(message.into()))
    }

    /// One connection.
    pub fn flow(flow: &Flow) -> Answer {
        Answer::of(Body::Flow(flow_json(flow)))
    }

    fn of(body: Body) -> Answer {
        Answer { version: VERSION, body }
    }

    /// With its line feed.
    pub fn line(&self) -> String {
        format!("{}\n", json!(self))
    }
}

/// What the proxy does at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It serves.
    On,
    /// It lets everything pass; the table stays.
    Off,
    /// It serves what is under way and takes nothing new.
    Draining,
}

/// What is in force.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Of this Windlass.
    pub windlass: &'static str,
    /// The daemon's process.
    pub pid: u32,
    /// What it does.
    pub state: State,
    /// Since when, in seconds since 1970.
    pub state_since_s: u64,
    /// When the daemon was started, likewise.
    pub started_s: u64,
    /// How served senders are told.
    pub policy: Policy,
    /// The interfaces of the configuration, as the kernel has them.
    pub interfaces: Vec<Interface>,
    /// What of this kernel is in use.
    pub features: Features,
    /// Connections in the table, by state.
    pub flows: BTreeMap<String, u64>,
    /// The sizes of the tables.
    pub sizes: Sizes,
    /// The file of the configuration.
    pub config_file: Option<PathBuf>,
    /// What keeps the proxy from working as it should.
    pub warnings: Vec<String>,
}

/// The room in the tables.
#[derive(Clone, Copy, Debug, Serialize)]
#[expect(missing_docs, reason = "as in Config")]
pub struct Sizes {
    pub flows_max: u32,
    pub handshakes_max: u32,
    pub hosts_max: u32,
}

/// An interface of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Whom it is to face.
    pub side: Side,
    /// How the programs stand there; `None`: they do not.
    pub attached: Option<Attachment>,
    /// Why they do not.
    pub trouble: Option<String>,
}

/// The counters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stats {
    /// By name; docs/reference/ecn-proxy.md says what each counts.
    pub counters: BTreeMap<String, u64>,
    /// What of `bypassed`, `passed_over` and `ect_withdrawn` had which reason.
    pub reasons: BTreeMap<String, BTreeMap<String, u64>>,
    /// Far hosts remembered, by what is known of their ECN.
    pub hosts: BTreeMap<String, u64>,
    /// Connections in the table, those in their handshake not among them.
    pub flows: u64,
}

/// A connection as JSON: its times in seconds.
fn flow_json(flow: &Flow) -> Value {
    let mut value = json!(flow);
    value["idle"] = json!(flow.idle.as_secs_f64());
    value["age"] = json!(flow.age.map(|age| age.as_secs_f64()));
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Command; 7] = [
        Command::Status,
        Command::Stats,
        Command::Flows,
        Command::Off,
        Command::On,
        Command::Stop { drain_s: None },
        Command::Stop { drain_s: Some(600) },
    ];

    #[test]
    fn what_is_asked_is_understood() {
        for command in ALL {
            let line = command.line();
            assert_eq!(Command::parse(line.as_bytes()), Ok(command), "{line}");
            assert!(line.len() < REQUEST_LEN_MAX && line.ends_with('\n'), "{line}");
        }
    }

    #[test]
    fn a_bad_request_is_told_in_one_line() {
        for (line, told) in [
            ("", "no request: EOF"),
            ("status", "no request: expected value"),
            ("[]", "no request: expected an object with version 1"),
            ("{}", "no request: expected an object with version 1"),
            (r#"{"version":2,"command":"fly"}"#, "version: expected 1, the only one, found 2"),
            (r#"{"version":1}"#, "missing field `command`"),
            (r#"{"version":1,"command":"fly"}"#, "unknown variant `fly`, expected one of"),
            (r#"{"version":1,"command":"on","x":1}"#, "unknown field `x`"),
            (r#"{"version":1,"com\nmand":"on"}"#, "unknown field `com mand`"),
            (r#"{"version":1,"command":"on","drain_s":1}"#, "drain_s: only stop has it"),
            (r#"{"version":1,"command":"stop","drain_s":-1}"#, "invalid value: integer `-1`"),
            (r#"{"version":1,"command":"stop"} x"#, "no request: trailing characters"),
            (&"[".repeat(4000), "no request: recursion limit exceeded"),
        ] {
            let error = Command::parse(line.as_bytes()).expect_err(line);
            assert!(error.starts_with(told), "{line}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }

    proptest! {
        /// Whatever comes, it is a command or a message of one line.
        #[test]
        fn no_bytes_are_too_strange(
            mut line in prop::collection::vec(any::<u8>(), 0..200),
            sound in prop::sample::select(&ALL[..]),
            at in any::<prop::sample::Index>(),
        ) {
            let told = |line: &[u8]| Command::parse(line).err().unwrap_or_default();
            prop_assert!(told(&line).lines().count() <= 1);
            // A sound request with something in its middle.
            let mut request = sound.line().into_bytes();
            let at = at.index(request.len());
            line.truncate(4);
            request.splice(at..at, line);
            prop_assert!(told(&request).lines().count() <= 1);
        }
    }

    #[test]
    fn an_answer_says_its_version_and_is_one_line() {
        let line = Answer::error("no\nway").line();
        assert_eq!(line, "{\"error\":\"no\\nway\",\"version\":1}\n");
        let answer: Answer = serde_json::from_str(&line).expect("JSON");
        assert!(matches!(answer.body, Body::Error(text) if text == "no\nway"));
    }
}
