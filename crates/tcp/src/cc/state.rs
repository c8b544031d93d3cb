//! The engine's cache of a controller's getters.

use windlass_base::Ecn;

/// The values of a controller's getters. They change only in its `on_*` methods.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct ControllerState {
    pub cwnd: f64,
    /// The window that the engine sends by: the controller's limit of the flight, or PRR's window.
    pub flight_limit: u64,
    pub ssthresh: u64,
    pub ecn_codepoint: Ecn,
}

/// Only the engine can make one, so only the engine can call or override the methods of
/// [`Controller`](super::Controller) that take one.
#[derive(Copy, Clone, Debug)]
pub struct Engine;
