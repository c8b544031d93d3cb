//! Rates and fairness over time.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::*;
use windlass_base::Span;
use windlass_sim::model::TcpApp;
use windlass_sim::summary::OverTime;
use windlass_sim::{Scenario, run};

/// Bulk flows that start 5 s apart on 10 Mbit/s.
fn staggered(flows: usize) -> Scenario {
    let mut scenario =
        dumbbell(channel(mbit(10.0), ms(5.0), red()), &[ms(5.0); 3], Span::from_secs(40));
    for number in 0..flows {
        let mut flow = ns2_flow(2 + 2 * number, 3 + 2 * number, "reno", true);
        flow.start = Span::from_secs(5) * number as u64;
        scenario.flows.push(flow);
    }
    scenario.interval = Some(Span::from_secs(1));
    scenario
}

fn over_time(scenario: &Scenario) -> (OverTime, f64) {
    let summary = run(scenario, 1, &mut ()).expect("a sound scenario");
    (summary.over_time.expect("intervals"), summary.total_mbit_per_s.whole_run)
}

#[test]
fn rates_of_all_intervals_add_up_to_the_rate_of_the_run() {
    let (found, total) = over_time(&staggered(3));
    assert_eq!(found.fairness_index.len(), 40);
    let rates = found.flows.iter().flat_map(|flow| &flow.mbit_per_s);
    let mean = rates.sum::<f64>() / 40.0;
    assert!((mean / total - 1.0).abs() < 1e-9, "{mean} and {total} Mbit/s");
    // The second flow starts at 5 s.
    let second = &found.flows[1].mbit_per_s;
    assert!(second[..5].iter().all(|rate| *rate == 0.0) && second[6] > 0.0, "{second:?}");
}

#[test]
fn the_index_counts_the_flows_that_are_open() {
    let (found, _) = over_time(&staggered(3));
    let index = &found.fairness_index;
    assert!(index[..5].iter().all(Option::is_none), "one flow has no index");
    // Two flows have at least 1/2, three at least 1/3.
    assert!(index[5..10].iter().flatten().all(|index| (0.5..=1.0).contains(index)));
    let late: Vec<f64> = index[25..].iter().copied().flatten().collect();
    assert!(late.len() == 15 && late.iter().sum::<f64>() / 15.0 > 0.9, "{late:?}");
    let time = found.time_to_fairness_s.expect("equal flows");
    assert!((1.0..25.0).contains(&time), "{time} s");
}

#[test]
fn a_transfer_that_has_ended_counts_no_longer() {
    let mut scenario = staggered(2);
    scenario.flows[0].app = TcpApp::Transfer { bytes: 8_000_000 };
    let (found, _) = over_time(&scenario);
    let first = &found.flows[0].mbit_per_s;
    let last = first.iter().rposition(|rate| *rate > 0.0).expect("it carries data");
    assert!((7..30).contains(&last), "it ends in the interval {last}");
    assert!(found.fairness_index[last - 1].is_some());
    assert!(found.fairness_index[last + 1..].iter().all(Option::is_none));
}

#[test]
fn without_an_interval_there_is_nothing_over_time() {
    let scenario = Scenario { interval: None, ..staggered(2) };
    let summary = run(&scenario, 1, &mut ()).expect("a sound scenario");
    assert_eq!(summary.over_time, None);
}
