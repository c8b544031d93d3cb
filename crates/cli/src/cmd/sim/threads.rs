//! `windlass sim run --threads`: one run on several threads, where that pays.

use super::output::{Output, column_series, csv_series, finish_csv, write_parquet};
use crate::failure::Failure;
use std::fmt::Display;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use windlass_sim::parts::{OneThread, PartsError, Plan};
use windlass_sim::{Scenario, Summary, run_in_parts, run_in_parts_unrecorded};

/// Runs a scenario on this many threads. `None` if one thread is to run it: standard error says why.
pub(super) fn simulate(
    scenario: &Scenario,
    seed: u64,
    threads: NonZeroUsize,
    output: Option<Output<'_>>,
) -> Result<Option<Summary>, Failure> {
    if output.is_some_and(|output| output.pcap || output.qlog) {
        return Ok(one_thread(&"captures and qlog put the packets of all parts in one order"));
    }
    let plan = match Plan::new(scenario, threads) {
        Ok(plan) => plan,
        Err(OneThread::Asked) => return Ok(None),
        Err(reason) => return Ok(one_thread(&reason)),
    };
    match in_parts(scenario, seed, &plan, output)? {
        Ok(summary) => Ok(Some(summary)),
        Err(PartsError::Build(error)) => Err(Failure::Input(error.to_string())),
        Err(reason) => {
            if let Some(output) = output {
                empty(output.folder)?;
            }
            Ok(one_thread(&reason))
        }
    }
}

fn one_thread(reason: &dyn Display) -> Option<Summary> {
    eprintln!("windlass: one thread: {reason}");
    None
}

fn in_parts(
    scenario: &Scenario,
    seed: u64,
    plan: &Plan,
    output: Option<Output<'_>>,
) -> Result<Result<Summary, PartsError>, Failure> {
    let Some(output) = output else {
        return Ok(run_in_parts_unrecorded(scenario, seed, plan));
    };
    if output.parquet {
        let mut series = column_series(scenario, output);
        let result = run_in_parts(scenario, seed, plan, &mut series);
        if result.is_ok() {
            write_parquet(output, series)?;
        }
        return Ok(result);
    }
    let mut series = csv_series(scenario, output)?;
    let result = run_in_parts(scenario, seed, plan, &mut series);
    if result.is_ok() {
        finish_csv(series)?;
    }
    Ok(result)
}

/// Removes the files of a run that is void.
fn empty(folder: &Path) -> Result<(), Failure> {
    let failure = |error| Failure::io(folder.display(), &error);
    for entry in fs::read_dir(folder).map_err(failure)? {
        fs::remove_file(entry.map_err(failure)?.path()).map_err(failure)?;
    }
    Ok(())
}
