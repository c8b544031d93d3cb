//! The tests: how the first ACKs of a connection are sent.

use serde::Serialize;
use std::fmt;
use windlass_base::Span;

/// The most ACKs per segment, as in Normann 2011, section 3.4.3.
pub const PARTS_MAX: u16 = 1024;

/// Above this many ACKs per segment the user has to confirm the number.
pub const PARTS_POLITE: u16 = 64;

/// How the first ACKs of a connection are sent.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(into = "String")]
pub enum Test {
    /// This many ascending ACKs for each of the first segments; one is the usual ACK.
    Split(u16),
    /// One ACK for all of the first segments: a stretch ACK.
    Stretch,
}

impl Test {
    /// Tests A to E (Normann 2011, Table 4.1).
    pub(crate) const OF_THE_PAPER: [Test; 5] =
        [Test::Split(1), Test::Split(2), Test::Split(4), Test::Split(8), Test::Split(12)];

    /// Test A, one ACK per segment, with which all others are compared.
    pub const BASELINE: Test = Test::Split(1);

    /// The letter A to E or S; `None` for other splits.
    pub(crate) fn letter(self) -> Option<char> {
        match self {
            Test::Split(1) => Some('A'),
            Test::Split(2) => Some('B'),
            Test::Split(4) => Some('C'),
            Test::Split(8) => Some('D'),
            Test::Split(12) => Some('E'),
            Test::Split(_) => None,
            Test::Stretch => Some('S'),
        }
    }

    /// The test of a letter, in either case.
    pub fn by_letter(letter: char) -> Option<Test> {
        let letter = letter.to_ascii_uppercase();
        let mut all = Test::OF_THE_PAPER.into_iter().chain([Test::Stretch]);
        all.find(|test| test.letter() == Some(letter))
    }

    /// ACKs per segment.
    pub fn parts(self) -> u16 {
        match self {
            Test::Split(parts) => parts,
            Test::Stretch => 1,
        }
    }

    /// The ACK offsets for segments that end at `segment_ends`; the first segment begins at offset 0. They
    /// ascend without repetition, so a segment has at most one ACK per byte.
    pub fn acks(self, segment_ends: &[u64]) -> Vec<u64> {
        let mut acks = Vec::new();
        let mut start = 0;
        for end in segment_ends.iter().copied() {
            let len = end.saturating_sub(start);
            let parts = u64::from(self.parts()).min(len);
            acks.extend((1..=parts).map(|part| start + len * part / parts));
            start = start.max(end);
        }
        match self {
            Test::Split(_) => acks,
            Test::Stretch => acks.last().copied().into_iter().collect(),
        }
    }
}

/// The task of a connection that runs a test.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SplitOrder {
    /// The test.
    pub test: Test,
    /// How many of the first segments are acknowledged.
    pub acks: u16,
    /// How long to observe the server after the ACKs.
    pub timeout: Span,
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.letter(), self) {
            (Some(letter), _) => write!(f, "{letter}"),
            (None, Test::Split(parts)) => write!(f, "1:{parts}"),
            (None, Test::Stretch) => f.write_str("S"),
        }
    }
}

impl From<Test> for String {
    fn from(test: Test) -> String {
        test.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_papers_letters_and_splits() {
        let letters: String = Test::OF_THE_PAPER.iter().map(|test| test.to_string()).collect();
        assert_eq!(letters, "ABCDE");
        assert_eq!(Test::by_letter('e'), Some(Test::Split(12)));
        assert_eq!(Test::by_letter('S'), Some(Test::Stretch));
        assert_eq!((Test::by_letter('F'), Test::Split(16).to_string()), (None, "1:16".into()));
    }

    #[test]
    fn a_segment_in_four_ascends_to_its_end() {
        assert_eq!(Test::Split(4).acks(&[100, 200]), [25, 50, 75, 100, 125, 150, 175, 200]);
        assert_eq!(Test::Split(1).acks(&[100, 200]), [100, 200]);
        assert_eq!(Test::Stretch.acks(&[100, 200]), [200]);
        assert_eq!(Test::Stretch.acks(&[]), [0; 0]);
    }

    proptest! {
        #[test]
        fn acks_ascend_and_are_no_more_than_there_are_bytes(
            lens in prop::collection::vec(1u64..2000, 1..5), parts in 1u16..=PARTS_MAX
        ) {
            let ends: Vec<u64> =
                lens.iter().scan(0, |end, len| { *end += len; Some(*end) }).collect();
            let acks = Test::Split(parts).acks(&ends);
            prop_assert!(acks.is_sorted_by(|a, b| a < b) && acks[0] > 0);
            prop_assert!(ends.iter().all(|end| acks.contains(end)));
            let expected: u64 = lens.iter().map(|len| u64::from(parts).min(*len)).sum();
            prop_assert_eq!(acks.len() as u64, expected);
        }
    }
}
