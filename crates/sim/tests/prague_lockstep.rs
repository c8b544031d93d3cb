//! Prague in lockstep with its authors' reference class (`PragueCC` of L4STeam/udp_prague), which rides along as a
//! passenger: it gets the ACKs of closed loops that Windlass's Prague drives, and alpha and window are compared.
//!
//! `prague_lockstep/passenger.txt` has the passenger's values for some of the paths.
//! [Results](../../../docs/results/simulator.md#prague)

#[expect(dead_code, reason = "each test uses a part")]
mod common;
mod lockstep;

use lockstep::{MSS, Path, rows};
use std::fs::File;
use std::io::{BufWriter, Write};
use windlass_tcp::cc::Prague;

/// The paths of the comparison, by seed.
const PATHS: u64 = 300;
/// Those of the table.
const TABLE_PATHS: u64 = 20;

/// The reference class grows fast after some rounds without a mark.
const AS_REFERENCE: Prague = Prague { classic_fallback: false, fast_growth: true };

/// Writes the inputs of each ACK, and this Prague's answers, for a passenger that is built elsewhere.
#[test]
#[ignore = "writes 250 MB to the file PRAGUE_INPUTS, and as much to PRAGUE_INPUTS.slow"]
fn write_inputs() {
    let path = std::env::var("PRAGUE_INPUTS").expect("the name of a file");
    for (path, prague) in [(format!("{path}.slow"), Prague::default()), (path, AS_REFERENCE)] {
        let file = File::create(path).expect("a file to write");
        let mut file = BufWriter::new(file);
        for seed in 1..=PATHS {
            writeln!(file, "path {seed} {MSS}").expect("written");
            for row in rows(&Path::draw(seed), prague) {
                writeln!(file, "{row}").expect("written");
            }
        }
    }
}

/// The passenger's answer at the end of one of its rounds.
struct Answer {
    seed: u64,
    /// The number of the ACK on its path, from 0.
    ack: usize,
    alpha: f64,
    window: f64,
}

fn answers() -> Vec<Answer> {
    let text = include_str!("lockstep/passenger.txt");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let answer = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let number = |index: usize| fields[index].parse().expect("a number");
        let seed = fields[0].parse().expect("a seed");
        let ack = fields[2].parse().expect("an ACK");
        Answer { seed, ack, alpha: number(3), window: number(4) }
    };
    lines.map(answer).collect()
}

#[test]
fn alpha_and_window_are_within_two_percent_of_the_reference_class() {
    let answers = answers();
    let mut near = 0;
    for seed in 1..=TABLE_PATHS {
        let rows = rows(&Path::draw(seed), AS_REFERENCE);
        for answer in answers.iter().filter(|answer| answer.seed == seed) {
            let row = rows[answer.ack];
            let off = |found: f64, expected: f64| (found - expected).abs() / expected;
            // The reference class counts alpha in 2^-20, and a sixteenth of less than 16 of them is none.
            let same_alpha = (row.alpha - answer.alpha).abs() <= 16.0 / f64::from(1 << 20);
            let alpha = same_alpha || off(row.alpha, answer.alpha) < 0.02;
            near += usize::from(alpha && off(row.window, answer.window) < 0.02);
        }
    }
    assert!(answers.len() > 300);
    // The others are one update of alpha apart, or have windows of a few packets: docs/results/simulator.md.
    assert!(near * 100 >= answers.len() * 98, "{near} of {}", answers.len());
}
