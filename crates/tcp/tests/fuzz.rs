//! The bodies of the fuzz targets, with random bytes and with the inputs that once found a fault
//! (`fuzz/regressions`). The targets themselves are in `fuzz/`.

#[path = "fuzz_bodies/connection.rs"]
mod connection;
#[path = "fuzz_bodies/segment.rs"]
mod segment;

use proptest::prelude::*;
use std::fs;
use std::path::Path;

proptest! {
    #[test]
    fn segment_takes_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        segment::run(&bytes);
    }

    #[test]
    fn connection_takes_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        connection::run(&bytes);
    }
}

#[test]
fn segment_passes_its_regressions() {
    replay("segment", segment::run);
}

#[test]
fn connection_passes_its_regressions() {
    replay("connection", connection::run);
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
