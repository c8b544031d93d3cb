//! The protocol of the control socket: one JSON object a line, each with the version.
//!
//! A request is `{"version": 1, "command": "status"}`; the answer is a line with `result` or `error`.
//! `flows` sends a line with `flow` for each connection before that, and `hosts` one with `device` for
//! each device of served hosts.

use super::devices::{Device, EcnShare};
use crate::datapath::{Attachment, Features, Flow, Policy, ServedHost, Side};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Version of the requests and answers.
pub const VERSION: u32 = 1;
/// Largest request in bytes, line feed included.
pub(crate) const REQUEST_LEN_MAX: usize = 4096;

/// A request to the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The settings and state in force.
    Status,
    /// The counters.
    Stats,
    /// The connections in the table.
    Flows,
    /// The served hosts by device, and what their connections have of ECN.
    Hosts,
    /// Stop editing packets.
    Off,
    /// Resume after `off` or a drain.
    On,
    /// Stop immediately, or once all served connections have ended.
    Stop {
        /// Longest time to wait for connections, in seconds; `None` stops immediately.
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
    Hosts,
    Off,
    On,
    Stop,
}

impl Command {
    /// The line of the request, line feed included.
    pub fn line(self) -> String {
        let (command, drain_s) = match self {
            Command::Status => (Name::Status, None),
            Command::Stats => (Name::Stats, None),
            Command::Flows => (Name::Flows, None),
            Command::Hosts => (Name::Hosts, None),
            Command::Off => (Name::Off, None),
            Command::On => (Name::On, None),
            Command::Stop { drain_s } => (Name::Stop, drain_s),
        };
        format!("{}\n", json!(Request { version: VERSION, command, drain_s }))
    }

    /// Parses a line.
    ///
    /// # Errors
    /// The line is not a valid request. The message has one line.
    pub fn parse(line: &[u8]) -> Result<Command, String> {
        let value: Value =
            serde_json::from_slice(line).map_err(|error| format!("no request: {error}"))?;
        // Checked first, because another version may have other fields.
        match value.get("version").and_then(Value::as_u64) {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => {
                return Err(format!("version: expected {VERSION}, the only one, found {version}"));
            }
            None => return Err(format!("no request: expected an object with version {VERSION}")),
        }
        // The message may quote a key with any characters.
        let message = |error: serde_json::Error| error.to_string().replace(char::is_control, " ");
        let request = serde_json::from_value(value).map_err(message)?;
        let Request { command, drain_s, .. } = request;
        if drain_s.is_some() && command != Name::Stop {
            return Err("drain_s: only stop has it".into());
        }
        Ok(match command {
            Name::Status => Command::Status,
            Name::Stats => Command::Stats,
            Name::Flows => Command::Flows,
            Name::Hosts => Command::Hosts,
            Name::Off => Command::Off,
            Name::On => Command::On,
            Name::Stop => Command::Stop { drain_s },
        })
    }
}

/// One line of an answer.
#[derive(Debug, Serialize, Deserialize)]
pub struct Answer {
    /// [`VERSION`] of the daemon.
    pub version: u32,
    /// The content of the line.
    #[serde(flatten)]
    pub body: Body,
}

/// The content of a line of an answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// The last line of a success: the result.
    Result(Value),
    /// The last line of a failure: the reason.
    Error(String),
    /// One connection.
    Flow(Value),
    /// One device with its addresses.
    Device(Value),
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

    /// One device with its addresses.
    pub fn device(device: &Device) -> Answer {
        Answer::of(Body::Device(device_json(device)))
    }

    fn of(body: Body) -> Answer {
        Answer { version: VERSION, body }
    }

    /// The line as bytes, line feed included.
    pub fn line(&self) -> String {
        format!("{}\n", json!(self))
    }
}

/// The mode of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The proxy serves connections.
    On,
    /// The proxy edits nothing but keeps its table.
    Off,
    /// The proxy serves existing connections and takes on no new ones.
    Draining,
}

