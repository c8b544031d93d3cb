#![no_main]

#[path = "../../../crates/probe/tests/fuzz_bodies/dialogue.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run_as("finger", bytes));
