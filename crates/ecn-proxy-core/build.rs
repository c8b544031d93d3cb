//! Compiles the state machine for the host: the same text that the BPF programs include. Publishes
//! its folder to the build scripts of dependents, as `DEP_WINDLASS_ECN_PROXY_CORE_INCLUDE`.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=c");
    let crate_folder = env::var("CARGO_MANIFEST_DIR").expect("Cargo sets it");
    println!("cargo::metadata=include={crate_folder}/c");
    cc::Build::new()
        .file("c/ecn_proxy_core.c")
        .std("gnu11")
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .compile("windlass_ecn_proxy_core");
}
