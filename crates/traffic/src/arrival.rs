//! One arrival.

use windlass_base::Span;

/// A transfer that begins.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it begins, since the source began.
    pub at: Span,
    /// How many bytes it has, at least 1.
    pub bytes: u64,
}
