#![no_main]

#[path = "../../crates/tcp/tests/fuzz_bodies/connection.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
