//! Compiles the BPF programs.

include!("../bpf/compile.rs");

/// The controller, and what the tests impair its path with.
const PROGRAMS: [&str; 2] = ["src/bpf/new_ecn.bpf.c", "tests/kernel/impair.bpf.c"];

fn main() -> std::process::ExitCode {
    compile_programs(&PROGRAMS, &["src/bpf"], "windlass cc")
}
