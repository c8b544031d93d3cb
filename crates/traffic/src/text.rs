//! Tables in texts: two numbers a line.

use crate::TextError;

/// The lines of a table with their numbers from 1 on, without comments and empty lines.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The two fields of a line, separated by a comma or by spaces.
pub(crate) fn pair(line: &str) -> Option<(&str, &str)> {
    let (left, right) = line.split_once(|c: char| c == ',' || c.is_whitespace())?;
    let right = right.trim_start();
    Some((left, right.strip_prefix(',').map_or(right, str::trim_start)))
}

/// A number that is not negative and not above `most`.
pub(crate) fn number(field: &str, most: f64) -> Option<f64> {
    field.parse().ok().filter(|number| (0.0..=most).contains(number))
}

pub(crate) fn wrong(number: usize, expected: &'static str, line: &str) -> TextError {
    TextError::Line(number, expected, line.chars().take(30).collect())
}
