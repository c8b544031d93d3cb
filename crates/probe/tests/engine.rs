//! Probes of servers made of the engine, in virtual time: the arithmetic, exactly.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::server::{config, redirect};
use common::{A_TO_E_AND_S, PATH, Path, World, settings};
use std::collections::BTreeSet;
use windlass_base::Span;
use windlass_probe::session::{Failure, Outcome, Runs};
use windlass_probe::split::{Limit, Reaction};
use windlass_probe::{Ending, Session, Settings, Target, Test};
use windlass_probe_serve::{EngineServer, page, says};
use windlass_probe_serve::{Spec, Stack};
use windlass_tcp::{Config, Profile};

const V4: &str = "192.0.2.1:80";
const V6: &str = "[2001:db8::1]:80";

fn measure(world: &mut World<'_>, target: &str, settings: Settings) -> Outcome {
    let target = Target::parse(target).expect("a target");
    let mut session = Session::new(target, settings);
    world.run(&mut session, &[("host.example", "192.0.2.1"), ("other.example", "192.0.2.2")]);
    session.outcome()
}

fn engine(config: Config, bytes: usize, path: Path, tests: &[Test], runs: u32) -> Outcome {
    let mut world = World::new(path, 1).with(V4, EngineServer::new(config, says(page(bytes))));
    measure(&mut world, "http://192.0.2.1/", settings(tests, runs))
}

/// The outcome of a session that stops when it is certain, on a path with this loss.
fn until_certain(loss: f64, seed: u64) -> Outcome {
    let server = EngineServer::new(config(Profile::Rfc2581, 3), says(page(200_000)));
    let mut world = World::new(Path { loss, ..PATH }, seed).with(V4, server);
    let settings = Settings { runs: Runs::UntilCertain { most: 5 }, ..settings(&A_TO_E_AND_S, 5) };
    measure(&mut world, "http://192.0.2.1/", settings)
}

#[test]
fn a_certain_answer_takes_two_rounds_and_others_up_to_five() {
    let clean = until_certain(0.0, 1);
    assert_eq!((clean.runs.len(), reaction(&clean)), (12, Reaction::CountsAcks));
    let mut stopped = 0;
    for seed in 0..40 {
        let outcome = until_certain(0.03, seed);
        let made = outcome.runs.len();
        assert!(made.is_multiple_of(6) && (12..=30).contains(&made), "seed {seed}: {made}");
        let flights = outcome.runs.iter().flat_map(|run| &run.observation);
        let flights: BTreeSet<u32> = flights.map(|run| run.first_flight.sent()).collect();
        if made < 30 {
            let (of, fit) = outcome.verdict.as_ref().expect("measured").runs;
            assert_eq!((of, flights.len()), (fit, 1), "seed {seed}");
            assert!(outcome.runs.iter().all(|run| run.ending == Ending::Measured), "{seed}");
            assert_eq!(reaction(&outcome), Reaction::CountsAcks, "seed {seed}");
            stopped += 1;
        }
    }
    assert!((5..=35).contains(&stopped), "{stopped} of 40 stop early on a path that loses 3 %");
}

fn packets(outcome: &Outcome) -> Vec<(u64, u64, u64)> {
    let stat = |row: &windlass_probe::session::TestRow| {
        (row.data_packets.min, row.data_packets.median, row.data_packets.max)
    };
    outcome.tests.iter().map(stat).collect()
}

fn reaction(outcome: &Outcome) -> Reaction {
    outcome.verdict.as_ref().expect("measured").reaction.clone()
}

