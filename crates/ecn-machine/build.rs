//! Compiles the state machine for this machine: the same text that the kernel's programs include.

fn main() {
    println!("cargo:rerun-if-changed=c");
    cc::Build::new()
        .file("c/ecn_machine.c")
        .std("gnu11")
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .compile("ecn_machine");
}
