#![no_main]

#[path = "../../crates/ecn-proxy-core/tests/fuzz_bodies/machine.rs"]
mod machine;
#[path = "../../crates/ecn-proxy-core/tests/fuzz_bodies/watch.rs"]
mod watch;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    machine::run(bytes);
});
