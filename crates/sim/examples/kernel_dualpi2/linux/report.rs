//! Tables of the marks, drops and delays of the two queues.

use super::arrivals::PARTS;
use super::bottleneck::{Fates, Log};
use super::flows::Cell;
use windlass_base::Ecn;

/// How far marks and drops may be apart, in sum and where there are enough of them to tell.
const COUNTS_APART: f64 = 0.05;
const ENOUGH: f64 = 300.0;
/// How far mean delays may be apart.
const DELAYS_APART: f64 = 0.1;

/// A mean, and half of its 95 % interval.
#[derive(Copy, Clone, Default)]
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
}

impl std::fmt::Display for Mean {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = f.precision().unwrap_or(0);
        write!(f, "{:.digits$} ± {:.digits$}", self.mean, self.half)
    }
}

/// The same quantity of Linux's queue and of ours.
#[derive(Copy, Clone, Default)]
struct Pair {
    linux: Mean,
    ours: Mean,
}

impl Pair {
    /// How far ours is from Linux's; none where there is nothing to compare.
    fn apart(self) -> Option<f64> {
        (self.linux.mean > 0.0).then(|| self.ours.mean / self.linux.mean - 1.0)
    }

    fn is_within(self, apart: f64) -> bool {
        self.apart().is_none_or(|found| found.abs() <= apart)
    }

    fn percent(self) -> String {
        self.apart().map_or(String::new(), |apart| format!("{:+.1} %", 100.0 * apart))
    }
}

/// The runs of both queues.
pub(crate) struct Runs {
    pub(crate) linux: Vec<Log>,
    pub(crate) ours: Vec<Log>,
}

impl Runs {
    fn pair(&self, part: usize, ecn: Ecn, of: fn(&Fates) -> f64) -> Pair {
        let over = |logs: &[Log]| Mean::of(logs.iter().map(|log| of(log.part(part, ecn))));
        Pair { linux: over(&self.linux), ours: over(&self.ours) }
    }

    fn arrived(&self, part: usize, ecn: Ecn) -> u64 {
        self.linux.first().map_or(0, |log| log.part(part, ecn).arrived)
    }
}

fn marked(fates: &Fates) -> f64 {
    fates.marked as f64
}

fn dropped(fates: &Fates) -> f64 {
    fates.dropped as f64
}

/// Prints marks and drops of each part of the file. True if they are near each other.
pub(crate) fn arrivals(runs: &Runs) -> bool {
    println!("| part | codepoint | packets | marked: Linux | ours | | dropped: Linux | ours | |");
    println!("|---|---|---:|---:|---:|---:|---:|---:|---:|");
    let mut near = true;
    let mut sums = [Pair::default(); 2];
    for (number, part) in PARTS.iter().enumerate() {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
            let packets = runs.arrived(number, ecn);
            if packets == 0 {
                continue;
            }
            print!("| {} | {ecn:?} | {packets} |", part.name);
            for (sum, count) in sums.iter_mut().zip([marked, dropped]) {
                let pair = runs.pair(number, ecn, count);
                sum.linux.mean += pair.linux.mean;
                sum.ours.mean += pair.ours.mean;
                near &= pair.linux.mean < ENOUGH || pair.is_within(COUNTS_APART);
                print!(" {} | {} | {} |", pair.linux, pair.ours, pair.percent());
            }
            println!();
        }
    }
    print!("| all | | |");
    for sum in sums {
        near &= sum.is_within(COUNTS_APART);
        print!(" {:.0} | {:.0} | {} |", sum.linux.mean, sum.ours.mean, sum.percent());
    }
    println!();
    near
}

/// Prints mean and 99th percentile of the delays, marks, drops and megabytes in the part of a run that counts, and with
/// both kinds of packets the ratio of their rates. True if the mean delays are near each other.
pub(crate) fn flows(cell: &Cell, runs: &Runs) -> bool {
    let mut near = true;
    for ecn in [Ecn::NotEct, Ecn::Ect1] {
        if runs.arrived(1, ecn) == 0 {
            continue;
        }
        let delay = runs.pair(1, ecn, Fates::mean_wait_ms);
        let tail = runs.pair(1, ecn, |fates| fates.wait_ms(0.99));
        let sent = runs.pair(1, ecn, |fates| fates.bytes_sent as f64 / 1e6);
        let (marked, dropped) = (runs.pair(1, ecn, marked), runs.pair(1, ecn, dropped));
        near &= delay.is_within(DELAYS_APART);
        let controllers = cell.controllers.join(", ");
        print!("| {} | {} | {controllers} | {ecn:?} |", cell.mbit_per_s, cell.rtt_ms);
        print!(" {:.2} | {:.2} | {} |", delay.linux, delay.ours, delay.percent());
        print!(" {:.2} | {:.2} |", tail.linux.mean, tail.ours.mean);
        print!(" {} | {} | {} | {} |", marked.linux, marked.ours, dropped.linux, dropped.ours);
        println!(" {:.1} | {:.1} |", sent.linux, sent.ours);
    }
    if [Ecn::NotEct, Ecn::Ect1].iter().all(|ecn| runs.arrived(1, *ecn) > 0) {
        let (linux, ours) = (Ratios::of(&runs.linux), Ratios::of(&runs.ours));
        println!("| rate of ECT(1) over Not-ECT | {linux} | {ours} |");
    }
    near
}

/// The rate of the packets of low latency over that of the classic ones in each run, in order of size.
struct Ratios(Vec<f64>);

impl Ratios {
    fn of(logs: &[Log]) -> Ratios {
        let sent = |log: &Log, ecn| log.part(1, ecn).bytes_sent as f64;
        let mut ratios: Vec<f64> =
            logs.iter().map(|log| sent(log, Ecn::Ect1) / sent(log, Ecn::NotEct)).collect();
        ratios.sort_by(f64::total_cmp);
        Ratios(ratios)
    }

    fn median(&self) -> f64 {
        let half = self.0.len() / 2;
        (self.0[half] + self.0[(self.0.len() - 1) / 2]) / 2.0
    }
}

impl std::fmt::Display for Ratios {
    /// The median, then the lowest and the highest.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [lowest, highest] = [0, self.0.len() - 1].map(|index| self.0[index]);
        write!(f, "{:.2} | {lowest:.2} to {highest:.2}", self.median())
    }
}
