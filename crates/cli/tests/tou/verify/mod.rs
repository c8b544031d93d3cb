//! ToU as people use it: real programs and servers on two hosts behind NATs, over a link with delay
//! and loss, as root. `make verify-tou` runs it and prints the tables of docs/results/tou-sessions.md.

mod kills;
mod opening;
mod programs;
mod servers;
mod soak;

use crate::cell::Cell;
use std::process::Command;
use std::time::{Duration, Instant};
use windlass_testbed::nat::{Crossing, Family, Gateway};
use windlass_testbed::text;

/// Both hosts behind NATs that admit answers only (port-restricted), and a link with this delay one
/// way and this loss.
fn behind_nats(delay: &str, loss: f64) -> Cell {
    let gateway = Gateway::Masquerade;
    let mut cell = Cell::new(Crossing::new("tv", Family::V4, gateway, gateway));
    cell.emulate(delay, loss);
    cell
}

/// Runs a command to its end. Returns its standard output and the time that it took.
///
/// # Panics
///
/// If it fails, with its standard error.
#[track_caller]
fn finish(mut command: Command) -> (Vec<u8>, Duration) {
    let start = Instant::now();
    let done = command.output().expect("starts");
    assert!(done.status.success(), "{command:?}: {}\n{}", done.status, text(&done.stderr));
    (done.stdout, start.elapsed())
}

/// The SHA-256 of a file or of bytes, in hexadecimal.
fn sha256(bytes: &[u8]) -> String {
    use std::io::Write;
    use std::process::Stdio;
    let mut command = Command::new("sha256sum");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("coreutils");
    child.stdin.take().expect("piped").write_all(bytes).expect("it reads");
    let printed = text(&child.wait_with_output().expect("a child").stdout);
    printed.split(' ').next().unwrap_or_default().to_owned()
}
