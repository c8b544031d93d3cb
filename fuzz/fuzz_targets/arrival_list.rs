#![no_main]

#[path = "../../crates/traffic/tests/fuzz_bodies/arrival_list.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
