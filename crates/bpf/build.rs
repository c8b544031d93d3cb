//! Publishes the folder of C headers to the build scripts of dependents, as
//! `DEP_WINDLASS_BPF_INCLUDE`.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=c");
    let crate_folder = env::var("CARGO_MANIFEST_DIR").expect("Cargo sets it");
    println!("cargo::metadata=include={crate_folder}/c");
}
