use super::*;
use crate::name::name;
use crate::topic::split::{Exchanged, Flight, run_of as run};
use proptest::prelude::*;

const ALL: [Test; 6] = [
    Test::Split(1),
    Test::Split(2),
    Test::Split(4),
    Test::Split(8),
    Test::Split(12),
    Test::Stretch,
];

fn report(observation: Observation) -> Report {
    Report { rtt_ms: Some(10.0), observation: Some(observation), ..Report::new(Ending::Measured) }
}

fn reports(model: Model, initial_window: u32, k: u32, rounds: u32) -> Vec<Report> {
    let round = || ALL.map(|test| report(run(model, test, initial_window, k)));
    (0..rounds).flat_map(|_| round()).collect()
}

fn expected(model: Model) -> Reaction {
    match model {
        Model::PerAck => Reaction::CountsAcks,
        Model::PerByte { limit: 1 } => Reaction::CountsBytes { limit: Some(Limit::One) },
        Model::PerByte { .. } => Reaction::CountsBytes { limit: Some(Limit::Two) },
        Model::PerByteUnlimited => Reaction::CountsBytes { limit: Some(Limit::None) },
        Model::PerAcks { segments, acks } => Reaction::CountsAcksAtRate { segments, acks },
        Model::NoGrowth => Reaction::NoGrowth,
    }
}

fn any_model() -> impl Strategy<Value = Model> {
    prop_oneof![
        Just(Model::PerAck),
        Just(Model::PerByte { limit: 1 }),
        Just(Model::PerByte { limit: 2 }),
        Just(Model::PerByteUnlimited),
        Just(Model::NoGrowth),
        prop_oneof![
            Just((1, 3)),
            Just((1, 2)),
            Just((3, 2)),
            Just((2, 1)),
            Just((3, 1)),
            Just((4, 1))
        ]
        .prop_map(|(segments, acks)| Model::PerAcks { segments, acks }),
    ]
}

proptest! {
    #[test]
    fn every_model_is_recognized_by_its_own_runs(
        model in any_model(), initial_window in 3u32..40, k in 3u32..8, rounds in 1u32..6
    ) {
        let verdict = classify(&reports(model, initial_window, k, rounds), false);
        prop_assert_eq!(&verdict.reaction, &expected(model));
        prop_assert_eq!(verdict.runs.0, verdict.runs.1);
        prop_assert!(verdict.confidence >= 0.75 && verdict.confidence < 1.0);
        let window = verdict.initial_window.expect("seen");
        prop_assert_eq!((window.packets, window.exact), (initial_window, true));
    }

    #[test]
    fn a_fifth_of_runs_that_lost_packets_changes_nothing_but_the_confidence(
        model in any_model(), initial_window in 3u32..20, lost in 1u32..4
    ) {
        let mut all = reports(model, initial_window, 3, 5);
        // Two of the twenty runs with split ACKs.
        for report in [1, 8] {
            let run = all[report].observation.as_mut().expect("there");
            run.grown = run.grown.saturating_sub(lost);
        }
        let verdict = classify(&all, false);
        prop_assert_eq!(&verdict.reaction, &expected(model));
        prop_assert!(verdict.runs.1 < verdict.runs.0);
    }

    #[test]
    fn an_initial_window_of_one_or_two_still_tells(
        initial_window in 1u32..3, counts_acks: bool
    ) {
        let model = if counts_acks { Model::PerAck } else { Model::PerByteUnlimited };
        let reaction = classify(&reports(model, initial_window, 3, 3), false).reaction;
        prop_assert_eq!(matches!(reaction, Reaction::CountsAcks), counts_acks);
        prop_assert_eq!(matches!(reaction, Reaction::CountsBytes { .. }), !counts_acks);
    }

    #[test]
    fn any_numbers_give_a_verdict(
        runs in prop::collection::vec(
            (0usize..6, prop::collection::vec(0u32..3000, 0..5), any::<u32>(), any::<[bool; 3]>(),
             0u32..3000, 0u32..100),
            0..20),
        https: bool,
    ) {
        let reports: Vec<Report> = runs
            .into_iter()
            .map(|(test, acked, grown, flags, mss_seen, retransmissions)| {
                let base = run(Model::PerAck, ALL[test], 3, 3);
                report(Observation {
                    acked, mss_seen, retransmissions,
                    grown: grown % 5000,
                    timeout_before_acks: flags[0],
                    fills_window: flags[1],
                    answer_ended: flags[2],
                    ..base
                })
            })
            .collect();
        let verdict = classify(&reports, https);
        prop_assert!((0.0..1.0).contains(&verdict.confidence));
        prop_assert_eq!(verdict.is_decided(), verdict.confidence > 0.0);
        prop_assert!(verdict.runs.1 <= verdict.runs.0);
    }
}

