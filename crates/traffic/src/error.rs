//! Settings that cannot work, and texts that are no table.

use std::fmt;

/// A setting that cannot work.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A fixed size or a bound of zero bytes.
    NoBytes,
    /// A least size above the greatest.
    Range,
    /// A mean, median or minimum that is not a number of bytes of at least 1.
    Bytes,
    /// A shape that is not above zero.
    Shape,
    /// A sigma that is not above zero.
    Sigma,
    /// A rate of arrivals that is not above zero.
    Rate,
    /// On and off times that are zero, or so short that hardly any of them has an arrival.
    OnOff,
    /// A shape of on and off times that has no mean, or hardly one.
    OnOffShape,
    /// Points of a distribution that do not ascend from a probability of 0 or more to 1.
    Points,
    /// A load that is not above zero.
    Load,
    /// Sizes without a mean, for a load.
    NoMean,
    /// Segments without payload.
    Segments,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConfigError::NoBytes => "expected a size of at least a byte",
            ConfigError::Range => "expected a greatest size above the least one",
            ConfigError::Bytes => "expected a mean, median or minimum of at least a byte",
            ConfigError::Shape => "shape: expected a number above 0",
            ConfigError::Sigma => "sigma: expected a number above 0",
            ConfigError::Rate => "expected a rate of arrivals above 0",
            ConfigError::OnOff => {
                "expected on and off times above zero, and at least an arrival in a thousand on \
                 times"
            }
            ConfigError::OnOffShape => {
                "shape: expected at least 1.05; up to 1, the times have no mean"
            }
            ConfigError::Points => {
                "expected points whose sizes and probabilities ascend, the last with probability 1"
            }
            ConfigError::Load => "load: expected a number above 0",
            ConfigError::NoMean => {
                "load: the sizes have no mean; expected a shape above 1, or a greatest size"
            }
            ConfigError::Segments => "expected segments of at least a byte",
        })
    }
}

impl std::error::Error for ConfigError {}

/// A text that is no list of arrivals or no distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextError {
    /// A line is something else: its number, what was expected, and its text.
    Line(usize, &'static str, String),
    /// A number is below that of the line above: the line's number, and the name of the number.
    Descends(usize, &'static str),
    /// The text has no line, or the wrong last one: what was expected.
    End(&'static str),
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TextError::Line(line, expected, text) => {
                write!(f, "line {line}: expected {expected}, found {text:?}")
            }
            TextError::Descends(line, what) => {
                write!(f, "line {line}: expected a {what} no less than that of the line above")
            }
            TextError::End(expected) => write!(f, "expected {expected}"),
        }
    }
}

impl std::error::Error for TextError {}
