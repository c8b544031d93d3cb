//! Scenarios: what is to be simulated.

pub mod model;
