//! Sets of disjoint ranges of stream positions.
/// A set of disjoint, sorted ranges.
#[derive(Clone, Debug, Default)]
pub struct RangeSet;
