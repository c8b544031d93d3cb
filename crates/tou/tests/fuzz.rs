//! The bodies of the fuzz targets, with random bytes and with the inputs that once found a fault
//! (`fuzz/regressions`). The targets themselves are in `fuzz/`.

#[cfg(feature = "secure")]
#[path = "fuzz_bodies/secure_channel.rs"]
mod secure_channel;
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

#[cfg(feature = "secure")]
proptest! {
    #[test]
    fn secure_channel_takes_any_input(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        secure_channel::run(&bytes);
    }

    /// Without a network that changes bytes, both ends open, and more is reached behind that.
    #[test]
    fn secure_channel_takes_any_input_once_open(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let mut input = [1, 0, 0, 0, 1, 0].to_vec();
        input.extend(bytes);
        secure_channel::run(&input);
    }
}

#[cfg(feature = "secure")]
#[test]
fn secure_channel_carries_bytes_both_ways() {
    let whole = include_bytes!("../../../fuzz/regressions/secure_channel/whole_exchange");
    assert_eq!(secure_channel::exchange(whole), [6400, 12_800]);
    let changed = include_bytes!("../../../fuzz/regressions/secure_channel/changed_record");
    assert_eq!(secure_channel::exchange(changed), [0, 0], "the record was changed");
}

#[cfg(feature = "secure")]
#[test]
fn secure_channel_passes_its_regressions() {
    replay("secure_channel", secure_channel::run);
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
