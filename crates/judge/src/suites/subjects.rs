//! The engine's controllers as subjects of the tests.

use crate::Engine;
use windlass_tcp::Profile;

/// The controller of that name, on the engine with the options of Linux.
pub(crate) fn engine(name: &str) -> Engine {
    Engine::new(Profile::Linux.controller(name).expect("a controller"))
}

/// Those that halve their window, or reduce it by another constant factor, after a loss or a mark.
pub(crate) fn loss_based() -> Vec<Engine> {
    ["reno", "newreno", "cubic"].map(engine).into()
}

/// Those whose data is ECT and that react once to the marks of a window.
pub(crate) fn ecn_capable() -> Vec<Engine> {
    ["tahoe", "reno", "newreno", "vegas", "cubic", "new-ecn", "dctcp"].map(engine).into()
}

/// Those whose data is ECT(0) and that ask for Accurate ECN.
pub(crate) fn accurate() -> Vec<Engine> {
    ["tahoe", "reno", "newreno", "vegas", "cubic", "new-ecn"].map(engine).into()
}
