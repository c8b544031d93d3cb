use super::super::trace::Round;
use super::*;
use proptest::prelude::*;
use windlass_base::Rng;

const BEFORE: f64 = 100.0;

/// A whole trace with these windows in the stages from the relief on.
fn trace(accurate: bool, stages: &[(Show, Vec<f64>)]) -> Trace {
    let round = |show, window| Round {
        show,
        at_ms: 0.0,
        window,
        recovering: false,
        marked: false,
        marks: 0,
    };
    let rounds = stages
        .iter()
        .flat_map(|(show, windows)| windows.iter().map(|window| round(*show, *window)));
    let rounds = rounds.collect();
    Trace { ecn: true, complete: true, accurate, rounds, ..Trace::default() }
}

/// The window of the signature's scale: a factor of the window with the segments added to it.
fn times(window: f64, factor: f64) -> f64 {
    let added = super::super::signature::SEGMENTS_ADDED;
    (window + added) * factor - added
}

fn falling(rounds: usize, factor: f64) -> Vec<f64> {
    let factors = (0..rounds).map(|round| factor.powi(round as i32));
    factors.map(|factor| times(BEFORE, factor)).collect()
}

/// A server whose window is `BEFORE` without marks, and falls by these factors with them.
fn responder(one: f64, quarter: f64, all: f64, accurate: bool) -> Trace {
    trace(
        accurate,
        &[
            (Show::Relief, vec![BEFORE; 10]),
            (Show::Mark, [vec![BEFORE], vec![times(BEFORE, one); 4], vec![BEFORE]].concat()),
            (Show::Marks, falling(8, quarter)),
            (Show::Calm, vec![BEFORE; 5]),
            (Show::MarksAll, falling(6, all)),
        ],
    )
}

fn answer(one: f64, quarter: f64, all: f64, accurate: bool) -> Option<Answer> {
    judge(&[&responder(one, quarter, all, accurate)]).map(|marks| marks.answer)
}

#[test]
fn reno_answers_marks_once_dctcp_in_proportion_and_bbr_not_at_all() {
    for accurate in [false, true] {
        assert_eq!(answer(0.5, 0.5, 0.5, accurate), Some(Answer::Once));
        assert_eq!(answer(0.7, 0.7, 0.7, accurate), Some(Answer::Once));
        assert_eq!(answer(0.99, 0.97, 0.9, accurate), Some(Answer::InProportion));
        assert_eq!(answer(1.0, 1.0, 1.0, accurate), Some(Answer::None));
    }
    assert_eq!(judge(&[]), None);
}

#[test]
fn one_mark_alone_falls_less_in_proportion_and_a_round_of_them_more() {
    // With AccECN there is one mark; without, a whole round of echoes.
    assert_eq!(answer(0.92, 0.8, 0.7, true), Some(Answer::InProportion));
    assert_eq!(answer(0.92, 0.8, 0.8, false), Some(Answer::Once));
    // Illinois, which falls by less where it grows fast.
    assert_eq!(answer(0.928, 0.886, 0.886, true), Some(Answer::Once));
    assert_eq!(answer(0.5, 0.9, 0.9, true), Some(Answer::Once));
    // CDG, which tolerates one mark.
    assert_eq!(answer(1.0, 0.64, 0.64, true), Some(Answer::Once));
    assert_eq!(answer(0.5, 0.9, 0.7, false), Some(Answer::InProportion));
}

#[test]
fn a_statement_needs_falls_at_both_shares_and_in_their_order() {
    assert_eq!(answer(0.99, 0.97, 1.0, false), Some(Answer::Unclear), "not if all are marked");
    assert_eq!(answer(0.99, 1.0, 0.9, false), Some(Answer::Unclear), "not if a quarter is");
    assert_eq!(answer(0.99, 0.93, 0.97, false), Some(Answer::Unclear), "less with more marks");
    let whole = responder(0.5, 0.5, 0.5, false);
    for trace in [
        Trace { complete: false, ..whole.clone() },
        Trace { ecn: false, ..whole.clone() },
        Trace { rounds: whole.rounds[..25].to_vec(), ..whole.clone() },
    ] {
        assert_eq!(judge(&[&trace]), None, "a dose is missing: {trace:?}");
    }
}

#[test]
fn a_fall_no_deeper_than_those_without_marks_is_no_answer() {
    let of = |relief: Vec<f64>| {
        let mut trace = responder(0.85, 0.91, 0.92, false);
        let rounds = trace.rounds.iter_mut().filter(|round| round.show == Show::Relief);
        rounds.zip(relief).for_each(|(round, window)| round.window = window);
        judge(&[&trace]).map(|marks| marks.answer)
    };
    assert_eq!(of(vec![BEFORE; 10]), Some(Answer::Once));
    // The window falls by a third, and rises again, before the first mark.
    let varies = [100.0, 66.0, 70.0, 100.0, 100.0, 100.0, 66.0, 90.0, 100.0, 100.0];
    assert_eq!(of(varies.to_vec()), Some(Answer::None));
    // It falls by half: whether it would answer cannot be seen.
    let much = varies.map(|window| if window < 90.0 { window * 0.6 } else { window });
    assert_eq!(of(much.to_vec()), Some(Answer::Unclear));
}

