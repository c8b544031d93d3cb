//! A stochastic model of New-ECN flows in steady state, which section 5.1 of Hamann 1999 leaves open.
//!
//! A flow's time is cut into cycles, from one reduction of its window to the next ([`flow`]). Flows
//! behind one RED queue are coupled by its average, which settles where they fill the link ([`link`]).
//! Whether it settles there is a question of the linearised flows and queue with their delays
//! ([`Equilibrium::growth_per_s`]).
//!
//! Assumptions: each packet is marked independently of the others; no packet is lost; round-trip times
//! are constant; windows are above a few segments, so that fractions of a packet do not matter.

mod cycles;
mod link;
mod red;
mod stability;

pub use cycles::{Flow, flow};
pub use link::{Equilibrium, LinkFlow, NoEquilibrium, link};
pub use red::Red;

/// The parameters of New-ECN and of its TCP. The default has those of section 3.1.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// The factor of the window at a mark.
    pub alpha_window: f64,
    /// The factor of the window slope at a mark.
    pub alpha_slope: f64,
    /// The growth of the slope, in segments per round trip and square second.
    pub beta: f64,
    /// The largest window in segments.
    pub window_limit: f64,
    /// A reduced window is cut to whole segments, as in ns-2.
    pub whole_segments: bool,
    /// Cycles of each flow; with more of them the figures are more precise.
    pub cycles: u32,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            alpha_window: 0.9,
            alpha_slope: 0.9,
            beta: 16.0,
            window_limit: 128.0,
            whole_segments: true,
            cycles: 20_000,
        }
    }
}
