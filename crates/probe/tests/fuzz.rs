//! The body of the fuzz target, with random bytes and with the inputs in `fuzz/regressions`. The
//! target itself is in `fuzz/`.

#[path = "fuzz_bodies/hostile.rs"]
mod hostile;
#[path = "fuzz_bodies/survey.rs"]
mod survey;

use proptest::prelude::*;
use std::fs;
use std::path::Path;

proptest! {
    #[test]
    fn a_probe_takes_any_server(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        hostile::run(&bytes);
    }

    #[test]
    fn a_survey_takes_any_lists_and_tables(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        survey::run(&bytes);
    }
}

#[test]
fn a_probe_passes_its_regressions() {
    pass_regressions("probe", hostile::run);
}

#[test]
fn a_survey_passes_its_regressions() {
    pass_regressions("survey", survey::run);
}

fn pass_regressions(target: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions").join(target);
    let inputs = fs::read_dir(&folder).expect("the target's folder");
    let mut count = 0;
    for input in inputs.flatten() {
        eprintln!("{}", input.path().display());
        body(&fs::read(input.path()).expect("a readable input"));
        count += 1;
    }
    assert!(count > 0, "no inputs in {}", folder.display());
}