fn why(reports: &[Report]) -> String {
    match classify(reports, false).reaction {
        Reaction::Undecided { why } => why,
        other => panic!("{other}"),
    }
}

/// A window of one packet, and a head that a server has written by itself: at a split of 2 counting ACKs and
/// counting packets may be the same.
#[test]
fn runs_that_fit_both_models_tell_nothing() {
    for (model, counts_acks) in [(Model::PerAck, true), (Model::PerByteUnlimited, false)] {
        let mut all = reports(model, 1, 3, 3);
        for run in all.iter_mut().flat_map(|report| &mut report.observation) {
            let packets = *model.new_packets(run).end();
            (run.acked, run.grown) = (vec![204], packets);
            run.grown_bytes = u64::from(packets * run.mss_seen);
        }
        let verdict = classify(&all, false);
        assert_eq!(verdict.reaction == Reaction::CountsAcks, counts_acks, "{verdict:?}");
        assert!(verdict.is_decided(), "{verdict:?}");
    }
}

#[test]
fn the_gain_is_that_at_a_split_of_4() {
    let verdict = classify(&reports(Model::PerAck, 3, 3, 1), false);
    assert_eq!(verdict.gain, Some((4, 2.0)));
    let verdict = classify(&reports(Model::PerByteUnlimited, 10, 3, 1), false);
    assert_eq!(verdict.gain, Some((4, 1.0)));
}

#[test]
fn without_the_stretch_ack_the_limit_is_not_known() {
    let mut some = reports(Model::PerByte { limit: 2 }, 10, 3, 2);
    some.retain(|report| report.observation.as_ref().is_some_and(|o| o.test != Test::Stretch));
    assert_eq!(classify(&some, false).reaction, Reaction::CountsBytes { limit: None });
}

#[test]
fn runs_that_were_not_measured_are_named_by_how_they_ended() {
    assert_eq!(why(&[]), "nothing was measured");
    let mut reset = report(run(Model::PerAck, Test::Split(1), 3, 3));
    reset.ending = Ending::Reset;
    assert_eq!(why(&[reset]), "reset by the server");
}

#[test]
fn a_timeout_before_the_acks_leaves_nothing_to_say_of_slow_start() {
    let mut all = reports(Model::PerAck, 3, 3, 1);
    all.iter_mut().flat_map(|r| &mut r.observation).for_each(|run| run.timeout_before_acks = true);
    assert!(why(&all).contains("timer"));
    let window = classify(&all, false).initial_window.expect("seen");
    assert!(!window.exact);
}

#[test]
fn a_flight_that_fills_the_receive_window_decides_only_if_it_follows_it() {
    let mut all = reports(Model::NoGrowth, 100, 3, 1);
    all.iter_mut().flat_map(|r| &mut r.observation).for_each(|run| run.fills_window = true);
    assert!(why(&all).contains("of one size"));
    all.iter_mut().step_by(2).flat_map(|r| &mut r.observation).for_each(|run| run.window /= 2);
    assert_eq!(classify(&all, false).reaction, Reaction::NoCongestionWindow);
}