#[test]
fn an_ack_counter_with_initial_window_3_sends_9_12_18_30_42_packets_in_100_of_100_runs() {
    for address in [V4, V6] {
        let server = EngineServer::new(config(Profile::Rfc2581, 3), says(page(200_000)));
        let mut world = World::new(PATH, 7).with(address, server);
        let url = format!("http://{}/", address.trim_end_matches(":80"));
        let outcome = measure(&mut world, &url, settings(&A_TO_E_AND_S, 100));
        let expected = [9, 12, 18, 30, 42, 7].map(|packets| (packets, packets, packets));
        assert_eq!(packets(&outcome), expected, "{address}");
        let runs: Vec<(u32, u32)> = outcome.tests.iter().map(|row| row.runs).collect();
        assert_eq!(runs, [(100, 100); 6]);
        let predicted: Vec<u32> =
            outcome.tests.iter().flat_map(|row| row.predicted).map(|p| p.counts_acks).collect();
        assert_eq!(predicted, [9, 12, 18, 30, 42, 7]);
        let verdict = outcome.verdict.expect("measured");
        assert_eq!(verdict.reaction, Reaction::CountsAcks);
        assert_eq!((verdict.gain, verdict.runs), (Some((4, 2.0)), (400, 400)));
        let window = verdict.initial_window.expect("seen");
        assert_eq!((window.packets, window.bytes, window.exact), (3, 3 * mss(address), true));
        assert_eq!(world.resets, 601, "each connection, the scout too, ends with a reset");
    }
}

fn mss(address: &str) -> u64 {
    if address == V4 { 1460 } else { 1440 }
}

#[test]
fn byte_counters_gain_nothing_and_the_stretch_ack_tells_their_limit() {
    for (profile, initial_window, limit, stretch) in [
        (Profile::Rfc5681, 3, Limit::One, 7),
        (Profile::Rfc3465, 4, Limit::Two, 9),
        (Profile::Linux, 10, Limit::None, 16),
        (Profile::Linux, 16, Limit::None, 22),
    ] {
        let config = config(profile, initial_window).with(|c| {
            c.extensions.sack = false;
            c.extensions.timestamps = false;
        });
        let outcome = engine(config, 200_000, PATH, &A_TO_E_AND_S, 3);
        let full = u64::from(initial_window) + 6;
        let expected = [full, full, full, full, full, stretch].map(|n| (n, n, n));
        assert_eq!(packets(&outcome), expected, "{profile:?}");
        assert_eq!(reaction(&outcome), Reaction::CountsBytes { limit: Some(limit) });
        let window = outcome.verdict.and_then(|verdict| verdict.initial_window).expect("seen");
        assert_eq!((window.packets, window.exact), (initial_window, true));
    }
}

fn stack(stack: Stack) -> Outcome {
    let spec = Spec {
        address: "192.0.2.1".parse().expect("an address"),
        stack,
        initial_window: 3,
        mss: 1460,
        rtt_ms: 0.0,
        loss: 0.0,
        page_bytes: 200_000,
        controller: None,
    };
    let mut world = World::new(PATH, 1).with(V4, spec.server().expect("answers"));
    measure(&mut world, "http://192.0.2.1/", settings(&A_TO_E_AND_S, 3))
}

#[test]
fn as_windows_2003_it_sends_twice_as_much_at_a_split_of_4_and_three_times_at_12() {
    let outcome = stack(Stack::Windows2003);
    assert_eq!(packets(&outcome), [9, 12, 18, 27, 27, 7].map(|n| (n, n, n)));
    let verdict = outcome.verdict.expect("measured");
    assert_eq!((verdict.reaction, verdict.gain), (Reaction::CountsAcks, Some((4, 2.0))));
    let limit = "6 of 18 runs: growth up to a limit of the data in flight, and no more";
    assert!(verdict.notes.iter().any(|note| note == limit), "{:?}", verdict.notes);
}

#[test]
fn as_freebsd_7_it_sends_as_many_packets_but_smaller_ones_and_more_again() {
    let outcome = stack(Stack::FreeBsd7);
    assert_eq!(reaction(&outcome), Reaction::Negative);
    assert_eq!(packets(&outcome), [9, 9, 9, 9, 9, 7].map(|n| (n, n, n)));
    for pair in outcome.tests[..5].windows(2) {
        let (less, more) = (&pair[0], &pair[1]);
        assert!(less.bytes.median > more.bytes.median, "{more:?}");
        assert!(less.retransmissions.median < more.retransmissions.median, "{more:?}");
    }
}

