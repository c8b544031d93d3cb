//! The body of the fuzz target, with random bytes and with the inputs in `fuzz/regressions`. The
//! target itself is in `fuzz/`.

#[path = "fuzz_bodies/stack.rs"]
mod stack;

use proptest::prelude::*;
use windlass_testbed::replay;

proptest! {
    #[test]
    fn the_stack_takes_any_steps(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        stack::run(&bytes);
    }
}

#[test]
fn the_stack_passes_its_regressions() {
    replay("capture_stack", stack::run);
}
