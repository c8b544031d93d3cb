//! Compiles the programs.

include!("../bpf/compile.rs");

fn main() -> std::process::ExitCode {
    compile_programs(&["bpf/split_ack.bpf.c"], &["bpf", "../bpf/c"], "windlass split-ack")
}
