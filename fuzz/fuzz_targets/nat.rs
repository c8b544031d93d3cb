#![no_main]

#[path = "../../crates/nat/tests/fuzz_bodies/nat.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
