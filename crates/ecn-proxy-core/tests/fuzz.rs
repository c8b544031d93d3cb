//! The body of the fuzz target `ecn_proxy_core`, with random bytes and with the inputs that once found
//! a fault (`fuzz/regressions`). The target itself is in `fuzz/`.

#[path = "fuzz_bodies/machine.rs"]
mod machine;
#[path = "fuzz_bodies/watch.rs"]
mod watch;

use proptest::prelude::*;
use windlass_ecn_proxy_core::Events;
use windlass_testbed::{cases, replay};

proptest! {
    #[test]
    fn machine_takes_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        machine::run(&bytes);
    }
}

#[test]
fn machine_passes_its_regressions() {
    replay("ecn_proxy_core", |bytes| {
        machine::run(bytes);
    });
}

/// A stream of bytes that the seed decides (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// So many sequences of packets, each a connection's life; what happened in all of them, and how many
/// packets they had.
fn live(seed: u64, sequences: u64) -> (Events, u64) {
    let mut random = Random(seed);
    let (mut count, mut events) = (0, Events::empty());
    let mut bytes = vec![0; 2_048];
    for _ in 0..sequences {
        for chunk in bytes.chunks_exact_mut(8) {
            chunk.copy_from_slice(&random.next().to_le_bytes());
        }
        let length = 64 << (random.next() % 6);
        let (seen, passed) = machine::run(&bytes[..length]);
        events |= seen;
        count += passed;
    }
    (events, count)
}

#[test]
fn random_lives_keep_the_promises_and_reach_every_event() {
    let (events, _) = live(1, cases(20_000).max(20_000).into());
    let rare = Events::BOTH | Events::FALLBACK | Events::DESTINATION_FAILED | Events::PLAIN_REFUSED;
    assert_eq!(events | rare, Events::all(), "never seen: {:?}", Events::all() - events);
}

/// `SEQUENCES=100000000 SEED=7 cargo test --release -p windlass-ecn-proxy-core --test fuzz -- --ignored`
#[test]
#[ignore = "as long as SEQUENCES says"]
fn random_lives_in_any_number_keep_the_promises() {
    let number = |name, default| {
        std::env::var(name).ok().and_then(|text: String| text.parse().ok()).unwrap_or(default)
    };
    let (seed, sequences) = (number("SEED", 1), number("SEQUENCES", 1_000_000));
    let (_, packets) = live(seed, sequences);
    eprintln!("{sequences} sequences from seed {seed}, {packets} packets");
}
