//! The bodies of the fuzz targets, with random bytes and with the inputs that once found a fault
//! (`fuzz/regressions`). The targets themselves are in `fuzz/`.

#[path = "fuzz_bodies/tou_segment.rs"]
mod tou_segment;

use proptest::prelude::*;
use std::fs;
use std::path::Path;

proptest! {
    #[test]
    fn tou_segment_takes_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        tou_segment::run(&bytes);
    }
}

#[test]
fn tou_segment_passes_its_regressions() {
    replay("tou_segment", tou_segment::run);
}

fn replay(target: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions").join(target);
    let mut inputs: Vec<_> = fs::read_dir(&folder)
        .expect("the target's folder")
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "no inputs in {}", folder.display());
    for input in inputs {
        eprintln!("{}", input.display());
        body(&fs::read(&input).expect("a readable input"));
    }
}