#[test]
fn less_new_data_or_more_of_the_old_is_negative() {
    let splits = |all: &mut Vec<Report>, change: &dyn Fn(&mut Observation)| {
        all.iter_mut()
            .flat_map(|report| &mut report.observation)
            .filter(|run| run.test.parts() > 1)
            .for_each(change);
    };
    let mut less = reports(Model::PerByteUnlimited, 10, 3, 2);
    splits(&mut less, &|run| run.grown = 1);
    assert_eq!(classify(&less, false).reaction, Reaction::Negative);
    let mut shorter = reports(Model::PerByteUnlimited, 10, 3, 2);
    splits(&mut shorter, &|run| run.grown_bytes /= 2);
    assert_eq!(
        classify(&shorter, false).reaction,
        Reaction::Negative,
        "as many packets, fewer bytes"
    );
    let mut again = reports(Model::PerByteUnlimited, 10, 3, 2);
    splits(&mut again, &|run| run.retransmissions = 3 + u32::from(run.test.parts()));
    assert_eq!(classify(&again, false).reaction, Reaction::Negative);
}

#[test]
fn growth_by_no_known_formula_is_undecided_and_reported() {
    let mut all = reports(Model::PerAck, 3, 3, 2);
    all.iter_mut()
        .flat_map(|report| &mut report.observation)
        .filter(|run| run.test.parts() > 1)
        .for_each(|run| run.grown = 8);
    assert!(why(&all).contains("0 like counting bytes"), "{}", why(&all));
}

/// Linux acknowledged ten segments of interim answers by a window of 18, and was in congestion avoidance when the
/// page came.
#[test]
fn a_window_that_grew_before_the_answer_does_not_count_as_no_growth() {
    let with = |packets: u32, acked_segments: u32| {
        let mut all = reports(Model::NoGrowth, packets, 3, 2);
        for run in all.iter_mut().flat_map(|report| &mut report.observation) {
            run.exchanged = Some(Exchanged { acked_segments, window_ended_flight: true });
        }
        all
    };
    assert!(why(&with(18, 10)).contains("may have left slow start"), "{}", why(&with(18, 10)));
    for stands in [with(18, 0), with(4, 2)] {
        assert_eq!(classify(&stands, false).reaction, Reaction::NoGrowth);
    }
}

#[test]
fn an_answer_that_ended_does_not_count_as_no_growth() {
    let mut all = reports(Model::PerAck, 3, 3, 1);
    all.iter_mut()
        .flat_map(|report| &mut report.observation)
        .filter(|run| run.test.parts() > 1)
        .for_each(|run| (run.answer_ended, run.grown) = (true, 6));
    assert!(why(&all).contains("no run with split ACKs"), "{}", why(&all));
}

#[test]
fn a_flight_with_short_packets_is_fewer_segments_than_packets() {
    let mut all = reports(Model::PerByteUnlimited, 4, 3, 1);
    let flight =
        Flight { packets: 4, bytes: 200 + 900 + 2 * 1460, short_packets: 2, ..Flight::default() };
    all.iter_mut().flat_map(|r| &mut r.observation).for_each(|run| run.first_flight = flight);
    let window = classify(&all, true).initial_window.expect("seen");
    assert_eq!((window.packets, window.segments, window.exact), (4, 3, false));
}

#[test]
fn with_tls_short_packets_make_the_initial_window_a_lower_bound() {
    let mut all = reports(Model::PerByteUnlimited, 10, 3, 1);
    let short = Flight { packets: 10, bytes: 12_000, short_packets: 2, ..Flight::default() };
    all.iter_mut().flat_map(|r| &mut r.observation).for_each(|run| run.first_flight = short);
    let exact = |https| classify(&all, https).initial_window.expect("seen").exact;
    assert_eq!((exact(false), exact(true)), (true, false));
}