#[test]
fn initial_windows_from_1_to_40_and_round_trips_from_2_to_300_ms_are_measured_exactly() {
    for initial_window in [1, 2, 5, 40] {
        for delay_ms in [1, 5, 150] {
            let path = Path { delay: Span::from_millis(delay_ms), loss: 0.0 };
            let tests = [Test::Split(1), Test::Split(4)];
            let outcome =
                engine(config(Profile::Rfc2581, initial_window), 400_000, path, &tests, 2);
            let verdict = outcome.verdict.clone().expect("measured");
            let window = verdict.initial_window.expect("seen");
            assert_eq!((window.packets, window.exact), (initial_window, true), "{delay_ms} ms");
            assert_eq!(verdict.reaction, Reaction::CountsAcks, "{delay_ms} ms");
            let rtt = outcome.tests[0].rtt_ms.expect("known");
            assert!((rtt - 2.0 * delay_ms as f64).abs() < 0.01, "{rtt} ms");
        }
    }
}

#[test]
fn one_percent_of_loss_leaves_the_verdict() {
    let path = Path { loss: 0.01, ..PATH };
    for (profile, acks) in [(Profile::Rfc2581, true), (Profile::Linux, false)] {
        let outcome = engine(config(profile, 4), 200_000, path, &A_TO_E_AND_S, 5);
        assert_eq!(matches!(reaction(&outcome), Reaction::CountsAcks), acks);
        let window = outcome.verdict.and_then(|verdict| verdict.initial_window).expect("seen");
        assert_eq!(window.packets, 4);
    }
}

#[test]
fn an_initial_window_is_exact_only_where_loss_did_not_shorten_it() {
    let (mut exact, mut all) = (0, 0);
    for loss in [0.01, 0.05, 0.15] {
        for seed in 0..20 {
            let server = EngineServer::new(config(Profile::Rfc2581, 10), says(page(200_000)));
            let mut world = World::new(Path { loss, ..PATH }, seed).with(V4, server);
            let tests = [Test::Split(1), Test::Split(4)];
            let outcome = measure(&mut world, "http://192.0.2.1/", settings(&tests, 1));
            let Some(window) = outcome.verdict.and_then(|verdict| verdict.initial_window) else {
                continue;
            };
            all += 1;
            if window.exact {
                exact += 1;
                let found = (window.packets, window.segments, window.bytes);
                assert_eq!(found, (10, 10, 14_600), "loss {loss}, seed {seed}");
            }
        }
    }
    assert!(exact > all / 2, "{exact} of {all}");
}

#[test]
fn a_split_in_1024_is_as_many_acks() {
    let tests = [Test::Split(1), Test::Split(1024)];
    let outcome = engine(config(Profile::Rfc2581, 3), 8_000_000, PATH, &tests, 1);
    let row = &outcome.tests[1];
    assert_eq!(row.acks.median, 3 * 1024);
    // The server's send buffer and the window hold less than its cwnd would send.
    assert!(row.data_packets.median > 700, "{row:?}");
}

#[test]
fn a_server_without_window_scaling_gets_smaller_segments_so_that_the_growth_fits() {
    let config = config(Profile::Rfc2581, 10).with(|c| c.extensions.window_scaling = false);
    let outcome = engine(config, 200_000, PATH, &A_TO_E_AND_S, 1);
    assert_eq!(outcome.tests[4].data_packets.median, 10 + 3 + 36);
    assert_eq!(reaction(&outcome), Reaction::CountsAcks);
    assert!(outcome.tests[4].mss_seen.median < 1300);
}

