//! The comparison.

mod arrivals;
mod bottleneck;
mod flows;
mod held;
mod kernel;
mod report;

use flows::Cell;
use held::Ours;
use kernel::Linux;
use report::Runs;
use std::error::Error;
use std::process::ExitCode;
use windlass_base::{BitRate, Span};

/// The seed of the file of arrivals.
const FILE: u64 = 1;

pub(crate) fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match compare(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("kernel_dualpi2: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether the two are as near each other as they shall be.
fn compare(words: &[&str]) -> Result<bool, Box<dyn Error>> {
    match *words {
        ["arrivals", mbit, seconds, runs] => {
            compare_arrivals(mbit.parse()?, seconds.parse()?, runs.parse()?)
        }
        ["flows", mbit, rtt, controllers, seconds, runs] => {
            let cell = Cell {
                mbit_per_s: mbit.parse()?,
                rtt_ms: rtt.parse()?,
                controllers: controllers.split(',').map(str::to_owned).collect(),
            };
            compare_flows(&cell, Span::from_secs(seconds.parse()?), runs.parse()?)
        }
        _ => {
            Err("arrivals MBIT SECONDS RUNS, or flows MBIT RTT_MS CONTROLLERS SECONDS RUNS".into())
        }
    }
}

fn compare_arrivals(mbit: u64, seconds: u64, runs: u64) -> Result<bool, Box<dyn Error>> {
    let rate = BitRate::from_bits_per_sec(mbit * 1_000_000).ok_or("the rate is 0")?;
    let part = Span::from_secs(seconds);
    let file = arrivals::file(FILE, rate, part);
    let mut both = Runs { linux: vec![], ours: vec![] };
    for run in 1..=runs {
        let linux = arrivals::pass(&file, Linux::new()?, rate, part)?;
        eprintln!(
            "run {run}: {} of {} packets dropped by its own count, at most {:.3} ms late",
            linux.queue.dropped()?,
            file.len(),
            linux.queue.late().as_millis_f64()
        );
        both.linux.push(linux.log);
        both.ours.push(arrivals::pass(&file, Ours::new(run), rate, part)?.log);
    }
    Ok(report::arrivals(&both))
}

fn compare_flows(cell: &Cell, duration: Span, runs: u64) -> Result<bool, Box<dyn Error>> {
    let mut both = Runs { linux: vec![], ours: vec![] };
    for run in 1..=runs {
        both.linux.push(flows::run(cell, Linux::new()?, run, duration)?);
        both.ours.push(flows::run(cell, Ours::new(run), run, duration)?);
    }
    Ok(report::flows(cell, &both))
}
