#![no_main]

#[path = "../../crates/tou/tests/fuzz_bodies/secure_channel.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
