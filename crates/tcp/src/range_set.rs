//! Sets of disjoint ranges of stream positions: the data that a receiver holds out of order, and
//! the data that a sender knows to be SACKed.

use alloc::vec::Vec;
use core::ops::Range;

/// A set of positions, kept as disjoint, non-adjacent, ascending ranges.
///
/// A set holds at most [`RangeSet::MAX_RANGES`] ranges, whatever a peer sends. An insertion that
/// would need one more is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet {
    ranges: Vec<Range<u64>>,
}

impl RangeSet {
    /// The largest number of ranges in a set. It bounds the memory to 16 KiB and far exceeds the
    /// number of holes in a usual window.
    pub(crate) const MAX_RANGES: usize = 1024;

    /// The empty set; allocates nothing.
    pub const fn new() -> RangeSet {
        RangeSet { ranges: Vec::new() }
    }

    /// Adds `range`; returns the bytes that were not in the set before, or `None` if that would
    /// take more than [`RangeSet::MAX_RANGES`] ranges.
    pub fn insert(&mut self, range: Range<u64>) -> Option<u64> {
        if range.is_empty() {
            return Some(0);
        }
        // Touching ranges merge, so both searches take equality as contact.
        let first = self.ranges.partition_point(|r| r.end < range.start);
        let last = self.ranges.partition_point(|r| r.start <= range.end);
        if first == last {
            if self.ranges.len() == Self::MAX_RANGES {
                return None;
            }
            let added = range.end - range.start;
            self.ranges.insert(first, range);
            return Some(added);
        }
        let held: u64 = self.ranges[first..last].iter().map(|r| r.end - r.start).sum();
        let start = range.start.min(self.ranges[first].start);
        let end = range.end.max(self.ranges[last - 1].end);
        // The first of the ranges in contact takes the place of all.
        self.ranges[first] = start..end;
        self.ranges.drain(first + 1..last);
        Some(end - start - held)
    }

    /// Removes every position below `position`.
    pub fn remove_below(&mut self, position: u64) {
        if self.ranges.first().is_none_or(|r| r.start >= position) {
            return;
        }
        let gone = self.ranges.partition_point(|r| r.end <= position);
        self.ranges.drain(..gone);
        if let Some(first) = self.ranges.first_mut() {
            first.start = first.start.max(position);
        }
    }

    /// Removes `range`; returns the number of positions removed. If the set is full and `range`
    /// splits one of its ranges, the part behind `range` is removed as well.
    pub fn remove(&mut self, range: Range<u64>) -> u64 {
        let first = self.ranges.partition_point(|r| r.end <= range.start);
        let last = self.ranges.partition_point(|r| r.start < range.end);
        if range.is_empty() || first >= last {
            return 0;
        }
        let held: u64 = self.ranges[first..last].iter().map(|r| r.end - r.start).sum();
        let before = self.ranges[first].start..range.start;
        let after = range.end..self.ranges[last - 1].end;
        // A hole inside of one range makes two.
        let room = self.ranges.len() < Self::MAX_RANGES || last - first > 1;
        let after = if room || before.is_empty() { after } else { 0..0 };
        let kept = [before, after].into_iter().filter(|r| !r.is_empty());
        let kept_bytes: u64 = kept.clone().map(|r| r.end - r.start).sum();
        self.ranges.splice(first..last, kept);
        held - kept_bytes
    }

    /// The parts of `window` that are not in the set, ascending.
    pub fn gaps(&self, window: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let from = self.ranges.partition_point(|r| r.end <= window.start);
        let inside = self.ranges[from..].iter().take_while(move |r| r.start < window.end);
        // Each gap lies between the end of one range and the start of the next.
        let ends = inside.clone().map(|r| r.end);
        let starts = inside.map(|r| r.start).chain([window.end]);
        core::iter::once(window.start)
            .chain(ends)
            .zip(starts)
            .map(|(start, end)| start..end)
            .filter(|gap| !gap.is_empty())
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }

