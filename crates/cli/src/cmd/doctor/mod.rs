//! `windlass doctor`: what this machine has and lacks for which tool.

pub(crate) mod args;
mod capability;
mod check;
mod finding;
mod kernel;
mod machine;
#[cfg_attr(not(target_os = "linux"), path = "no_namespaces.rs")]
mod namespaces;
mod packet_path;
mod print;
mod tools;

use crate::failure::Failure;
use crate::stdout;
use args::Doctor;
pub(crate) use namespaces::child;
#[cfg(all(feature = "ecn-proxy", target_os = "linux"))]
pub(crate) use packet_path::MarkingQueue;

use machine::Machine;
use print::Examined;
use tools::{TOOLS, Tool};

/// The queues of this network namespace that mark, or why they are not known.
#[cfg(all(feature = "ecn-proxy", target_os = "linux"))]
pub(crate) fn marking_queues() -> Result<Vec<MarkingQueue>, String> {
    packet_path::marking_queues(&Machine::here())
}

/// Examines the tools asked for, or all, and prints what was found.
pub(crate) fn main(args: &Doctor) -> Result<(), Failure> {
    let machine = Machine::here();
    let asked = |tool: &&Tool| args.tools.is_empty() || args.tools.iter().any(|n| tool.is(n));
    let examined: Vec<Examined> =
        TOOLS.iter().filter(asked).map(|tool| Examined::new(tool, &machine)).collect();
    // The lab is a package of its own: without it, whoever did not ask for it lacks nothing.
    let counts = |tool: &Examined| !(args.tools.is_empty() && tool.lacks_the_lab_alone());
    let unready = examined.iter().filter(|tool| !tool.ready() && counts(tool));
    let unready: Vec<&str> = unready.map(|tool| tool.tool.name).collect();
    match args.json {
        true => stdout::line(&print::json(&examined, unready.is_empty()))?,
        false => stdout::line(&print::text(&examined))?,
    }
    match unready.is_empty() {
        true => Ok(()),
        false => Err(Failure::Work(format!("something is missing for {}", unready.join(", ")))),
    }
}
