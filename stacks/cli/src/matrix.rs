//! `windlass-stacks matrix`: each pair of contenders shares a link.

use crate::args::Matrix;
use crate::bed::Bed;
use crate::contender::Contender;
use crate::table::{self, shown};
use serde::Serialize;
use windlass_evaluation::Interval;
use windlass_sim::fairness_index;

/// The kind of the JSON document.
const KIND: &str = "stacks.matrix";

/// Two contenders on one link.
#[derive(Debug, Serialize)]
pub(crate) struct Pair {
    first: String,
    second: String,
    /// The first one's part of the goodput of both, 0 to 1.
    share: Interval,
    /// Jain's index of the two goodputs, 0.5 to 1.
    fairness: Interval,
    /// Of both together.
    goodput_mbit_per_s: Interval,
}

pub(crate) fn main(args: &Matrix) -> Result<(), String> {
    let contenders = args.path.contenders()?;
    let bed = Bed {
        rate: args.path.rate.clone(),
        rtt_ms: args.path.rtt,
        queue: args.path.queue.clone(),
        loss: String::new(),
        seconds: args.seconds,
        steady_from: args.steady_from,
        app: "{ kind = \"bulk\" }".to_owned(),
        jitter: true,
    };
    let mut pairs = Vec::new();
    for (position, first) in contenders.iter().enumerate() {
        for second in &contenders[position..] {
            pairs.push(pair(&bed, first, second, args.path.runs)?);
        }
    }
    if args.path.json {
        table::json(KIND, &serde_json::json!({ "path": args.path, "pairs": pairs }));
    } else {
        println!("{}", text(&contenders, &pairs));
    }
    Ok(())
}

fn pair(bed: &Bed, first: &Contender, second: &Contender, runs: u64) -> Result<Pair, String> {
    let contenders = [first.clone(), second.clone()];
    let (mut shares, mut indices, mut totals) = (vec![], vec![], vec![]);
    for seed in 1..=runs {
        let goodputs = bed.run(&contenders, seed)?.goodputs(&contenders);
        let total: f64 = goodputs.iter().sum();
        shares.push(if total > 0.0 { goodputs[0] / total } else { 0.0 });
        indices.push(fairness_index(&goodputs).unwrap_or(0.0));
        totals.push(total);
    }
    Ok(Pair {
        first: first.to_string(),
        second: second.to_string(),
        share: Interval::of(&shares),
        fairness: Interval::of(&indices),
        goodput_mbit_per_s: Interval::of(&totals),
    })
}

/// The shares of rows beside columns, then the pairs in full.
fn text(contenders: &[Contender], pairs: &[Pair]) -> String {
    let names: Vec<String> = contenders.iter().map(Contender::to_string).collect();
    let head: Vec<String> = std::iter::once("share of")
        .chain(names.iter().map(String::as_str))
        .map(String::from)
        .collect();
    let rows: Vec<Vec<String>> = names
        .iter()
        .map(|row| {
            let shares = names.iter().map(|column| shown(share(pairs, row, column), 2));
            std::iter::once(row.clone()).chain(shares).collect()
        })
        .collect();
    let matrix = table::table(&head, &rows);
    let head = ["pair", "share of the first", "Jain's index", "Mbit/s"].map(String::from);
    let rows: Vec<Vec<String>> = pairs
        .iter()
        .map(|pair| {
            vec![
                format!("{}, {}", pair.first, pair.second),
                table::interval(&pair.share, 3),
                table::interval(&pair.fairness, 3),
                table::interval(&pair.goodput_mbit_per_s, 2),
            ]
        })
        .collect();
    format!("{matrix}\n\n{}", table::table(&head, &rows))
}

/// The mean share of a contender beside another.
fn share(pairs: &[Pair], row: &str, column: &str) -> Option<f64> {
    pairs.iter().find_map(|pair| match (pair.first.as_str(), pair.second.as_str()) {
        (first, second) if (first, second) == (row, column) => Some(pair.share.mean),
        (first, second) if (second, first) == (row, column) => Some(1.0 - pair.share.mean),
        _ => None,
    })
}
