#![no_main]

#[path = "../../crates/rendezvous/tests/fuzz_bodies/rendezvous_server.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
