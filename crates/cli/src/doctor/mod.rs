//! `windlass doctor`: what this machine has and lacks for which tool.

mod check;
mod kernel;
mod machine;
mod namespaces;
mod report;
mod tools;

use crate::args::Doctor;
use crate::failure::Failure;
use crate::print;
pub(crate) use namespaces::child;

use machine::Machine;
use report::Examined;
use tools::{TOOLS, Tool};

/// The names of the tools, for the arguments.
pub(crate) fn tool_names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|tool| tool.name)
}

/// Examines the tools asked for, or all, and prints what was found.
pub(crate) fn main(args: &Doctor) -> Result<(), Failure> {
    let machine = Machine::here();
    let asked = |tool: &&Tool| args.tools.is_empty() || args.tools.iter().any(|n| n == tool.name);
    let examined: Vec<Examined> =
        TOOLS.iter().filter(asked).map(|tool| Examined::new(tool, &machine)).collect();
    match args.json {
        true => print::line(&format!("{:#}", report::json(&examined)))?,
        false => print::line(&report::text(&examined))?,
    }
    let lacking: Vec<&str> =
        examined.iter().filter(|tool| !tool.ready()).map(|tool| tool.tool.name).collect();
    match lacking.is_empty() {
        true => Ok(()),
        false => Err(Failure::Work(format!("something is missing for {}", lacking.join(", ")))),
    }
}
