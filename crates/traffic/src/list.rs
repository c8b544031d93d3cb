//! Arrivals from a text: times and sizes.

use crate::text::{lines, number, pair, wrong};
use crate::{Arrival, TextError};
use windlass_base::Span;

/// The latest time, 10^9 s: 31 years. A [`Span`] holds eighteen times as much.
const MOST_SECONDS: f64 = 1e9;

/// Times and sizes of arrivals, in the order of the times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivalList {
    arrivals: Vec<Arrival>,
}

impl ArrivalList {
    /// Reads a list: a line has a time in seconds, at least 0, and a whole number of bytes, at least 1,
    /// separated by spaces or a comma. The times do not descend. Empty lines and lines that begin with
    /// `#` do not count.
    ///
    /// # Errors
    ///
    /// The first line that is wrong, or that there is none.
    pub fn parse(text: &str) -> Result<ArrivalList, TextError> {
        let mut arrivals: Vec<Arrival> = Vec::new();
        for (line_number, line) in lines(text) {
            let expected = "seconds and a number of bytes above 0";
            let arrival = arrival(line).ok_or_else(|| wrong(line_number, expected, line))?;
            if arrivals.last().is_some_and(|last| last.at > arrival.at) {
                return Err(TextError::Descends(line_number, "time"));
            }
            arrivals.push(arrival);
        }
        if arrivals.is_empty() {
            return Err(TextError::End("a line with seconds and a number of bytes"));
        }
        Ok(ArrivalList { arrivals })
    }

    /// The arrivals.
    pub fn arrivals(&self) -> &[Arrival] {
        &self.arrivals
    }
}

fn arrival(line: &str) -> Option<Arrival> {
    let (seconds, bytes) = pair(line)?;
    let at = Span::from_secs_f64(number(seconds, MOST_SECONDS)?);
    let bytes = bytes.parse().ok().filter(|bytes| *bytes > 0)?;
    Some(Arrival { at, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_separated_by_spaces_or_a_comma() {
        let list = ArrivalList::parse("# s bytes\r\n0,1\r\n 0.25 , 2\r\n1e1\t\t3").expect("a list");
        let found = list.arrivals().iter().map(|arrival| (arrival.at.as_nanos(), arrival.bytes));
        assert_eq!(found.collect::<Vec<_>>(), [(0, 1), (250_000_000, 2), (10_000_000_000, 3)]);
    }

    #[test]
    fn a_wrong_line_is_named() {
        let error = |text: &str| ArrivalList::parse(text).expect_err("no list").to_string();
        let expected = "expected seconds and a number of bytes above 0, found";
        for line in ["x 1", "1", "1 0", "1 -1", "-1 1", "1 1.5", "1 1 1", "nan 1", "inf 1", "2e9 1"]
        {
            assert_eq!(error(&format!("0 1\n\n{line}\n")), format!("line 3: {expected} {line:?}"));
        }
        assert_eq!(
            error("2 1\n# earlier\n1 1\n"),
            "line 3: expected a time no less than that of the line above"
        );
        assert_eq!(error("# none\n"), "expected a line with seconds and a number of bytes");
    }
}
