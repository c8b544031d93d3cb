//! The messages of a test, as docs/reference/tou.md has them: JSON, one a line.

use super::figures::Figures;
use crate::registry::controller_names;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};

/// The version of the protocol. Unknown keys are skipped, anything else takes another version.
pub(super) const VERSION: u32 = 1;
/// Connections of a test at most.
pub(crate) const STREAMS_MAX: u16 = 128;
/// Bytes of a line at most, its end included.
const LINE_MAX: usize = 1 << 17;
/// A day, in milliseconds.
const TIME_MAX_MS: u64 = 86_400_000;
/// Characters of another's text that are shown.
const SHOWN_MAX: usize = 200;

/// A message between the two ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Message {
    /// Client: the first line of the control connection.
    Test(Test),
    /// Server: connections may come.
    Ready,
    /// Client: the first line of each other connection.
    Stream(StreamHead),
    /// Server: all connections are there.
    Start,
    /// Both: how it was, when this end's part is over.
    Result(Figures),
    /// Both: there will be no test, or no end of it.
    Error(String),
}

/// The direction of the data.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Direction {
    /// The client.
    Up,
    /// The server.
    Down,
}

impl Direction {
    pub(super) fn name(self) -> &'static str {
        match self {
            Direction::Up => "up",
            Direction::Down => "down",
        }
    }
}

/// How long.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Limit {
    TimeMs(u64),
    /// Over all connections.
    Bytes(u64),
}

/// The test that the client asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Test {
    pub(super) version: u32,
    /// Chosen by the client; its other connections name it.
    pub(super) id: String,
    pub(super) direction: Direction,
    pub(super) streams: u16,
    pub(super) limit: Limit,
    /// Time at the beginning that no figure covers. A test with a time limit lasts longer by it.
    #[serde(default)]
    pub(super) omit_ms: u64,
    /// The sender's congestion controller.
    pub(super) controller: String,
}

/// Which connection of which test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StreamHead {
    pub(super) version: u32,
    pub(super) id: String,
    pub(super) index: u16,
}

/// Why there is no message.
#[derive(Debug)]
pub(super) enum MessageError {
    Io(io::Error),
    /// The other end has ended.
    End,
    /// The line is no message, and why.
    Bad(String),
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MessageError::Io(error) => error.fmt(f),
            MessageError::End => f.write_str("ended early"),
            MessageError::Bad(why) => write!(f, "no message of a test: {why}"),
        }
    }
}

/// Reads a line, byte by byte: payload may follow.
pub(super) fn read(from: &mut impl Read) -> Result<Message, MessageError> {
    let mut line = Vec::new();
    loop {
        let mut byte = [0];
        match from.read(&mut byte) {
            Ok(0) => return Err(MessageError::End),
            Ok(_) if byte[0] == b'\n' => return parse(&line).map_err(MessageError::Bad),
            Ok(_) => line.push(byte[0]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(MessageError::Io(error)),
        }
        if line.len() >= LINE_MAX {
            return Err(MessageError::Bad(format!("a line of more than {LINE_MAX} bytes")));
        }
    }
}

/// Writes a line; how long it is.
pub(super) fn write(to: &mut impl Write, message: &Message) -> io::Result<usize> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    Ok(line.len())
}

/// The message of a line.
fn parse(line: &[u8]) -> Result<Message, String> {
    let message = serde_json::from_slice(line).map_err(|error| shown(&error.to_string()))?;
    match &message {
        Message::Test(test) => test.check()?,
        Message::Stream(head) => {
            check_version(head.version)?;
            check_id(&head.id)?;
        }
        Message::Result(figures) if figures.streams.len() > usize::from(STREAMS_MAX) => {
            return Err("more connections than a test can have".to_owned());
        }
        _ => {}
    }
    Ok(message)
}

impl Test {
    pub(super) fn check(&self) -> Result<(), String> {
        check_version(self.version)?;
        check_id(&self.id)?;
        if !(1..=STREAMS_MAX).contains(&self.streams) {
            return Err(format!("expected 1 to {STREAMS_MAX} streams, found {}", self.streams));
        }
        match self.limit {
            Limit::TimeMs(ms) if !(1..=TIME_MAX_MS).contains(&ms) => {
                return Err(format!("expected a time of 1 to {TIME_MAX_MS} ms, found {ms}"));
            }
            Limit::Bytes(0) => return Err("expected bytes above zero".to_owned()),
            _ => {}
        }
        if self.omit_ms > TIME_MAX_MS {
            return Err(format!(
                "expected to omit {TIME_MAX_MS} ms at most, found {}",
                self.omit_ms
            ));
        }
        let names = controller_names();
        if !names.contains(&self.controller.as_str()) {
            let name = shown(&self.controller);
            return Err(format!("{name}: no controller, expected one of {}", names.join(", ")));
        }
        Ok(())
    }

    /// Bytes of each connection, if they are limited; the first ones have one more if need be.
    pub(super) fn share(&self, index: usize) -> Option<u64> {
        let Limit::Bytes(bytes) = self.limit else { return None };
        let streams = u64::from(self.streams);
        Some(bytes / streams + u64::from((index as u64) < bytes % streams))
    }
}

fn check_version(version: u32) -> Result<(), String> {
    if version == VERSION {
        return Ok(());
    }
    Err(format!("version {version} of the protocol, expected {VERSION}"))
}