/// A small initial window and the growth of any test fit into 64 KB at the usual MSS. A larger one does
/// not with test E alone.
#[test]
fn without_window_scaling_windows_are_those_at_the_usual_mss() {
    for (initial_window, reduced) in [(3, 0), (10, 2)] {
        let config =
            config(Profile::Rfc2581, initial_window).with(|c| c.extensions.window_scaling = false);
        let outcome = engine(config, 200_000, PATH, &A_TO_E_AND_S, 2);
        let usual = outcome.tests.iter().filter(|row| row.mss_seen.min == 1460).count();
        assert_eq!(usual, if reduced > 0 { 5 } else { 6 });
        let verdict = outcome.verdict.expect("measured");
        assert_eq!(verdict.reaction, Reaction::CountsAcks);
        let window = verdict.initial_window.expect("seen");
        let bytes = u64::from(initial_window) * 1460;
        assert_eq!((window.packets, window.bytes, window.exact), (initial_window, bytes, true));
        let notes: Vec<&String> =
            verdict.notes.iter().filter(|note| note.contains("announced")).collect();
        let expected = format!("{reduced} of 12 runs: an MSS of 1191 announced");
        let said = notes.iter().any(|note| note.starts_with(&expected));
        assert_eq!(said, reduced > 0, "{notes:?}");
    }
}

#[test]
fn the_port_is_found_and_redirects_are_followed() {
    let server = || config(Profile::Rfc2581, 3);
    let mut world = World::new(PATH, 3)
        .with(
            "192.0.2.1:8080",
            EngineServer::new(server(), says(redirect("http://other.example/x"))),
        )
        .with("192.0.2.2:80", EngineServer::new(server(), says(page(100_000))));
    let outcome = measure(&mut world, "host.example", settings(&[Test::BASELINE], 1));
    assert_eq!(outcome.failure, None);
    assert_eq!(outcome.url.as_deref(), Some("http://other.example/x"));
    assert_eq!(outcome.tests[0].data_packets.median, 9);
}

#[test]
fn redirects_in_a_circle_end() {
    let server = EngineServer::new(config(Profile::Rfc2581, 3), says(redirect("/again")));
    let mut world = World::new(PATH, 3).with(V4, server);
    let outcome = measure(&mut world, "http://192.0.2.1/", settings(&[Test::BASELINE], 1));
    assert!(matches!(outcome.failure, Some(Failure::Redirects { .. })), "{:?}", outcome.failure);
}

#[test]
fn an_answer_that_fits_into_the_first_flight_is_too_short_and_bounds_the_initial_window() {
    let outcome = engine(config(Profile::Rfc2581, 10), 5_000, PATH, &A_TO_E_AND_S, 5);
    assert_eq!(outcome.runs.len(), 3, "it gives up");
    assert!(outcome.runs.iter().all(|run| run.ending == Ending::TooShort));
    let verdict = outcome.verdict.expect("judged");
    assert!(!verdict.is_decided());
    let window = verdict.initial_window.expect("seen");
    assert_eq!((window.packets, window.exact), (4, false));
}

#[test]
fn without_a_congestion_window_the_flight_follows_the_receive_window() {
    let config = config(Profile::Rfc2581, 5000).with(|c| c.buffers.send = 4 << 20);
    let outcome = engine(config, 3_000_000, PATH, &[Test::Split(1), Test::Split(4)], 3);
    assert_eq!(reaction(&outcome), Reaction::NoCongestionWindow);
}

#[test]
fn congestion_avoidance_is_no_slow_start() {
    let config = config(Profile::Rfc2581, 10).with(|c| c.window.initial_ssthresh = Some(2 * 1460));
    let outcome = engine(config, 200_000, PATH, &[Test::Split(1), Test::Split(2)], 3);
    assert!(
        matches!(reaction(&outcome), Reaction::NoGrowth | Reaction::Undecided { .. }),
        "{}",
        reaction(&outcome)
    );
}

#[test]
fn a_name_without_address_and_a_family_without_one_are_reported() {
    let mut world = World::new(PATH, 3);
    let outcome = measure(&mut world, "nowhere.example", settings(&[Test::BASELINE], 1));
    assert!(matches!(outcome.failure, Some(Failure::NoSuchHost { .. })));
    let only_v6 = Settings {
        family: Some(windlass_probe::session::Family::V6),
        ..settings(&[Test::BASELINE], 1)
    };
    let outcome = measure(&mut world, "host.example", only_v6);
    assert!(matches!(outcome.failure, Some(Failure::NoSuchHost { .. })));
}
