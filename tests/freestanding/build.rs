//! Makes the linker leave out the C start-up files, the C library and dynamic linking. The linker
//! keeps code that is never called, since that code must not reach the operating system either.

fn main() {
    for arg in ["-nostartfiles", "-nostdlib", "-static", "-no-pie", "-Wl,--no-gc-sections"] {
        println!("cargo:rustc-link-arg-bins={arg}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
