#![no_main]

#[path = "../../crates/capture/tests/fuzz_bodies/stack.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
