//! Seeds keep what the crate promises: invariants hold, and a seed is one run and no other.

use crate::{Features, replay, run_range, run_seed};
use std::sync::Mutex;

const DRAWN: &Features = &Features { modern: false, ecn_proxy: false, controller: None };
const MODERN: &Features = &Features { modern: true, ecn_proxy: false, controller: None };
const PROXIES: &Features = &Features { modern: false, ecn_proxy: true, controller: None };

/// Enough to meet every feature; the long runs are the command's.
const SEEDS: u64 = 400;

fn log(seed: u64, features: &Features) -> (Vec<String>, Option<u64>) {
    let mut lines = Vec::new();
    let report = replay(seed, features, &mut |line| lines.push(line.to_owned()));
    (lines, report.ok().map(|report| report.digest))
}

#[test]
fn seeds_break_nothing_and_meet_everything() {
    let summary = run_range(0..SEEDS, DRAWN, 2, &|_| {});
    let failures: Vec<String> = summary.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(summary.seeds, SEEDS);
    assert!(summary.orderly > SEEDS / 2, "most connections end orderly");
    assert!(summary.failed_ends > SEEDS / 20, "some are reset, aborted or time out");
    assert!(summary.bytes > 1_000_000, "{} bytes", summary.bytes);
    for (what, count) in [
        ("timeouts", summary.timeouts),
        ("fast retransmits", summary.fast_retransmits),
        ("window probes", summary.window_probes),
        ("ECN cuts", summary.ecn_cuts),
        ("connections with AccECN", summary.accurate),
        ("undone cuts", summary.undone_cuts),
        ("probes of F-RTO", summary.frto_probes),
    ] {
        assert!(count > 0, "no {what} in {SEEDS} seeds");
    }
}

/// RACK-TLP, PRR, HyStart++, F-RTO, undo, pacing and Linux's ACKs, all at both ends.
#[test]
fn seeds_break_nothing_with_the_options_of_tou() {
    let summary = run_range(0..SEEDS / 4, MODERN, 2, &|_| {});
    let failures: Vec<String> = summary.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(summary.orderly > SEEDS / 8, "most connections end orderly");
    assert!(summary.undone_cuts > 0 && summary.frto_probes > 0, "{summary}");
}

/// Proxies before one end or both, every policy.
#[test]
fn seeds_break_nothing_through_ecn_proxies() {
    let summary = run_range(0..SEEDS / 2, PROXIES, 2, &|_| {});
    let failures: Vec<String> = summary.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(summary.orderly > SEEDS / 4, "most connections end orderly");
    let sums = summary.proxies;
    for (what, count) in [
        ("connections served", sums.served),
        ("virtual losses", sums.virtual_losses),
        ("retransmissions answered", sums.self_answers),
        ("packets dropped", sums.dropped),
        ("marks for receivers", sums.marks),
    ] {
        assert!(count > 0, "no {what} in {} seeds", summary.seeds);
    }
}

#[test]
fn a_seed_is_one_run() {
    for seed in 0..40 {
        for features in [DRAWN, PROXIES] {
            let (first, digest) = log(seed, features);
            let (second, _) = log(seed, features);
            assert!(first == second, "seed {seed} ran in two ways");
            assert!(first.len() > 5, "seed {seed} tells nothing");
            let report = run_seed(seed, features).expect("checked by the other tests");
            assert_eq!(Some(report.digest), digest, "listening changes nothing");
        }
    }
}

#[test]
fn the_number_of_jobs_changes_nothing() {
    let seen = Mutex::new(0);
    let one = run_range(100..300, DRAWN, 1, &|done| {
        let mut seen = seen.lock().expect("no thread panicked");
        *seen = done.max(*seen);
    });
    assert_eq!(one, run_range(100..300, DRAWN, 2, &|_| {}));
    assert_eq!(*seen.lock().expect("no thread panicked"), 200);
}

/// One end aborts while its SYN-ACK's answer is lost; its reset is off by what was lost, so it is
/// challenged (RFC 9293 §3.10.7.4), and the other end, whose challenge is lost, times out.
#[test]
fn a_reset_that_is_challenged_answers_nothing() {
    run_seed(864_003, DRAWN).expect("to time out is explained");
}

/// A probe of the tail is the FIN alone; what a timeout sends again later is no probe, and without
/// congestion control all of it goes at once.
#[test]
fn a_fin_alone_may_be_a_probe() {
    run_seed(12_974, MODERN).expect("the probe was the FIN");
}

/// Three duplicate ACKs begin a repair, which ends the hold of a window that an echo has cut, while the
/// retransmission waits for the pacer.
#[test]
fn a_repair_may_begin_before_it_is_sent() {
    run_seed(109_942, PROXIES).expect("the repair had begun");
}

/// The ACK after a tail loss probe cuts the window, so that the echo after it does not.
#[test]
fn the_answer_to_a_probe_may_cut_the_window() {
    run_seed(391_018, PROXIES).expect("the probe had repaired a loss");
}

/// A reader that takes a byte a second from a buffer of one is slow, and no stall.
#[test]
fn a_small_buffer_makes_many_reads() {
    for seed in [100_933, 648_549] {
        run_seed(seed, MODERN).expect("all is read at last");
    }
}

/// An old ACK, late by reordering, does not answer a keep-alive probe (RFC 9293 §3.8.4).
#[test]
fn an_old_segment_does_not_keep_alive() {
    run_seed(385_061, MODERN).expect("nothing new was heard");
}

/// The peer is heard of all the time, but refuses what is sent again: its ACK is too old for a window
/// of one byte (RFC 5961 §5.2).
#[test]
fn a_peer_that_only_refuses_retransmissions_times_out() {
    run_seed(886_828, DRAWN).expect("to time out is explained");
}

/// Before the first sample of the RTT each ACK that came made all that was just sent again look lost,
/// and without congestion control all of it went out once more, for each ACK.
#[test]
fn without_a_round_trip_time_an_ack_tells_nothing_of_copies() {
    run_seed(756_883, DRAWN).expect("it is answered");
}

/// The queue before the ACKs has filled since the least RTT was measured, so that without timestamps
/// those of originals look like those of copies (RFC 8985 §6.2 step 2), one after the other.
#[test]
fn rack_may_send_again_for_each_ack() {
    run_seed(903_607, DRAWN).expect("it is answered");
}

/// Both open at once; the far end's SYN-ACK passes the proxy before its SYN, and gets lost behind it. The
/// host's SYN-ACK, for the SYN, was taken for one of a new connection.
#[test]
fn a_proxy_serves_on_where_a_syn_comes_after_its_syn_ack() {
    run_seed(17_553, PROXIES).expect("no ECN is seen");
}

/// The window that duplicates of a virtual loss repeat came from an ACK that was overtaken.
#[test]
fn the_window_of_an_ack_that_was_overtaken_is_not_frozen() {
    for seed in [1_540, 13_660, 16_343] {
        run_seed(seed, PROXIES).expect("no window beyond what was promised");
    }
}
