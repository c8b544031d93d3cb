#![no_main]

#[path = "../../crates/forward/tests/fuzz_bodies/forward_protocol.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
