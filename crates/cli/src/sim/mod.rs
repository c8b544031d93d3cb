//! `windlass sim`.

mod batch;
mod chaos;
mod check;
mod load;
mod progress;
mod run;
mod simple_model;
mod table;

use crate::args::Sim;
use crate::failure::Failure;
use crate::print;
use serde_json::json;

/// Does what the arguments say.
pub(crate) fn main(command: Sim) -> Result<(), Failure> {
    match command {
        Sim::Run(args) => run::main(&args),
        Sim::Batch(args) => batch::main(&args),
        Sim::Check(args) => check::main(&args),
        Sim::Chaos(args) => chaos::main(&args),
        Sim::SimpleModel(args) => simple_model::main(&args),
        Sim::Floor(args) => {
            let last = windlass_sim::empty_event_loop(args.pending, args.events);
            print::line(&json!({ "events": args.events, "last_s": last.as_secs_f64() }).to_string())
        }
        Sim::Schema => print::line(&pretty(&windlass_sim::scenario::schema())),
    }
}

fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}")
}
