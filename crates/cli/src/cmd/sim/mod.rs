//! `windlass sim`.

mod applications;
pub(crate) mod args;
mod batch;
mod carried;
mod chaos;
mod check;
mod column;
mod cycle_model;
mod delays;
mod examples;
mod live;
mod load;
mod model_args;
#[cfg(not(feature = "parquet"))]
mod no_parquet;
mod output;
#[cfg(feature = "parquet")]
mod parquet;
mod print;
mod qlog;
mod run;
mod simple_model;
mod threads;

use crate::envelope::Document;
use crate::failure::Failure;
use crate::registry::registry;
use crate::stdout;
use args::Sim;
#[cfg(not(feature = "parquet"))]
use no_parquet as parquet;
use serde_json::json;

/// Runs a subcommand of `windlass sim`.
pub(crate) fn main(command: Sim) -> Result<(), Failure> {
    match command {
        Sim::Run(args) => run::main(&args),
        Sim::Batch(args) => batch::main(&args),
        Sim::Check(args) => check::main(&args),
        Sim::Chaos(args) => chaos::main(&args),
        Sim::CycleModel(args) => cycle_model::main(&args),
        Sim::SimpleModel(args) => simple_model::main(&args),
        Sim::Floor(args) => {
            let last = windlass_sim::empty_event_loop(args.pending, args.events);
            let figures = json!({ "events": args.events, "last_s": last.as_secs_f64() });
            stdout::line(&Document::new("sim.floor", figures).line())
        }
        Sim::Examples(args) => examples::main(&args),
        Sim::Schema => stdout::line(&format!("{:#}", registry().schema())),
    }
}