    /// The range that holds `position`.
    pub fn range_at(&self, position: u64) -> Option<Range<u64>> {
        let index = self.ranges.partition_point(|r| r.end <= position);
        self.ranges.get(index).filter(|r| r.start <= position).cloned()
    }

    /// The start of the first range that begins at or after `position`.
    pub(crate) fn next_start(&self, position: u64) -> Option<u64> {
        let index = self.ranges.partition_point(|r| r.start < position);
        self.ranges.get(index).map(|r| r.start)
    }

    /// How many positions of `window` are in the set.
    pub fn covered(&self, window: Range<u64>) -> u64 {
        let from = self.ranges.partition_point(|r| r.end <= window.start);
        self.ranges[from..]
            .iter()
            .take_while(|r| r.start < window.end)
            .map(|r| r.end.min(window.end) - r.start.max(window.start))
            .sum()
    }

    /// True if all of `range` is in the set.
    pub fn contains(&self, range: &Range<u64>) -> bool {
        range.is_empty() || self.range_at(range.start).is_some_and(|r| r.end >= range.end)
    }

    /// The position after the highest one in the set.
    pub fn end(&self) -> Option<u64> {
        self.ranges.last().map(|r| r.end)
    }

    /// The ranges, ascending.
    pub fn as_slice(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// True for the empty set.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Op {
        Insert(u64, u64),
        Remove(u64, u64),
        RemoveBelow(u64),
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            4 => (0u64..200, 0u64..20).prop_map(|(at, len)| Op::Insert(at, at + len)),
            1 => (0u64..200, 0u64..40).prop_map(|(at, len)| Op::Remove(at, at + len)),
            1 => (0u64..200).prop_map(Op::RemoveBelow),
        ]
    }

    proptest! {
        /// Against a set of single positions.
        #[test]
        fn behaves_as_a_set(ops in proptest::collection::vec(op(), 0..60), probe in 0u64..220) {
            let (mut set, mut model) = (RangeSet::new(), BTreeSet::new());
            for op in ops {
                match op {
                    Op::Insert(start, end) => {
                        let before = model.len();
                        model.extend(start..end);
                        prop_assert_eq!(set.insert(start..end), Some((model.len() - before) as u64));
                    }
                    Op::Remove(start, end) => {
                        let before = model.len();
                        model.retain(|p| !(start..end).contains(p));
                        prop_assert_eq!(set.remove(start..end), (before - model.len()) as u64);
                    }
                    Op::RemoveBelow(position) => {
                        set.remove_below(position);
                        model.retain(|p| *p >= position);
                    }
                }
                prop_assert!(set.as_slice().windows(2).all(|w| w[0].end < w[1].start));
                prop_assert!(set.as_slice().iter().all(|r| !r.is_empty()));
            }
            let listed: BTreeSet<u64> = set.as_slice().iter().cloned().flatten().collect();
            prop_assert_eq!(&listed, &model);
            prop_assert_eq!(set.range_at(probe).is_some(), model.contains(&probe));
            prop_assert_eq!(set.covered(50..probe.max(50)), model.range(50..probe.max(50)).count() as u64);
            prop_assert_eq!(set.end(), model.last().map(|p| p + 1));
            let missing: BTreeSet<u64> = set.gaps(50..probe.max(50)).flatten().collect();
            prop_assert_eq!(missing, (50..probe.max(50)).filter(|p| !model.contains(p)).collect());
        }
    }

    #[test]
    fn a_hostile_peer_cannot_make_it_grow_without_bound() {
        let mut set = RangeSet::new();
        for i in 0..2 * RangeSet::MAX_RANGES as u64 {
            set.insert(3 * i..3 * i + 1);
        }
        assert_eq!(set.as_slice().len(), RangeSet::MAX_RANGES);
        assert_eq!(set.insert(9000..9001), None);
        assert_eq!(set.insert(0..9), Some(6), "what merges is still taken");
        for i in 0..3 {
            set.insert(9000 + 2 * i..9001 + 2 * i);
        }
        assert_eq!(set.as_slice().len(), RangeSet::MAX_RANGES);
        assert_eq!(set.remove(3..4), 7, "two ranges would be left of one");
    }
}