#[test]
fn a_window_that_does_not_fall_on_while_marks_go_on_is_no_answer() {
    let relief = (Show::Relief, vec![BEFORE; 10]);
    let mark = (Show::Mark, vec![BEFORE; 6]);
    let answer = |marks: &[f64], all: &[f64]| {
        let windows = |logs: &[f64]| {
            let factors = logs.iter().map(|log| times(BEFORE, log.exp()));
            std::iter::once(BEFORE).chain(factors).collect()
        };
        let stages = [
            relief.clone(),
            mark.clone(),
            (Show::Marks, windows(marks)),
            (Show::Calm, vec![BEFORE; 5]),
            (Show::MarksAll, windows(all)),
        ];
        judge(&[&trace(false, &stages)]).map(|marks| marks.answer)
    };
    // BBR of Linux 7.3, whose window was small for a moment when the marks began; DCTCP.
    let bbr = [-0.49, -0.2, -0.2, 0.0, -0.2, -0.2];
    assert_eq!(answer(&bbr, &[0.0; 5]), Some(Answer::None));
    let (some, all) = ([-0.034, -0.034, -0.045, -0.07, -0.1], [-0.04, -0.1, -0.2, -0.3, -0.4]);
    assert_eq!(answer(&some, &all), Some(Answer::InProportion));
}

#[test]
fn a_window_that_the_receive_window_limits_does_not_show_the_answer() {
    let mut trace = responder(1.0, 1.0, 1.0, false);
    assert_eq!(judge(&[&trace]).map(|marks| marks.answer), Some(Answer::None));
    let first = trace.rounds.iter_mut().find(|round| round.show == Show::Mark).expect("there");
    first.window = 511.0;
    assert_eq!(judge(&[&trace]), None);
}

/// Rounds of BBR: its windows are between its pipe and the double, with steps that have nothing to do with marks,
/// and once a dip to four segments (draft-ietf-ccwg-bbr section 5.3.4.3).
fn wandering(seed: u64, pipe: f64, spread: f64) -> Trace {
    let mut rng = Rng::new(seed);
    let dip_at = rng.below(40) as usize;
    let stages = [
        (Show::Loss, 16),
        (Show::Relief, 10),
        (Show::Mark, 6),
        (Show::Marks, 8),
        (Show::Calm, 5),
        (Show::MarksAll, 6),
    ];
    let (mut at, mut window) = (0, pipe);
    let mut draw = |_| {
        if rng.chance(0.4) {
            window = pipe * (1.0 + spread * rng.uniform());
        }
        at += 1;
        if (dip_at..dip_at + 2).contains(&at) { 4.0 } else { window }
    };
    let stages = stages.map(|(show, rounds)| (show, (0..rounds).map(&mut draw).collect()));
    trace(false, &stages)
}

#[test]
fn where_the_window_falls_without_marks_one_trial_is_no_answer() {
    let varies = [100.0, 93.0, 93.0, 100.0, 100.0, 100.0, 93.0, 93.0, 100.0, 100.0];
    let trial = |one, quarter, all| {
        let mut trace = responder(one, quarter, all, false);
        let rounds = trace.rounds.iter_mut().filter(|round| round.show == Show::Relief);
        rounds.zip(varies).for_each(|(round, window)| round.window = window);
        trace
    };
    let answer = |traces: &[&Trace]| judge(traces).map(|marks| marks.answer);
    let falls = trial(0.5, 0.5, 0.5);
    assert_eq!(answer(&[&falls]), Some(Answer::Unclear));
    assert_eq!(answer(&[&falls, &falls]), Some(Answer::Once));
    // The mean falls; one of the two trials does not.
    assert_eq!(answer(&[&falls, &trial(1.0, 1.0, 1.0)]), Some(Answer::Unclear));
    // The window stays as it is: an answer, in one trial as in two.
    assert_eq!(answer(&[&trial(1.0, 1.0, 1.0)]), Some(Answer::None));
}

proptest! {
    /// One trial alone may claim so where the window fell by chance under marks, and not once without: one of some
    /// 6,000.
    #[test]
    fn a_window_that_wanders_by_itself_answers_no_marks(
        seeds in any::<[u64; 2]>(), pipe in 150.0..320.0f64, spread in 0.1..0.55f64
    ) {
        let claims = |marks: &Marks| matches!(marks.answer, Answer::Once | Answer::InProportion);
        let [first, second] = seeds.map(|seed| wandering(seed, pipe, spread));
        let one = judge(&[&first]);
        prop_assert!(!one.is_some_and(|marks| claims(&marks) && marks.without < 1.0), "{:?}", one);
        let two = judge(&[&first, &second]);
        prop_assert!(!two.is_some_and(|marks| claims(&marks)), "{:?}", two);
    }

    #[test]
    fn a_deep_answer_is_seen_though_the_window_varies_without_marks(
        grows in 1.0..1.1f64, factor in 0.4..0.74f64, accurate: bool
    ) {
        let mut trace = responder(factor, factor, factor, accurate);
        let calm = |round: &&mut Round| matches!(round.show, Show::Relief | Show::Calm);
        for (index, round) in trace.rounds.iter_mut().filter(calm).enumerate() {
            round.window = BEFORE * grows.powi(index as i32 % 5 - 4);
        }
        prop_assert_eq!(judge(&[&trace, &trace]).map(|marks| marks.answer), Some(Answer::Once));
    }
}
