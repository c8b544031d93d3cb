//! `windlass sim chaos`.

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
    let jobs = parallel::jobs(args.jobs);
    let summary = windlass_chaos::run_range(args.seeds.clone(), features(args), jobs, &|done| {
        bar.set_position(done)
    });
    bar.finish_and_clear();
    stdout::line(summary.to_string().trim_end())?;
    if summary.failures.is_empty() {
        return Ok(());
    }
    for failure in summary.failures.iter().take(SHOWN) {
        eprintln!("{failure}");
    }
    let seeds: Vec<String> = summary.failures.iter().map(|f| f.seed.to_string()).collect();
    Err(Failure::Work(format!(
        "broken by seeds {}; see one with windlass sim chaos{}{} --replay SEED",
        seeds.join(", "),
        if args.modern { " --modern" } else { "" },
        if args.ecn_proxy { " --ecn-proxy" } else { "" }
    )))
}

fn features(args: &Chaos) -> Features {
    Features { modern: args.modern, ecn_proxy: args.ecn_proxy }
}

fn replay(seed: u64, args: &Chaos) -> Result<(), Failure> {
    // A reader that has seen enough ends the printing, not the run.
    let mut printed = Ok(());
    let result = windlass_chaos::replay(seed, features(args), &mut |line| {
        if printed.is_ok() {
            printed = stdout::line(line);
        }
    });
    printed?;
    match result {
        Ok(report) => stdout::line(&format!("seed {seed} kept every promise: {report:?}")),
        Err(failure) => {
            Err(Failure::Work(format!("seed {seed} broke at {}: {}", failure.at, failure.what)))
        }
    }
}
