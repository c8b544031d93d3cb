//! Compiles the congestion controller, and the program that impairs the path in the tests.

use std::process::ExitCode;
use windlass_bpf_build::Programs;

const SOURCES: [&str; 2] = ["src/bpf/new_ecn.bpf.c", "tests/kernel/impair.bpf.c"];

fn main() -> ExitCode {
    Programs::new("windlass cc", &SOURCES).headers("src/bpf").compile()
}
