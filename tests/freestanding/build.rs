//! Tells the linker to leave out the C start-up files, the C library and everything dynamic, and
//! to keep code that nothing calls: it must not reach the operating system either.

fn main() {
    for arg in ["-nostartfiles", "-nostdlib", "-static", "-no-pie", "-Wl,--no-gc-sections"] {
        println!("cargo:rustc-link-arg-bins={arg}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
