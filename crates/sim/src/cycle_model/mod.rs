//! A stochastic model of New-ECN flows in steady state, which section 5.1 of Hamann 1999 leaves open.
//!
//! A flow's time is cut into cycles, from one reduction of its window to the next ([`flow`]). Flows
//! behind one RED queue are coupled by its average, which settles where they fill the link ([`link()`]).
//! Whether it settles there is a question of the linearised flows and queue with their delays
//! ([`Equilibrium::growth_per_s`]).
//!
//! Assumptions: each packet is marked independently of the others; no packet is lost; round-trip times
//! are constant; windows are above a few segments, so that fractions of a packet do not matter.

mod cycles;
mod link;
mod parameters;
mod red;
mod stability;

pub use cycles::{Flow, LinkFlow, flow};
pub use link::{Equilibrium, NoEquilibrium, link};
pub use parameters::Parameters;
pub use red::Red;
