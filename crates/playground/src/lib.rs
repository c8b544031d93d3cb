//! The simulator for web pages. A [`Session`] takes the text of a scenario, runs in steps, so that a
//! page can show progress, and ends with a summary and plots of bounded size.
//!
//! On WebAssembly the module exports the calls of a session as C functions, for the worker in
//! `playground/worker.js`.

#[cfg(target_arch = "wasm32")]
mod exports;
mod flows;
mod outcome;
mod plot;
mod session;

pub use outcome::{Curve, FlowPlots, Outcome, QueuePlots};
pub use session::{Files, Session};
