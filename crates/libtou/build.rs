//! How the shared library presents itself to the linker.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // The name that programs are bound to changes when the ABI does.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtou.so.0");
    // The driver's thread may outlive dlclose(3), so its code stays.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
