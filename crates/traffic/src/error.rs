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
    /// A ladder of bitrates that is empty or does not ascend.
    Ladder,
    /// A video without segments, or a buffer that never holds what playback begins with.
    Buffer,
    /// A variation of sizes that is not from 0 to below 1.
    Variation,
    /// A level beyond the ladder, throughputs that do not count, or a cushion that is empty or reaches
    /// beyond the buffer.
    Rule,
    /// A number of frames per second that is not above 0 and up to 1000.
    Frames,
    /// Bitrates that do not begin at 0, or whose times do not ascend.
    Bitrate,
    /// Key frames that never come, or that are smaller than others.
    KeyFrames,
    /// Packets without bytes, too many of them, or a spread that is not from 0 to 1.
    Packets,
    /// A page without connections.
    Connections,
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
            ConfigError::Ladder => "ladder: expected bitrates, each above the one before",
            ConfigError::Buffer => {
                "expected at least a segment, and a buffer that holds it and all that playback \
                 begins with"
            }
            ConfigError::Variation => "variation: expected a number from 0 to below 1",
            ConfigError::Rule => {
                "expected a level of the ladder; a window and a safety factor above 0; or a \
                 cushion above zero that, with the reservoir and a segment, fits the buffer"
            }
            ConfigError::Frames => "expected frames per second above 0 and up to 1000",
            ConfigError::Bitrate => {
                "bitrate: expected steps that begin at 0, each later than the one before"
            }
            ConfigError::KeyFrames => {
                "expected a key frame every so many frames, from 1 to 1000 times as large"
            }
            ConfigError::Packets => {
                "expected packets of at least a byte, at most 10 million a second, and a spread from 0 \
                 to 1"
            }
            ConfigError::Connections => "connections: expected at least 1",
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
