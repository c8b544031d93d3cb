//! Compiles the tc program.

use std::process::ExitCode;
use windlass_bpf_build::Programs;

fn main() -> ExitCode {
    Programs::new("windlass split-ack", &["bpf/split_ack.bpf.c"])
        .headers("bpf")
        .headers_of("WINDLASS_BPF")
        .compile()
}