/// Gives the runs of tests A to E these numbers of new packets.
fn grow(all: &mut [Report], new_packets: [u32; 5]) {
    for run in all.iter_mut().flat_map(|report| &mut report.observation) {
        let index = Test::OF_THE_PAPER.iter().position(|test| *test == run.test);
        run.grown = index.map_or(run.grown, |index| new_packets[index]);
        run.grown_bytes = u64::from(run.grown * run.mss_seen);
        run.data_packets = run.packets_before + run.grown;
    }
}

/// A stack that takes a packet off its flight for every ACK, until it leaves slow start at some 11 packets.
const MORE: [u32; 5] = [6, 12, 19, 32, 45];

#[test]
fn more_packets_than_an_ack_counter_sends_have_a_reaction_of_their_own() {
    let mut all = reports(Model::PerAck, 5, 3, 3);
    grow(&mut all, MORE);
    let verdict = classify(&all, false);
    assert_eq!((&verdict.reaction, verdict.runs), (&Reaction::CountsAcksAndMore, (12, 12)));
    assert_eq!(name(&verdict.reaction), "counts-acks-and-more");
    let window = verdict.initial_window.expect("seen");
    assert_eq!((window.packets, window.exact), (5, true));
    // One of five runs may have lost packets.
    for report in [1, 8] {
        all[report].observation.as_mut().expect("there").grown = 7;
    }
    assert_eq!(classify(&all, false).reaction, Reaction::CountsAcksAndMore);
}

#[test]
fn more_packets_that_no_ack_explains_are_undecided_and_reported() {
    for strange in [[6, 14, 20, 32, 44], [6, 12, 19, 80, 45], [6, 13, 19, 31, 43]] {
        let mut all = reports(Model::PerAck, 5, 3, 2);
        grow(&mut all, strange);
        let seen = strange.map(|new| new.to_string()).join(", ");
        let expected = format!("at splits of 1, 2, 4, 8, 12: {seen} (counting ACKs brings 6, 9,");
        assert!(why(&all).contains(&expected), "{}", why(&all));
    }
}

#[test]
fn a_flight_that_the_server_held_back_is_no_exact_window() {
    let mut all = reports(Model::PerByteUnlimited, 88, 3, 2);
    grow(&mut all, [18; 5]);
    let verdict = classify(&all, false);
    assert!(!verdict.initial_window.expect("seen").exact);
    assert!(verdict.notes.iter().any(|note| note.contains("less than the window")), "{verdict:?}");
    assert!(why(&all).contains("new packets at splits of 1, 2, 4, 8, 12: 18, 18"), "{}", why(&all));
}

#[test]
fn windows_of_bytes_are_those_of_the_largest_mss() {
    let mut all = reports(Model::PerByteUnlimited, 10, 3, 2);
    for run in all.iter_mut().flat_map(|report| &mut report.observation) {
        if run.test != Test::Stretch {
            (run.mss_offered, run.mss_seen, run.first_flight.bytes) = (1191, 1191, 11_910);
        }
    }
    let window = classify(&all, false).initial_window.expect("seen");
    assert_eq!((window.packets, window.segments, window.bytes), (10, 10, 14_600));
}

/// The reasons of the 2011 servers' successors: 2 k n, and one for every two ACKs.
#[test]
fn another_rate_than_a_segment_an_ack_is_named() {
    let reaction = |segments, acks| {
        let reports = reports(Model::PerAcks { segments, acks }, 10, 3, 2);
        classify(&reports, false).reaction.to_string()
    };
    assert_eq!(reaction(2, 1), "counts ACKs, and gains 2 segments for each");
    assert_eq!(reaction(1, 2), "counts ACKs, and gains 1 for every 2 of them");
    assert_eq!(name(&expected(Model::PerAcks { segments: 2, acks: 1 })), "counts-acks-at-rate");
}

