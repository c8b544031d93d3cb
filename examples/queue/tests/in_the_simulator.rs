//! The queue in scenarios of the simulator.

use windlass_aqm::{Config, Limit};
use windlass_example_queue::Blue;
use windlass_sim::summary::QueueSummary;
use windlass_sim::{BuildError, Summary, run};

const SCENARIO: &str = include_str!("../crowd.toml");

/// `crowd.toml` with BLUE at its bottleneck, run; without, its own DropTail.
fn crowd(blue: Option<Blue>, set: &[&str]) -> Result<Summary, BuildError> {
    let set: Vec<String> = set.iter().map(|set| set.to_string()).collect();
    let document =
        windlass_scenario::from_toml("crowd.toml", SCENARIO, &set).expect("a sound scenario");
    let mut scenario = document.scenario;
    if let Some(blue) = blue {
        scenario.channel_mut(scenario.bottleneck).queue = Config::custom(blue);
    }
    run(&scenario, document.seed, &mut ())
}

fn bottleneck(summary: &Summary) -> &QueueSummary {
    &summary.queues[0]
}

/// The paper's claim (section 3): once the probability has settled, marks keep the queue from
/// overflowing, and the link stays busy.
#[test]
fn blue_loses_far_less_than_drop_tail_and_keeps_the_link_busy() {
    let (blue, drop_tail) = (crowd(Some(Blue::default()), &[]), crowd(None, &[]));
    let (blue, drop_tail) = (blue.expect("it builds"), drop_tail.expect("it builds"));
    assert_eq!(drop_tail.marks, 0);
    assert!(blue.marks > 500, "{} marks", blue.marks);
    let (ours, theirs) = (blue.drops, drop_tail.drops);
    assert!(ours * 5 < theirs, "{ours} drops, {theirs} with DropTail");
    let busy = blue.total_packets_per_s.steady / drop_tail.total_packets_per_s.steady;
    assert!(busy > 0.97, "{busy} of DropTail's throughput");
    let queue = (bottleneck(&blue), bottleneck(&drop_tail));
    assert!(queue.0.mean_packets.steady < queue.1.mean_packets.steady, "{queue:?}");
}

#[test]
fn flows_without_ecn_are_notified_by_early_drops() {
    let blue = crowd(Some(Blue::default()), &["defaults.ecn=false"]).expect("it builds");
    assert_eq!(blue.marks, 0);
    assert!(blue.drops > 500, "{} drops", blue.drops);
}

#[test]
fn a_run_is_the_same_each_time() {
    let once = || crowd(Some(Blue::default()), &["duration=10s", "steady_from=5s"]);
    assert_eq!(once(), once());
}

#[test]
fn bad_settings_are_refused_with_the_name_of_the_link() {
    let blue = Blue { limit: Limit::Packets(0), ..Blue::default() };
    let error = crowd(Some(blue), &[]).expect_err("a queue that holds nothing");
    assert_eq!(error.to_string(), "queue of link r1-d: the queue limit is zero");
}
