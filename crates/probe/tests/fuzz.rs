//! The body of the fuzz target, with random bytes and with the inputs in `fuzz/regressions`. The
//! target itself is in `fuzz/`.

#[path = "fuzz_bodies/dialogue.rs"]
mod dialogue;
#[path = "fuzz_bodies/hostile.rs"]
mod hostile;
#[path = "fuzz_bodies/survey.rs"]
mod survey;

use proptest::prelude::*;
use windlass_testbed::replay;

proptest! {
    #[test]
    fn a_probe_takes_any_server(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        hostile::run(&bytes);
    }

    #[test]
    fn a_dialogue_takes_any_server(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        dialogue::run(&bytes);
    }

    #[test]
    fn a_survey_takes_any_lists_and_tables(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        survey::run(&bytes);
    }
}

#[test]
fn a_probe_passes_its_regressions() {
    replay("probe", hostile::run);
}

#[test]
fn a_dialogue_passes_its_regressions() {
    replay("dialogue", dialogue::run);
}

#[test]
fn a_survey_passes_its_regressions() {
    replay("survey", survey::run);
}
