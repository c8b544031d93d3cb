//! Tables of what the two queues did.

use super::arrivals::PARTS;
use super::bottleneck::{Fates, Log};
use super::flows::Cell;
use windlass_base::Ecn;

/// How far marks and drops may be apart.
const COUNTS_APART: f64 = 0.05;
/// How far mean delays may be apart.
const DELAYS_APART: f64 = 0.1;

/// A mean, and half of its 95 % interval.
#[derive(Copy, Clone)]
struct Mean {
    mean: f64,
    half: f64,
}

impl Mean {
    fn of(values: impl Iterator<Item = f64>) -> Mean {
        let values: Vec<f64> = values.collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Mean { mean, half: 1.96 * (squares / (n - 1.0).max(1.0) / n).sqrt() }
    }

    /// How far another is from it.
    fn apart(self, other: Mean) -> f64 {
        other.mean / self.mean - 1.0
    }
}

impl std::fmt::Display for Mean {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = if self.mean < 10.0 { 3 } else { 1 };
        write!(f, "{:.digits$} ± {:.digits$}", self.mean, self.half)
    }
}

fn over(logs: &[Log], part: usize, ecn: Ecn, of: impl Fn(&Fates) -> f64) -> Mean {
    Mean::of(logs.iter().map(|log| of(log.part(part, ecn))))
}

/// Prints marks and drops of each part of the file. True if their sums are near each other.
pub(crate) fn arrivals(kernels: &[Log], ours: &[Log]) -> bool {
    println!("| part | codepoint | packets | marked: Linux | ours | | dropped: Linux | ours | |");
    println!("|---|---|---:|---:|---:|---:|---:|---:|---:|");
    let (mut linux_all, mut ours_all) = ([0.0; 2], [0.0; 2]);
    for (number, part) in PARTS.iter().enumerate() {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
            let packets = kernels[0].part(number, ecn).arrived;
            if packets == 0 {
                continue;
            }
            let counts =
                [|fates: &Fates| fates.marked as f64, |fates: &Fates| fates.dropped as f64];
            let mut cells = String::new();
            for (sum, count) in counts.into_iter().enumerate() {
                let linux = over(kernels, number, ecn, count);
                let own = over(ours, number, ecn, count);
                linux_all[sum] += linux.mean;
                ours_all[sum] += own.mean;
                cells += &format!("| {linux} | {own} | {:+.1} % ", 100.0 * linux.apart(own));
            }
            println!("| {} | {ecn:?} | {packets} {cells}|", part.name);
        }
    }
    let apart = [0, 1].map(|sum| ours_all[sum] / linux_all[sum] - 1.0);
    println!(
        "| all | | | {:.1} | {:.1} | {:+.1} % | {:.1} | {:.1} | {:+.1} % |",
        linux_all[0],
        ours_all[0],
        100.0 * apart[0],
        linux_all[1],
        ours_all[1],
        100.0 * apart[1]
    );
    apart.iter().all(|apart| apart.abs() <= COUNTS_APART)
}

/// Prints delays, marks, drops and bytes in the part of a run that counts. True if the mean delays are near each other.
pub(crate) fn flows(cell: &Cell, kernels: &[Log], ours: &[Log]) -> bool {
    let mut near = true;
    for ecn in [Ecn::NotEct, Ecn::Ect1] {
        if kernels[0].part(1, ecn).arrived == 0 {
            continue;
        }
        let both = |of: fn(&Fates) -> f64| (over(kernels, 1, ecn, of), over(ours, 1, ecn, of));
        let delay = both(Fates::mean_wait_ms);
        let tail = both(|fates| fates.wait_ms(0.99));
        let marked = both(|fates| fates.marked as f64);
        let dropped = both(|fates| fates.dropped as f64);
        let megabytes = both(|fates| fates.bytes_sent as f64 / 1e6);
        let apart = delay.0.apart(delay.1);
        near &= apart.abs() <= DELAYS_APART;
        println!(
            "| {} | {} | {} | {ecn:?} | {} | {} | {:+.1} % | {:.3} | {:.3} | {} | {} | {} | {} | {} | {} |",
            cell.mbit_per_s,
            cell.rtt_ms,
            cell.controllers.join(", "),
            delay.0,
            delay.1,
            100.0 * apart,
            tail.0.mean,
            tail.1.mean,
            marked.0,
            marked.1,
            dropped.0,
            dropped.1,
            megabytes.0,
            megabytes.1,
        );
    }
    near
}
