#![no_main]

#[path = "../../crates/rendezvous/tests/fuzz_bodies/behavior.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
