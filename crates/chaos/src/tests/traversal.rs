//! Sessions between hosts behind NATs keep their promises in random networks.

use crate::traversal::{replay_traversal, run_traversal, run_traversal_range};

/// Enough to meet every kind of network; the long runs are the command's.
const SEEDS: u64 = 300;

#[test]
fn sessions_keep_their_promises_in_random_networks() {
    let summary = run_traversal_range(0..SEEDS, 2, &|_| {});
    let failures: Vec<String> = summary.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    for (what, count) in [
        ("direct paths", summary.direct),
        ("relayed paths", summary.relayed),
        ("hosts without a path", summary.impossible),
        ("seeds with changed datagrams", summary.tampered),
        ("seeds with a rendezvous that lies", summary.lied_to),
    ] {
        assert!(count > SEEDS / 60, "{count} {what} in {SEEDS} seeds");
    }
    assert!(summary.connections > SEEDS, "{} connections", summary.connections);
}

#[test]
fn a_seed_is_one_run_and_no_other() {
    for seed in 0..20 {
        let report = run_traversal(seed);
        assert_eq!(run_traversal(seed), report);
        let mut lines = 0;
        assert_eq!(replay_traversal(seed, &mut |_| lines += 1), report);
        assert!(lines > 10, "seed {seed}");
    }
}

/// Seeds that once broke a promise, and why.
#[test]
fn seeds_that_broke_a_promise_keep_it() {
    let seeds = [
        // All introductions of half a minute were lost.
        2_060_525,
        // The release of a relayed address was lost in a blackout, so the server refused the next one.
        2_035_750,
        // A NAT gave the peer's old address to this host, whose SYN came back.
        2_224_994,
        // Sessions that found no path were sought again through relays that the server had lost.
        2_678_338,
        // The only working pair had been given up, and its checks were ignored.
        5_736_897,
        // The host that was asked kept offering a relay that its server had lost.
        7_294_362,
        // All answers to a request for a relayed address were lost, and the next one was refused.
        11_497_212,
        // Four ACKs of one segment were lost in a row, and the age of the fifth one's timestamp
        // was taken for the round-trip time.
        12_060_279,
        // Both hosts had the same place in the server's table of credits, and ended each other's.
        14_907_183,
        // The host that was asked stayed with a relay that the other one had left.
        16_408_834,
    ];
    for seed in seeds {
        if let Err(failure) = run_traversal(seed) {
            panic!("{failure}");
        }
    }
}
