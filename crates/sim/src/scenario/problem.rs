//! What is wrong with a scenario, told so that the user finds the place.

use core::fmt;

/// Where something stands in what the user wrote.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// Nowhere in particular: JSON.
    Whole,
    /// At this byte of the file.
    Offset(usize),
    /// In the override with this index.
    Override(usize),
}

/// A problem before its place is turned into words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fault {
    pub place: Place,
    /// Dotted path; empty for a fault of syntax.
    pub key: String,
    pub message: String,
}

/// One thing that is wrong with a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// File, line and column, or the argument at fault.
    pub place: String,
    /// The dotted path of the key, as `--set` takes it; empty where the syntax itself is wrong.
    pub key: String,
    /// What is wrong, and what was expected.
    pub message: String,
}

/// Everything that is wrong with a scenario: one problem a line, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    pub(super) fn new(
        origin: &str,
        text: Option<&str>,
        overrides: &[String],
        mut faults: Vec<Fault>,
    ) -> Problems {
        faults.sort();
        // A fault in what several flows share is found once for each of them.
        faults.dedup_by(|a, b| {
            a.message == b.message
                && a.place == b.place
                && (a.place != Place::Whole || a.key == b.key)
        });
        let problems = faults.into_iter().map(|fault| Problem {
            place: locate(origin, text, overrides, fault.place),
            key: fault.key,
            message: fault.message,
        });
        Problems(problems.collect())
    }

    /// The problems, at least one.
    pub fn list(&self) -> &[Problem] {
        &self.0
    }
}

fn locate(origin: &str, text: Option<&str>, overrides: &[String], place: Place) -> String {
    match (place, text) {
        (Place::Offset(offset), Some(text)) => {
            let before = text.get(..offset).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
            format!("{origin}:{line}:{column}")
        }
        (Place::Override(index), _) => {
            format!("--set {}", overrides.get(index).map_or("", String::as_str))
        }
        _ => origin.to_owned(),
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