/// The settings and state in force.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Version of Windlass.
    pub windlass: &'static str,
    /// Process id of the daemon.
    pub pid: u32,
    /// Mode of the proxy.
    pub state: State,
    /// Start of this mode, in seconds since 1970.
    pub state_since_s: u64,
    /// Start of the daemon, in seconds since 1970.
    pub started_s: u64,
    /// How the proxy signals marks to served senders.
    pub policy: Policy,
    /// The interfaces of the configuration, as the kernel has them.
    pub interfaces: Vec<Interface>,
    /// Kernel features in use.
    pub features: Features,
    /// Connections in the table, by state.
    pub flows: BTreeMap<String, u64>,
    /// Connections in the table whose served hosts' new data get no ECT, by reason.
    pub withheld: BTreeMap<String, u64>,
    /// How many devices and of their connections have ECN.
    pub ecn: EcnShare,
    /// The counter of that name.
    pub losses_avoided: u64,
    /// The sizes of the tables.
    pub sizes: Sizes,
    /// The file of the configuration.
    pub config_file: Option<PathBuf>,
    /// Conditions that keep the proxy from working fully.
    pub warnings: Vec<String>,
}

/// Capacities of the tables.
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
    /// Name of the interface.
    pub name: String,
    /// The side that the interface faces.
    pub side: Side,
    /// The attachment of the programs; `None` if they are not attached.
    pub attached: Option<Attachment>,
    /// Why the programs are not attached.
    pub trouble: Option<String>,
}

/// The counters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stats {
    /// By name; docs/reference/ecn-proxy.md says what each counts.
    pub counters: BTreeMap<String, u64>,
    /// `bypassed`, `passed_over` and `ect_withdrawn` by reason.
    pub reasons: BTreeMap<String, BTreeMap<String, u64>>,
    /// Far hosts remembered, by what is known of their ECN.
    pub hosts: BTreeMap<String, u64>,
    /// Connections in the table, without those in their handshake.
    pub flows: u64,
}

/// A connection as JSON: its times in seconds.
fn flow_json(flow: &Flow) -> Value {
    let mut value = json!(flow);
    value["idle"] = json!(flow.idle.as_secs_f64());
    value["age"] = json!(flow.age.map(|age| age.as_secs_f64()));
    value
}

/// A device as JSON: its times in seconds.
fn device_json(device: &Device) -> Value {
    let mut value = json!(device);
    value["idle"] = json!(device.idle.as_secs_f64());
    value["age"] = json!(device.age.as_secs_f64());
    value["addresses"] = device.addresses.iter().map(host_json).collect();
    value
}

/// A served host as JSON: its times in seconds.
fn host_json(host: &ServedHost) -> Value {
    let mut value = json!(host);
    value["idle"] = json!(host.idle.as_secs_f64());
    value["age"] = json!(host.age.as_secs_f64());
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Command; 8] = [
        Command::Status,
        Command::Stats,
        Command::Flows,
        Command::Hosts,
        Command::Off,
        Command::On,
        Command::Stop { drain_s: None },
        Command::Stop { drain_s: Some(600) },
    ];

    #[test]
    fn requests_are_parsed() {
        for command in ALL {
            let line = command.line();
            assert_eq!(Command::parse(line.as_bytes()), Ok(command), "{line}");
            assert!(line.len() < REQUEST_LEN_MAX && line.ends_with('\n'), "{line}");
        }
    }

    #[test]
    fn a_bad_request_is_reported_in_one_line() {
        for (line, message) in [
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
            assert!(error.starts_with(message), "{line}: {error}");
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
            let message = |line: &[u8]| Command::parse(line).err().unwrap_or_default();
            prop_assert!(message(&line).lines().count() <= 1);
            // A sound request with something in its middle.
            let mut request = sound.line().into_bytes();
            let at = at.index(request.len());
            line.truncate(4);
            request.splice(at..at, line);
            prop_assert!(message(&request).lines().count() <= 1);
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
