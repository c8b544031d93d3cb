//! The congestion controllers of other stacks, on Windlass's TCP engine.

mod flight;
mod initial;
mod quinn_rtt;
