//! Compiles the tc programs.

include!("../bpf/compile.rs");

/// The proxy, and what the tests mark its path's packets with.
const PROGRAMS: [&str; 2] = ["bpf/ecn_proxy.bpf.c", "tests/datapath/mark.bpf.c"];
/// With the state machine, the same text that the simulator runs.
const HEADERS: [&str; 3] = ["bpf", "../ecn-proxy-core/c", "../bpf/c"];

fn main() -> std::process::ExitCode {
    compile_programs(&PROGRAMS, &HEADERS, "windlass ecn-proxy")
}
