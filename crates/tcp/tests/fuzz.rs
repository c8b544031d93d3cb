//! The bodies of the fuzz targets, with random bytes and with the inputs that once found a fault
//! (`fuzz/regressions`). The targets themselves are in `fuzz/`.

#[path = "fuzz_bodies/connection.rs"]
mod connection;
#[path = "fuzz_bodies/segment.rs"]
mod segment;

use proptest::prelude::*;
use windlass_testbed::replay;

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
