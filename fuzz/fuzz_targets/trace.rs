#![no_main]

#[path = "../../crates/link-model/tests/fuzz_bodies/trace.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
