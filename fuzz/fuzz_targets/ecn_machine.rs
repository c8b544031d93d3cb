#![no_main]

#[path = "../../crates/ecn-machine/tests/fuzz_bodies/machine.rs"]
mod machine;
#[path = "../../crates/ecn-machine/tests/fuzz_bodies/watch.rs"]
mod watch;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    machine::run(bytes);
});
