//! `windlass sim chaos`: random connections and paths, which windlass-chaos draws and checks.

use super::args::Chaos;
use crate::envelope::Document;
use crate::failure::Failure;
use crate::{parallel, progress_bar, stdout};
use serde_json::{Value, json};
use std::ops::Range;
use windlass_chaos::{Features, ProxySums, Summary};

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
    let bar = progress_bar::bar(args.seeds.end - args.seeds.start, "seeds");
    let (seeds, jobs) = (args.seeds.clone(), parallel::jobs(args.jobs));
    let progress = |done| bar.set_position(done);
    let Ran { text, sums, failures } = run_seeds(args, seeds, jobs, &progress);
    bar.finish_and_clear();
    let text = if args.json { document(args, sums, &failures) } else { text };
    stdout::line(text.trim_end())?;
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

/// What was run.
struct Ran {
    text: String,
    sums: Value,
    failures: Vec<windlass_chaos::Failure>,
}

fn run_seeds(args: &Chaos, seeds: Range<u64>, jobs: usize, progress: &(dyn Fn(u64) + Sync)) -> Ran {
    #[cfg(feature = "tou")]
    if args.traversal {
        let summary = windlass_chaos::run_traversal_range(seeds, jobs, progress);
        let (text, sums) = (summary.to_string(), traversal_sums(&summary));
        return Ran { text, sums, failures: summary.failures };
    }
    let summary = windlass_chaos::run_range(seeds, &features(args), jobs, progress);
    let (text, sums) = (summary.to_string(), sums(&summary));
    Ran { text, sums, failures: summary.failures }
}

/// One object: what ran, its sums, and the seeds that broke.
fn document(args: &Chaos, sums: Value, failures: &[windlass_chaos::Failure]) -> String {
    let failure = |one: &windlass_chaos::Failure| {
        json!({
            "seed": one.seed,
            "at_s": one.at.as_secs_f64(),
            "what": one.what,
            "setup": one.setup,
            "last_events": one.last_events,
        })
    };
    let failures: Vec<Value> = failures.iter().map(failure).collect();
    let body = json!({
        "seeds": { "first": args.seeds.start, "end": args.seeds.end },
        "controller": args.controller.as_ref().map(|controller| controller.name()),
        "modern": args.modern,
        "ecn_proxy": args.ecn_proxy,
        "traversal": args.traversal,
        "sums": sums,
        "failures": failures,
    });
    Document::new("sim.chaos", body).pretty()
}

fn sums(summary: &Summary) -> Value {
    let proxies = &summary.proxies;
    json!({
        "seeds": summary.seeds,
        "orderly": summary.orderly,
        "failed_ends": summary.failed_ends,
        "packets": summary.packets,
        "bytes": summary.bytes,
        "timeouts": summary.timeouts,
        "fast_retransmits": summary.fast_retransmits,
        "window_probes": summary.window_probes,
        "ecn_cuts": summary.ecn_cuts,
        "accecn": summary.accurate,
        "undone_cuts": summary.undone_cuts,
        "frto_probes": summary.frto_probes,
        "virtual_s": summary.lasted.as_secs_f64(),
        "digest": digest(summary.digest),
        "ecn_proxies": (*proxies != ProxySums::default()).then(|| json!({
            "served": proxies.served,
            "seeds_with_virtual_losses": proxies.seeds_with_virtual_losses,
            "virtual_losses": proxies.virtual_losses,
            "self_answers": proxies.self_answers,
            "kept_back": proxies.kept_back,
            "dropped": proxies.dropped,
            "episodes": proxies.episodes,
            "marks": proxies.marks,
        })),
    })
}

#[cfg(feature = "tou")]
fn traversal_sums(summary: &windlass_chaos::TraversalSummary) -> Value {
    json!({
        "seeds": summary.seeds,
        "direct": summary.direct,
        "relayed": summary.relayed,
        "impossible": summary.impossible,
        "tampered": summary.tampered,
        "lied_to": summary.lied_to,
        "connections": summary.connections,
        "datagrams": summary.datagrams,
        "virtual_s": summary.lasted.as_secs_f64(),
        "digest": digest(summary.digest),
    })
}

/// A text: a double cannot hold 64 bits.
fn digest(digest: u64) -> String {
    format!("{digest:016x}")
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
    let result = replay_seed(seed, args, &mut line);
    printed?;
    match result {
        Ok(report) => stdout::line(&format!("seed {seed} kept every promise: {report}")),
        Err(failure) => {
            Err(Failure::Work(format!("seed {seed} broke at {}: {}", failure.at, failure.what)))
        }
    }
}

/// The report of a seed that kept every promise, as a text.
fn replay_seed(
    seed: u64,
    args: &Chaos,
    line: &mut dyn FnMut(&str),
) -> Result<String, windlass_chaos::Failure> {
    #[cfg(feature = "tou")]
    if args.traversal {
        return windlass_chaos::replay_traversal(seed, line).map(|report| format!("{report:?}"));
    }
    windlass_chaos::replay(seed, &features(args), line).map(|report| format!("{report:?}"))
}
