//! `windlass sim chaos`: random connections and paths, which windlass-chaos draws and checks.

use super::args::Chaos;
use super::progress;
use crate::failure::Failure;
use crate::{parallel, stdout};
use windlass_chaos::Features;

/// Failing seeds that are shown whole.
const SHOWN: usize = 3;

/// Runs the seeds, or shows one of them.
pub(super) fn main(args: &Chaos) -> Result<(), Failure> {
    match args.replay {
        Some(seed) => replay(seed, args),
        None => run(args),
    }
}

fn run(args: &Chaos) -> Result<(), Failure> {
    let bar = progress::bar(args.seeds.end - args.seeds.start, "seeds");
    let (seeds, jobs) = (args.seeds.clone(), parallel::jobs(args.jobs));
    let progress = |done| bar.set_position(done);
    let (summary, failures) = if args.traversal {
        let summary = windlass_chaos::run_traversal_range(seeds, jobs, &progress);
        (summary.to_string(), summary.failures)
    } else {
        let summary = windlass_chaos::run_range(seeds, &features(args), jobs, &progress);
        (summary.to_string(), summary.failures)
    };
    bar.finish_and_clear();
    stdout::line(summary.trim_end())?;
    if failures.is_empty() {
        return Ok(());
    }
    for failure in failures.iter().take(SHOWN) {
        eprintln!("{failure}");
    }
    let seeds: Vec<String> = failures.iter().map(|f| f.seed.to_string()).collect();
    Err(Failure::Work(format!(
        "broken by seeds {}; see one with windlass sim chaos{}{}{}{} --replay SEED",
        seeds.join(", "),
        args.controller.as_ref().map_or(String::new(), |c| format!(" --controller {}", c.name())),
        if args.modern { " --modern" } else { "" },
        if args.ecn_proxy { " --ecn-proxy" } else { "" },
        if args.traversal { " --traversal" } else { "" }
    )))
}

fn features(args: &Chaos) -> Features {
    let controller = args.controller.clone();
    Features { modern: args.modern, ecn_proxy: args.ecn_proxy, controller }
}

fn replay(seed: u64, args: &Chaos) -> Result<(), Failure> {
    // A reader that has seen enough ends the printing, not the run.
    let mut printed = Ok(());
    let mut line = |line: &str| {
        if printed.is_ok() {
            printed = stdout::line(line);
        }
    };
    let result = if args.traversal {
        windlass_chaos::replay_traversal(seed, &mut line).map(|report| format!("{report:?}"))
    } else {
        let result = windlass_chaos::replay(seed, &features(args), &mut line);
        result.map(|report| format!("{report:?}"))
    };
    printed?;
    match result {
        Ok(report) => stdout::line(&format!("seed {seed} kept every promise: {report}")),
        Err(failure) => {
            Err(Failure::Work(format!("seed {seed} broke at {}: {}", failure.at, failure.what)))
        }
    }
}
