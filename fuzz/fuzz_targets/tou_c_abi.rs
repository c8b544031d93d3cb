#![no_main]

#[path = "../../crates/libtou/tests/fuzz_bodies/tou_c_abi.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
