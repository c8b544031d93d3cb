//! The body of the fuzz target, with random bytes and with the inputs in `fuzz/regressions`. The
//! target itself is in `fuzz/`.

#[path = "fuzz_bodies/arrival_list.rs"]
mod arrival_list;

use proptest::prelude::*;
use windlass_testbed::replay;

proptest! {
    #[test]
    fn a_list_takes_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        arrival_list::run(&bytes);
    }

    #[test]
    fn a_list_takes_any_lines(
        lines in prop::collection::vec("[0-9.e+-]{1,12}[, \t]{1,3}[0-9.]{1,21}|#|1 ", 0..20),
    ) {
        arrival_list::run(lines.join("\n").as_bytes());
    }
}

#[test]
fn lists_pass_their_regressions() {
    replay("arrival_list", arrival_list::run);
}
