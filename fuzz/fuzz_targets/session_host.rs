#![no_main]

#[path = "../../crates/tou/tests/fuzz_bodies/session_host.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
