//! Compiles the tc programs, and the one that marks packets in the tests.

use std::process::ExitCode;
use windlass_bpf_build::Programs;

const SOURCES: [&str; 3] =
    ["bpf/ecn_proxy.bpf.c", "bpf/ecn_proxy_without_types.bpf.c", "tests/datapath/mark.bpf.c"];

fn main() -> ExitCode {
    Programs::new("windlass ecn-proxy", &SOURCES)
        .headers("bpf")
        .headers_of("WINDLASS_ECN_PROXY_CORE")
        .headers_of("WINDLASS_BPF")
        .compile()
}
