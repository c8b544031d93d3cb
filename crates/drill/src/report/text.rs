//! A script as text: one line, and for a failure both sides as a diff.

use super::Played;
use crate::run::{Divergence, Entry, Line, Run, Verdict};
use std::fmt::Write;
use windlass_base::Span;

/// How many lines before and after a divergence are shown.
const BEFORE: usize = 8;
const AFTER: usize = 3;

/// The verdict in one line, with its place and reason.
pub fn line(played: &Played) -> String {
    match played.reason() {
        None => format!("passed  {}", played.name),
        Some(reason) if played.verdict() == "failed" => {
            format!("FAILED  {}: {reason}", played.place())
        }
        Some(reason) => format!("{:7} {}: {reason}", played.verdict(), played.place()),
    }
}

/// A divergence as a diff between the events before and the packets after it; `None` if there is none.
pub fn divergence(played: &Played) -> Option<String> {
    let run = played.run.as_ref().ok()?;
    let Verdict::Failed(divergence) = &run.verdict else { return None };
    Some(diff(run, divergence))
}

fn diff(run: &Run, divergence: &Divergence) -> String {
    let mut text = String::new();
    let first = run.entries.len().saturating_sub(BEFORE);
    if first > 0 {
        text += "  ...\n";
    }
    let entries = |text: &mut String, entries: &[Entry]| {
        entries.iter().for_each(|entry| row(text, ' ', &seconds(entry.at), &entry.text));
    };
    entries(&mut text, &run.entries[first..]);
    sides(&mut text, '-', &divergence.expected);
    sides(&mut text, '+', &divergence.actual);
    entries(&mut text, &run.left[..run.left.len().min(AFTER)]);
    if run.left.len() > AFTER {
        text += "  ...\n";
    }
    text.truncate(text.trim_end().len());
    text
}

fn sides(text: &mut String, mark: char, lines: &[Line]) {
    lines.iter().for_each(|line| row(text, mark, &line.at, &line.text));
}

fn row(text: &mut String, mark: char, at: &str, what: &str) {
    // A string takes everything.
    let _ = writeln!(text, "{mark} {at:>10}  {what}");
}

fn seconds(at: Span) -> String {
    format!("{:.6}", at.as_secs_f64())
}
