//! The body of the fuzz target, with random bytes and with the inputs in `fuzz/regressions`. The
//! target itself is in `fuzz/`.

#[path = "fuzz_bodies/frame.rs"]
mod frame;

use proptest::prelude::*;
use windlass_testbed::replay;

proptest! {
    #[test]
    fn frame_takes_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..1_000)) {
        frame::run(&bytes);
    }
}

#[test]
fn frame_passes_its_regressions() {
    replay("frame", frame::run);
}
