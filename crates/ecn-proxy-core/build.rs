//! Compiles the state machine for this machine: the same text that the kernel's programs include.

fn main() {
    println!("cargo:rerun-if-changed=c");
    cc::Build::new()
        .file("c/ecn_proxy_core.c")
        .std("gnu11")
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .compile("ecn_proxy_core");
}
