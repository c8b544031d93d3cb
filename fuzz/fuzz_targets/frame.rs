#![no_main]

#[path = "../../crates/link/tests/fuzz_bodies/frame.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
