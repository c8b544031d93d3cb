//! Problems of a document, with their locations in the user's input.

use core::fmt;

/// A location in the user's input.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// Not known: the input is JSON.
    Whole,
    /// At this byte of the file.
    Offset(usize),
    /// In the override with this index.
    Override(usize),
}

impl Location {
    /// The place as messages name it: file, line and column, or the argument of an override. `origin`
    /// alone for input without lines.
    pub fn place(self, origin: &str, text: Option<&str>, overrides: &[String]) -> String {
        match (self, text) {
            (Location::Offset(offset), Some(text)) => {
                let before = text.get(..offset).unwrap_or(text);
                let line = before.matches('\n').count() + 1;
                let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
                format!("{origin}:{line}:{column}")
            }
            (Location::Override(index), _) => {
                format!("--set {}", overrides.get(index).map_or("", String::as_str))
            }
            _ => origin.to_owned(),
        }
    }
}

/// A problem before its location is turned into text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Diagnostic {
    pub location: Location,
    /// Dotted path of the key; empty for an error of syntax.
    pub key: String,
    pub message: String,
}

/// One problem of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// File, line and column; or the argument, for a value of `--set`.
    pub place: String,
    /// The dotted path of the key, as `--set` takes it; empty for an error of syntax.
    pub key: String,
    /// The error, and the expected value.
    pub message: String,
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
            a.message == b.message
                && a.location == b.location
                && (a.location != Location::Whole || a.key == b.key)
        });
        let problems = diagnostics.into_iter().map(|diagnostic| Problem {
            place: diagnostic.location.place(origin, text, overrides),
            key: diagnostic.key,
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
        write!(f, "{}: ", self.place)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
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
