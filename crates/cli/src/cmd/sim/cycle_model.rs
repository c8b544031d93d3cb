//! `windlass sim cycle-model`.

use super::args::CycleModel;
use crate::envelope::Document;
use crate::failure::Failure;
use crate::stdout;
use serde_json::{Value, json};
use windlass_sim::cycle_model::{Equilibrium, Flow, LinkFlow, Parameters, Red, flow, link};

/// Prints the flows of the model, alone or behind RED.
pub(super) fn main(args: &CycleModel) -> Result<(), Failure> {
    let balance = match args.link {
        Some(rate) => {
            let packets_per_s = rate.bits_per_sec() as f64 / (8.0 * args.packet_bytes as f64);
            let rtts_s: Vec<f64> = args.rtt.iter().map(|rtt| rtt.as_secs_f64()).collect();
            let found = link(&parameters(args), &red(args), &rtts_s, packets_per_s, args.seed);
            Some(found.map_err(|none| Failure::Work(none.to_string()))?)
        }
        None => None,
    };
    let flows = balance.as_ref().map_or_else(|| alone(args), |found| found.flows.clone());
    if args.json {
        stdout::line(&Document::new("sim.cycle-model", json_of(args, balance, &flows)).pretty())
    } else {
        stdout::line(&report(args, balance, &flows))
    }
}

fn parameters(args: &CycleModel) -> Parameters {
    Parameters {
        alpha_window: args.alpha_wnd,
        alpha_slope: args.alpha_slp,
        beta: args.beta,
        window_limit: args.window_limit,
        cycles: args.cycles,
        ..Parameters::default()
    }
}

fn red(args: &CycleModel) -> Red {
    Red { thresholds: args.thresholds, max_p: args.p_max, gentle: args.gentle, weight: args.weight }
}

/// Each flow by itself, with the given probability.
fn alone(args: &CycleModel) -> Vec<LinkFlow> {
    let probability = args.probability.unwrap_or_default();
    (0..)
        .zip(&args.rtt)
        .map(|(number, rtt)| {
            let rtt_s = rtt.as_secs_f64();
            let seed = args.seed.wrapping_add(number);
            let flow = flow(&parameters(args), rtt_s, probability, seed);
            LinkFlow { rtt_s, packets_per_s: flow.packets_per_round_trip / rtt_s, flow }
        })
        .collect()
}

fn json_of(args: &CycleModel, balance: Option<Equilibrium>, flows: &[LinkFlow]) -> Value {
    let flow = |(number, found): (usize, &LinkFlow)| {
        let Flow { window, window_quantiles: quantiles, slope, .. } = &found.flow;
        let [q5, q25, q50, q75, q95] = quantiles;
        json!({
            "name": format!("flow{}", number + 1),
            "rtt_min_ms": args.rtt[number].as_secs_f64() * 1e3,
            "rtt_ms": found.rtt_s * 1e3,
            "packets_per_s": { "steady": found.packets_per_s },
            "cwnd_packets": {
                "time_mean_steady": window,
                "quantiles": { "5": q5, "25": q25, "50": q50, "75": q75, "95": q95 },
            },
            "slope": { "time_mean": slope },
            "reductions_per_round_trip": found.flow.reductions_per_round_trip,
        })
    };
    let total: f64 = flows.iter().map(|found| found.packets_per_s).sum();
    let mut document = json!({
        "name": "cycle-model",
        "parameters": {
            "alpha_wnd": args.alpha_wnd,
            "alpha_slp": args.alpha_slp,
            "beta": args.beta,
            "window_limit_packets": args.window_limit,
            "cycles": args.cycles,
            "seed": args.seed,
        },
        "total_packets_per_s": { "steady": total },
        "flows": flows.iter().enumerate().map(flow).collect::<Vec<_>>(),
    });
    document["marked_share"] = json!(args.probability);
    if let Some(found) = balance {
        document["marked_share"] = json!(found.marked_share);
        document["fairness_index"] = json!({ "steady": found.fairness_index });
        document["mean_queue_packets"] = json!({ "steady": found.queue });
        document["growth_per_s"] = json!(found.growth_per_s);
        document["stable"] = json!(found.growth_per_s < 0.0);
    }
    document
}

fn report(args: &CycleModel, balance: Option<Equilibrium>, flows: &[LinkFlow]) -> String {
    let mut lines = vec![format!(
        "{:>9} {:>9} {:>10} {:>8} {:>15} {:>7} {:>14}",
        "RTT", "and queue", "packets/s", "cwnd", "5 to 95 %", "slope", "cuts per RTT"
    )];
    for (rtt, found) in args.rtt.iter().zip(flows) {
        let Flow { window, window_quantiles: [low, .., high], slope, .. } = &found.flow;
        lines.push(format!(
            "{:>6.4} ms {:>6.4} ms {:>10.1} {window:>8.2} {:>15} {slope:>7.3} {:>14.3}",
            rtt.as_secs_f64() * 1e3,
            found.rtt_s * 1e3,
            found.packets_per_s,
            format!("{low:.1} to {high:.1}"),
            found.flow.reductions_per_round_trip,
        ));
    }
    if let Some(found) = balance {
        let (what, growth) = match found.growth_per_s {
            growth if growth < 0.0 => ("stable: a disturbance falls to a half in", -growth),
            growth => ("not stable: a disturbance doubles in", growth),
        };
        lines.push(String::new());
        lines.push(format!(
            "fairness index {:.4}, queue {:.2} packets, {:.2} % marked",
            found.fairness_index,
            found.queue,
            found.marked_share * 100.0
        ));
        lines.push(format!("{what} {:.2} s", core::f64::consts::LN_2 / growth));
    }
    lines.join("\n")
}
