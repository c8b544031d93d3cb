//! `windlass sim simple-model`.

use super::args::SimpleModel;
use crate::envelope::Document;
use crate::failure::Failure;
use crate::stdout;
use serde_json::{Value, json};
use windlass_sim::simple_model::{Outcome, PACKET_BITS, Parameters, STEP_S, simulate};

/// The connections, as the paper calls them.
const NAMES: [&str; 2] = ["X", "Y"];

/// Runs the model with each seed and prints means and standard deviations.
pub(super) fn main(args: &SimpleModel) -> Result<(), Failure> {
    let parameters = args.model.with(args.variant, args.steps);
    let seeds = (0..args.seeds).map(|n| args.seed.wrapping_add(n));
    let mut first = None;
    let runs: Vec<Run> = seeds
        .map(|seed| {
            let outcome = simulate(&parameters, seed);
            let run = Run::of(&outcome);
            first.get_or_insert(outcome);
            run
        })
        .collect();
    if args.json {
        let mut result = json_of(args, &parameters, &runs);
        if let (true, Some(outcome)) = (args.series, first) {
            result["series"] = json!({
                "seed": args.seed,
                "step_s": STEP_S,
                "cwnd_packets": outcome.windows,
                "queue_packets": outcome.queue,
            });
        }
        stdout::line(&Document::new("sim.simple-model", result).pretty())
    } else {
        stdout::line(&report(args, &parameters, &runs))
    }
}

/// The figures of one run; X and Y in pairs.
struct Run {
    fairness_index: f64,
    windows: [f64; 2],
    rates: [f64; 2],
    marks: [f64; 2],
}

impl Run {
    fn of(outcome: &Outcome) -> Run {
        Run {
            fairness_index: outcome.fairness_index,
            windows: outcome.mean_windows,
            rates: outcome.mean_rates_bits_per_s.map(|rate| rate / PACKET_BITS),
            marks: outcome.marks.map(|marks| marks as f64),
        }
    }
}

/// Mean and sample standard deviation.
fn mean_and_sd(runs: &[Run], figure: impl Fn(&Run) -> f64) -> (f64, f64) {
    let n = runs.len() as f64;
    let mean = runs.iter().map(&figure).sum::<f64>() / n;
    let squares: f64 = runs.iter().map(|run| (figure(run) - mean) * (figure(run) - mean)).sum();
    (mean, if runs.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}

fn rtt_ms(parameters: &Parameters, which: usize) -> f64 {
    f64::from(parameters.rtt_steps[which]) * STEP_S * 1e3
}

fn json_of(args: &SimpleModel, parameters: &Parameters, runs: &[Run]) -> Value {
    let figure = |figure: &dyn Fn(&Run) -> f64| {
        let (mean, sd) = mean_and_sd(runs, figure);
        json!({ "mean": mean, "sd": sd })
    };
    let connection = |which: usize| {
        json!({
            "name": NAMES[which],
            "rtt_min_ms": rtt_ms(parameters, which),
            "packets_per_s": figure(&|run| run.rates[which]),
            "cwnd_packets": figure(&|run| run.windows[which]),
            "marks": figure(&|run| run.marks[which]),
        })
    };
    let seeds: Vec<u64> = (0..args.seeds).map(|n| args.seed.wrapping_add(n)).collect();
    json!({
        "name": "simple-model",
        "variant": args.variant.name(),
        "steps": args.steps,
        "parameters": {
            "link_bit_per_s": parameters.link_bits_per_s,
            "access_bit_per_s": parameters.access_bits_per_s,
            "start_packets": parameters.start_windows,
            "alpha_wnd": parameters.alpha_window,
            "alpha_slp": parameters.alpha_slope,
            "beta": parameters.beta,
            "p_max": parameters.max_p,
            "thresholds_packets": parameters.thresholds,
            "weight": parameters.weight,
        },
        "seeds": seeds,
        "fairness_index": figure(&|run| run.fairness_index),
        "flows": [connection(0), connection(1)],
    })
}

fn report(args: &SimpleModel, parameters: &Parameters, runs: &[Run]) -> String {
    let (index, sd) = mean_and_sd(runs, |run| run.fairness_index);
    let connection = |which: usize| {
        let (rate, rate_sd) = mean_and_sd(runs, |run| run.rates[which]);
        let (window, window_sd) = mean_and_sd(runs, |run| run.windows[which]);
        let (marks, marks_sd) = mean_and_sd(runs, |run| run.marks[which]);
        format!(
            "{}  RTT {} ms: {rate:.1} ± {rate_sd:.1} packets/s, cwnd {window:.2} ± {window_sd:.2} \
             packets, {marks:.1} ± {marks_sd:.1} marks",
            NAMES[which],
            rtt_ms(parameters, which)
        )
    };
    format!(
        "simple model, variant {}, {} steps, {} runs from seed {}, mean ± standard deviation\n\n\
         {}\n{}\nfairness index {index:.4} ± {sd:.4}",
        args.variant.name(),
        args.steps,
        args.seeds,
        args.seed,
        connection(0),
        connection(1)
    )
}
