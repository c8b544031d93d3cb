//! Windlass's DualPI2 beside the kernel's: the same packets at the same times through both.
//!
//! `kernel_dualpi2 arrivals MBIT SECONDS RUNS` sends a file of arrivals through both, each of its parts for so many
//! seconds. `kernel_dualpi2 flows MBIT RTT_MS CONTROLLERS SECONDS RUNS` runs simulated TCP flows, one of each
//! controller, such as `cubic,dctcp`. As root, on a kernel with sch_dualpi2. Both print tables in Markdown;
//! `scripts/verify-dualpi2` has a kernel.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("kernel_dualpi2: needs Linux");
    ExitCode::FAILURE
}
