//! Problems of a document, with their positions in the user's input.

use core::fmt;

/// A position in the user's input: the half of a [`Location`] that the parser knows.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Position {
    /// Unknown, as in JSON and for a value that the program makes.
    Unknown,
    /// At this byte of the file.
    Offset(usize),
    /// In the override with this index.
    Override(usize),
}

impl Position {
    /// The position as messages name it: file, line and column, or the argument of an override. `origin`
    /// alone for input without lines.
    pub fn place(self, origin: &str, text: Option<&str>, overrides: &[String]) -> String {
        match (self, text) {
            (Position::Offset(offset), Some(text)) => {
                let before = text.get(..offset).unwrap_or(text);
                let line = before.matches('\n').count() + 1;
                let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
                format!("{origin}:{line}:{column}")
            }
            (Position::Override(index), _) => {
                format!("--set {}", overrides.get(index).map_or("", String::as_str))
            }
            _ => origin.to_owned(),
        }
    }
}

/// The text of a problem, in its parts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Message {
    /// A value is there, but another was expected.
    Unexpected {
        /// The noun for the expected value.
        expected: String,
        /// The value that is there, and a hint if one is near.
        found: String,
    },
    /// Something is wrong, often missing, and a remedy is known.
    Wrong {
        /// The mistake, such as "missing".
        what: String,
        /// The noun for the remedy.
        expected: String,
    },
    /// Any other mistake.
    Other {
        /// The mistake.
        what: String,
        /// Its continuation, such as `; did you mean "policy"?`, or nothing.
        hint: String,
    },
}

impl From<String> for Message {
    fn from(what: String) -> Message {
        Message::Other { what, hint: String::new() }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Unexpected { expected, found } => {
                write!(f, "expected {expected}, found {found}")
            }
            Message::Wrong { what, expected } => write!(f, "{what}: expected {expected}"),
            Message::Other { what, hint } => write!(f, "{what}{hint}"),
        }
    }
}

/// The location of a value: its position, and the path to it through the document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// Its position in the input.
    pub position: Position,
    /// The dotted path of its key; empty for the whole document.
    pub key: String,
}

/// A problem before its position is turned into text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Diagnostic {
    pub location: Location,
    pub message: Message,
}

/// One problem of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// File, line and column; or the argument, for a value of `--set`.
    pub position: String,
    /// The dotted path of the key, as `--set` takes it; empty for an error of syntax.
    pub key: String,
    /// The error, and the expected value.
    pub message: Message,
}

/// All problems of a document. Displays one per line, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn new(
        origin: &str,
        text: Option<&str>,
        overrides: &[String],
        mut diagnostics: Vec<Diagnostic>,
    ) -> Problems {
        diagnostics.sort();
        // An error in options that several flows share is found once for each flow.
        diagnostics.dedup_by(|a, b| {
            let (here, there) = (&a.location, &b.location);
            a.message == b.message
                && here.position == there.position
                && (here.position != Position::Unknown || here.key == there.key)
        });
        let problems = diagnostics.into_iter().map(|diagnostic| Problem {
            position: diagnostic.location.position.place(origin, text, overrides),
            key: diagnostic.location.key,
            message: diagnostic.message,
        });
        Problems(problems.collect())
    }

    /// The problems, at least one.
    pub fn list(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.position)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        self.message.fmt(f)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl core::error::Error for Problems {}
