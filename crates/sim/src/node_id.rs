//! How nodes are named, by packets and by scenarios.

/// An index into [`Scenario::nodes`](crate::Scenario::nodes).
pub type NodeId = usize;
