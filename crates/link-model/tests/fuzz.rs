//! The body of the fuzz target, with random bytes and with the inputs in `fuzz/regressions`. The
//! target itself is in `fuzz/`.

#[path = "fuzz_bodies/trace.rs"]
mod trace;

use proptest::prelude::*;
use windlass_testbed::replay;

proptest! {
    #[test]
    fn trace_takes_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        trace::run(&bytes);
    }

    #[test]
    fn trace_takes_any_lines(lines in prop::collection::vec("[0-9]{1,12}|#|-1| 7 ", 0..40)) {
        trace::run(lines.join("\n").as_bytes());
    }
}

#[test]
fn trace_passes_its_regressions() {
    replay("trace", trace::run);
}
