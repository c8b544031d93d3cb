//! The messages of a test, as docs/reference/tou.md specifies them: one JSON value a line.

use crate::figures::Figures;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Read, Write};

/// The version of the protocol. Receivers ignore unknown keys; every other change needs a new version.
pub(crate) const VERSION: u32 = 1;
/// The largest number of connections of a test.
pub const STREAMS_MAX: u16 = 128;
/// The largest number of bytes of a line, including its end.
const LINE_MAX: usize = 1 << 17;
/// The longest time of a test: a day, in milliseconds.
const TIME_MAX_MS: u64 = 86_400_000;
/// The largest number of characters of a peer's text in a message to the user.
const PRINTABLE_MAX: usize = 200;

/// A message between the two ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Message {
    /// Client: the first line of the control connection.
    Test(Test),
    /// Server: it expects the connections of the test.
    Ready,
    /// Client: the first line of each other connection.
    Stream(StreamHead),
    /// Server: all connections have arrived.
    Start,
    /// Both: the figures of this end when its part is over.
    Result(Figures),
    /// Both: the test cannot begin, or has failed.
    Error(String),
}

/// The end that sends.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The client.
    Up,
    /// The server.
    Down,
}

impl Direction {
    /// Its name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Up => "up",
            Direction::Down => "down",
        }
    }
}

/// The end of a test.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// After this time, in milliseconds.
    TimeMs(u64),
    /// After this number of bytes over all connections.
    Bytes(u64),
}

/// The parameters of a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Test {
    pub(crate) version: u32,
    /// The client chooses it; its other connections name it.
    pub(crate) id: String,
    /// The end that sends.
    pub direction: Direction,
    /// The number of connections.
    pub streams: u16,
    /// The end of the test.
    pub limit: Limit,
    /// Time at the beginning that the final figures omit, in milliseconds. A test with a time limit
    /// lasts longer by it.
    #[serde(default)]
    pub omit_ms: u64,
    /// The sender's congestion controller.
    pub controller: String,
}

/// The first line of a connection of a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamHead {
    pub(crate) version: u32,
    /// [`Test::id`] of its test.
    pub(crate) id: String,
    pub(crate) index: u16,
}

/// Why there is no message.
#[derive(Debug)]
pub(crate) enum MessageError {
    Io(io::Error),
    /// The peer has ended its direction.
    End,
    /// The line is not a message, for this reason.
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

/// Reads a line, byte by byte, since payload may follow.
pub(crate) fn read(from: &mut impl Read) -> Result<Message, MessageError> {
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

/// Writes a message and returns the number of its bytes.
pub(crate) fn write(to: &mut impl Write, message: &Message) -> io::Result<usize> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    Ok(line.len())
}

/// The message of a line.
fn parse(line: &[u8]) -> Result<Message, String> {
    let message = serde_json::from_slice(line).map_err(|error| printable(&error.to_string()))?;
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
    /// A test with an id of its own.
    ///
    /// # Errors
    /// The parameter that is out of range, and its range.
    pub fn new(
        direction: Direction,
        streams: u16,
        limit: Limit,
        omit_ms: u64,
        controller: String,
    ) -> Result<Test, String> {
        let id = random_id();
        let test = Test { version: VERSION, id, direction, streams, limit, omit_ms, controller };
        test.check().map(|()| test)
    }

    fn check(&self) -> Result<(), String> {
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
        Ok(())
    }

    /// Refuses a congestion controller that is not among `names`.
    pub(crate) fn check_controller(&self, names: &[&str]) -> Result<(), MessageError> {
        if !names.contains(&self.controller.as_str()) {
            let name = printable(&self.controller);
            let why = format!("{name}: no controller, expected one of {}", names.join(", "));
            return Err(MessageError::Bad(why));
        }
        Ok(())
    }

    /// Bytes of the connection `index`; `None` without a limit in bytes. The first connections have one
    /// more if the bytes are not a multiple of the connections.
    pub(crate) fn share(&self, index: usize) -> Option<u64> {
        let Limit::Bytes(bytes) = self.limit else { return None };
        let streams = u64::from(self.streams);
        Some(bytes / streams + u64::from((index as u64) < bytes % streams))
    }
}

/// The keys of std's hash maps are the system's randomness.
fn random_id() -> String {
    let random = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", random(), random())
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

/// Text from the peer, safe for a terminal: without control characters, at most 200 characters.
pub(crate) fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(PRINTABLE_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::StreamFigures;
    use proptest::prelude::*;
    use windlass_tou::cc::NAMES;

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
            ("down", "sideways", "expected `up` or `down`"),
            ("test", "toast", "unknown variant"),
        ] {
            let line = test.replace(from, to);
            let error = parse(line.as_bytes()).expect_err(to);
            assert!(error.contains(why), "{error}");
        }
        let fast = parsed_test(test.replace("vegas", "fast").as_bytes());
        assert_eq!(parsed_test(test.as_bytes()).check_controller(&NAMES).ok(), Some(()));
        let error = fast.check_controller(&NAMES).expect_err("no such controller").to_string();
        assert!(
            error.starts_with("no message of a test: fast: no controller, expected"),
            "{error}"
        );
        let endless = std::io::repeat(b' ');
        assert!(matches!(read(&mut { endless }), Err(MessageError::Bad(_))));
        assert!(matches!(read(&mut &b"\"ready\""[..]), Err(MessageError::End)));
    }
}
