#![no_main]

#[path = "../../crates/probe/tests/fuzz_bodies/object.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
