//! The packet path in this kernel: whole frames through the programs, and real connections between
//! network namespaces of the tests' own. Needs root and iproute2; where one is missing, each test
//! says so in a line and skips.

mod connection;
mod fallback;
mod flood;
mod frames;
mod life;
mod marks;
mod negotiation;
mod pages;
mod replay;
mod robust;
mod senders;
mod steady;
mod testbed;
mod variants;
mod whole;

use std::process::{Command, Stdio};

/// What is missing, if anything.
fn missing() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("root");
    }
    let ip = Command::new("ip").arg("-V").stdout(Stdio::null()).status();
    (!ip.is_ok_and(|status| status.success())).then_some("iproute2")
}

/// True, after a line that says why, where the test cannot run.
fn skip(test: &str) -> bool {
    match missing() {
        None => false,
        Some(what) => {
            eprintln!("skipped: {test} needs {what}");
            true
        }
    }
}
