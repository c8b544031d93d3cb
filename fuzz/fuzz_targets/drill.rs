#![no_main]

#[path = "../../crates/drill/tests/fuzz_bodies/drill.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
