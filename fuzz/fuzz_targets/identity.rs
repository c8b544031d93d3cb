#![no_main]

#[path = "../../crates/identity/tests/fuzz_bodies/identity.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
