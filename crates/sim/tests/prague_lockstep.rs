//! Prague in lockstep with its authors' reference class (`PragueCC` of L4STeam/udp_prague), which rides along as a
//! passenger: it gets the ACKs of closed loops that Windlass's Prague drives, and alpha and window are compared.
//!
//! `prague_lockstep/passenger.txt` has the passenger's values for some of the paths.
//! [Results](../../../docs/results/simulator.md#prague)

#[expect(dead_code, reason = "each test uses a part")]
mod common;
mod lockstep;

use lockstep::{Path, rows};

/// The paths of the comparison, by seed.
const PATHS: u64 = 300;

/// Writes the inputs of each ACK, and this Prague's answers, for a passenger that is built elsewhere.
#[test]
#[ignore = "writes a gigabyte of inputs to the file in PRAGUE_INPUTS"]
fn write_inputs() {
    use std::io::Write;
    let path = std::env::var_os("PRAGUE_INPUTS").expect("the name of a file");
    let file = std::fs::File::create(path).expect("a file to write");
    let mut file = std::io::BufWriter::new(file);
    for seed in 1..=PATHS {
        writeln!(file, "path {seed} {}", lockstep::MSS).expect("written");
        for row in rows(&Path::draw(seed)) {
            writeln!(file, "{row}").expect("written");
        }
    }
}