/// From a window of one segment the only ACK of test A gains a segment, and four parts of it gain the same: a
/// rate of one for three would do so, too.
#[test]
fn from_a_window_of_one_segment_counting_bytes_is_no_rate_of_acks() {
    let mut all = reports(Model::PerByteUnlimited, 1, 3, 5);
    let tests = [Test::Split(1), Test::Split(4)];
    all.retain(|report| report.observation.as_ref().is_some_and(|run| tests.contains(&run.test)));
    assert_eq!(all.len(), 10);
    assert_eq!(name(&classify(&all, false).reaction), "counts-bytes");
}

/// A server that counts every second ACK, and one that counts each behind a path that passes every second one,
/// differ in test S alone: its ACK arrived, and gained nothing or a segment.
#[test]
fn less_than_a_segment_an_ack_is_the_servers_only_if_a_lone_ack_gains_nothing() {
    let counts_half = Model::PerAcks { segments: 1, acks: 2 };
    let is_stretch =
        |report: &Report| report.observation.as_ref().is_some_and(|run| run.test == Test::Stretch);
    let all = reports(counts_half, 10, 3, 5);
    assert_eq!(classify(&all, false).reaction, expected(counts_half));
    let mut without = all.clone();
    without.retain(|report| !is_stretch(report));
    // Of five runs of test S two show a segment more, or nothing at all, because the ACK was lost.
    let with_two = |grown: u32| {
        let mut some = all.clone();
        let stretch = some.iter_mut().filter(|report| is_stretch(report)).take(2);
        for run in stretch.flat_map(|report| &mut report.observation) {
            (run.grown, run.grown_bytes) = (grown, u64::from(grown * run.mss_seen));
        }
        some
    };
    for doubtful in [without, with_two(4), with_two(0)] {
        let why = why(&doubtful);
        assert!(why.contains("counts only one ACK of 2, or it counts each and the path"), "{why}");
    }
    // More than a segment an ACK is no loss of ACKs.
    let mut more = reports(Model::PerAcks { segments: 2, acks: 1 }, 10, 3, 2);
    more.retain(|report| !is_stretch(report));
    assert_eq!(name(&classify(&more, false).reaction), "counts-acks-at-rate");
}

#[test]
fn one_split_alone_names_no_rate_but_both_readings() {
    let mut all = reports(Model::PerAcks { segments: 2, acks: 1 }, 10, 3, 3);
    all.retain(|report| report.observation.as_ref().is_some_and(|run| run.test == Test::BASELINE));
    assert!(
        why(&all).starts_with("its first flight was less than its window, or it gains more"),
        "{}",
        why(&all)
    );
    let mut all = reports(Model::PerAcks { segments: 1, acks: 2 }, 10, 3, 3);
    all.retain(|report| report.observation.as_ref().is_some_and(|run| run.test == Test::BASELINE));
    assert!(
        why(&all).starts_with("it grows by less than slow start does: only 0 of 3"),
        "{}",
        why(&all)
    );
}

#[test]
fn an_ack_counter_that_held_packets_back_is_distinguished_from_a_faster_one() {
    let mut all = reports(Model::PerAck, 10, 3, 2);
    grow(&mut all, [6 + 3, 9 + 3, 15 + 3, 27 + 3, 39 + 3]);
    assert!(
        why(&all).starts_with("its first flight was less than its window: only 0"),
        "{}",
        why(&all)
    );
    // A byte counter that held back as much, or one that gains two segments for each acknowledged.
    grow(&mut all, [9; 5]);
    assert!(
        why(&all).contains("or it gains more than a segment for each acknowledged: only 0"),
        "{}",
        why(&all)
    );
}

#[test]
fn one_run_with_a_timeout_does_not_speak_for_the_others() {
    let mut all = reports(Model::PerAck, 3, 3, 1);
    for (index, report) in all.iter_mut().enumerate() {
        let run = report.observation.as_mut().expect("there");
        run.timeout_before_acks = index == 0;
        (run.answer_ended, run.grown) = (true, 0);
    }
    assert!(why(&all).starts_with("answer too short"), "{}", why(&all));
}