fn check_id(id: &str) -> Result<(), String> {
    let fits = (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if fits { Ok(()) } else { Err("expected an id of 1 to 64 letters and digits".to_owned()) }
}

/// Text from the other end, safe for a terminal: without control characters, at most 200 characters.
pub(super) fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(SHOWN_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::super::figures::StreamFigures;
    use super::*;
    use proptest::prelude::*;
    use windlass_tcp::cc::NAMES;

    fn line(message: &Message) -> Vec<u8> {
        let mut line = Vec::new();
        let len = write(&mut line, message).expect("memory");
        assert_eq!(len, line.len());
        line
    }

    fn limit() -> impl Strategy<Value = Limit> {
        prop_oneof![
            (1..=TIME_MAX_MS).prop_map(Limit::TimeMs),
            (1..=u64::MAX).prop_map(Limit::Bytes)
        ]
    }

    fn test() -> impl Strategy<Value = Test> {
        let direction = prop_oneof![Just(Direction::Up), Just(Direction::Down)];
        let controller = prop::sample::select(&NAMES[..]).prop_map(str::to_owned);
        let times = (limit(), 0..=TIME_MAX_MS);
        ("[a-zA-Z0-9]{1,64}", direction, 1..=STREAMS_MAX, times, controller).prop_map(
            |(id, direction, streams, (limit, omit_ms), controller)| Test {
                version: VERSION,
                id,
                direction,
                streams,
                limit,
                omit_ms,
                controller,
            },
        )
    }

    fn message() -> impl Strategy<Value = Message> {
        let figures = (any::<u64>(), any::<u64>(), any::<Option<u64>>()).prop_map(|(a, b, rtt)| {
            let stream = StreamFigures { bytes: a, rtt_us: rtt, ..StreamFigures::default() };
            Figures { bytes: b, streams: vec![stream; 3], ..Figures::default() }
        });
        prop_oneof![
            test().prop_map(Message::Test),
            ("[a-z0-9]{1,64}", any::<u16>()).prop_map(|(id, index)| Message::Stream(StreamHead {
                version: VERSION,
                id,
                index
            })),
            figures.prop_map(Message::Result),
            any::<String>().prop_map(Message::Error),
            Just(Message::Ready),
            Just(Message::Start),
        ]
    }

    proptest! {
        #[test]
        fn a_message_is_read_as_written_and_nothing_beyond(message in message()) {
            let mut bytes = line(&message);
            bytes.extend(b"payload");
            let mut rest = &bytes[..];
            prop_assert_eq!(read(&mut rest).expect("a message"), message);
            prop_assert_eq!(rest, b"payload");
        }

        #[test]
        fn any_bytes_are_a_message_or_an_error_of_one_short_line(
            message in message(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
            noise in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut changed = line(&message);
            for (at, byte) in changes {
                let at = at.index(changed.len());
                changed[at] = byte;
            }
            for bytes in [changed, noise] {
                match read(&mut &bytes[..]) {
                    // A message that was read can be written again.
                    Ok(message) => { line(&message); }
                    Err(fault) => {
                        let text = fault.to_string();
                        prop_assert!(!text.contains(char::is_control) && text.len() < 1000, "{}", text);
                    }
                }
            }
        }

        #[test]
        fn the_shares_of_all_connections_are_what_was_asked_for(
            streams in 1..=STREAMS_MAX, bytes in 1u64..,
        ) {
            let limit = Limit::Bytes(bytes);
            let test = Test { streams, limit, ..parsed_test(br#"{"test":{"version":1,"id":"a",
                "direction":"up","streams":1,"limit":{"bytes":1},"controller":"reno"}}"#) };
            let shares = (0..usize::from(streams)).map(|index| test.share(index).expect("limited"));
            prop_assert_eq!(shares.map(u128::from).sum::<u128>(), u128::from(bytes));
        }
    }

    fn parsed_test(line: &[u8]) -> Test {
        match parse(line) {
            Ok(Message::Test(test)) => test,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn bad_messages_are_refused_with_the_reason() {
        let test = r#"{"test":{"version":1,"id":"a1","direction":"down","streams":2,
            "limit":{"time_ms":5},"controller":"vegas","later":[1]}}"#;
        assert_eq!(parsed_test(test.as_bytes()).direction, Direction::Down);
        for (from, to, why) in [
            ("\"version\":1", "\"version\":2", "version 2 of the protocol, expected 1"),
            ("\"a1\"", "\"a\\u0007\"", "an id of"),
            ("\"streams\":2", "\"streams\":0", "1 to 128 streams"),
            ("\"streams\":2", "\"streams\":-1", "invalid value"),
            ("\"time_ms\":5", "\"time_ms\":0", "a time of"),
            ("\"time_ms\":5", "\"bytes\":0", "above zero"),
            ("vegas", "fast", "fast: no controller"),
            ("down", "sideways", "expected `up` or `down`"),
            ("test", "toast", "unknown variant"),
        ] {
            let line = test.replace(from, to);
            let error = parse(line.as_bytes()).expect_err(to);
            assert!(error.contains(why), "{error}");
        }
        let endless = std::io::repeat(b' ');
        assert!(matches!(read(&mut { endless }), Err(MessageError::Bad(_))));
        assert!(matches!(read(&mut &b"\"ready\""[..]), Err(MessageError::End)));
    }
}
