//! New-ECN in this kernel, between network namespaces of the tests' own. Needs root, iproute2 and a
//! kernel with struct_ops that takes tracing programs; where one is missing, each test says so in a line and skips.

mod impair;
mod life;
mod testbed;
mod window;

use std::fs;
use std::process::{Command, Stdio};

/// What is missing, if anything.
fn missing() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("root");
    }
    if !Command::new("ip").arg("-V").stdout(Stdio::null()).status().is_ok_and(|s| s.success()) {
        return Some("iproute2");
    }
    let types = fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    let wanted = b"bpf_struct_ops_tcp_congestion_ops\0";
    if !types.windows(wanted.len()).any(|name| name == wanted) {
        return Some("a kernel with BPF struct_ops for TCP and BTF");
    }
    if !windlass_kernel_cc::tracing_is_permitted() {
        return Some("a kernel that takes tracing programs (is it locked down?)");
    }
    None
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
