//! The bodies of the fuzz targets, with random bytes and with the inputs that once found a fault
//! (`fuzz/regressions`). The targets themselves are in `fuzz/`.

#[cfg(feature = "session")]
#[path = "fuzz_bodies/session_host.rs"]
mod session_host;
#[path = "fuzz_bodies/tou_segment.rs"]
mod tou_segment;

use proptest::prelude::*;
use windlass_testbed::replay;

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

#[cfg(feature = "session")]
proptest! {
    #[test]
    fn session_host_takes_any_input(bytes in prop::collection::vec(any::<u8>(), 0..1500)) {
        session_host::run(&bytes);
    }
}

#[cfg(feature = "session")]
#[test]
fn session_host_passes_its_regressions() {
    replay("session_host", session_host::run);
}
