//! The body of the fuzz target, with random bytes and with the inputs in `fuzz/regressions`. The
//! target itself is in `fuzz/`.

#[path = "fuzz_bodies/hostile.rs"]
mod hostile;

use proptest::prelude::*;
use std::fs;
use std::path::Path;

proptest! {
    #[test]
    fn a_probe_takes_any_server(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        hostile::run(&bytes);
    }
}

#[test]
fn a_probe_passes_its_regressions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions/probe");
    let inputs = fs::read_dir(&folder).expect("the target's folder");
    let mut count = 0;
    for input in inputs.flatten() {
        eprintln!("{}", input.path().display());
        hostile::run(&fs::read(input.path()).expect("a readable input"));
        count += 1;
    }
    assert!(count > 0, "no inputs in {}", folder.display());
}
