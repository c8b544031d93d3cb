//! Linker options of the shared library.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Programs are linked against this name, which changes with the ABI.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtou.so.1");
    // The I/O thread may still run after dlclose(3), so the code must stay loaded.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
