//! TCP over simulated networks.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::*;
use windlass_base::Span;
use windlass_sim::model::{Loss, TcpApp};
use windlass_sim::{Scenario, Summary, run};

fn result(scenario: &Scenario) -> Summary {
    run(scenario, 1, &mut ()).expect("a sound scenario")
}

/// Setup 1 of Hamann 1999, section 4.2.
fn setup_1(controller: &str, ecn: bool) -> Scenario {
    let bottleneck = channel(mbit(10.0), ms(1.0), red());
    let delays = [1.0, 14.0, 34.0, 94.0].map(ms);
    let mut scenario = dumbbell(bottleneck, &delays, Span::from_secs(30));
    for (n, start) in [1.5, 1.0, 0.5, 0.0].into_iter().enumerate() {
        let mut flow = ns2_flow(2 + 2 * n, 3 + 2 * n, controller, ecn);
        flow.start = Span::from_secs_f64(start);
        scenario.flows.push(flow);
    }
    scenario.steady_from = Span::from_secs(10);
    scenario
}

#[test]
fn new_ecn_shares_what_reno_does_not() {
    let new_ecn = result(&setup_1("new-ecn", true));
    let fair = new_ecn.fairness_index.steady.expect("flows");
    assert!(fair > 0.96, "fairness index {fair}");
    let reno = result(&setup_1("reno", true));
    let unfair = reno.fairness_index.steady.expect("flows");
    assert!(unfair < 0.55, "fairness index {unfair}");
    assert!(new_ecn.total_packets_per_s.steady > 2_350.0);
    assert!(new_ecn.flows.iter().all(|flow| flow.slope.is_some()));
    assert!(reno.flows.iter().all(|flow| flow.slope.is_none()));
    let round_trips: Vec<f64> = reno.flows.iter().map(|flow| flow.rtt_min_ms).collect();
    assert_eq!(round_trips, [4.0, 30.0, 70.0, 190.0]);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_one_others() {
    let mut scenario = setup_1("new-ecn", true);
    scenario.duration = Span::from_secs(5);
    scenario.jitter = ms(100.0);
    let text = |seed| {
        let summary = run(&scenario, seed, &mut ()).expect("a sound scenario");
        serde_json::to_string(&summary).expect("plain data")
    };
    assert_eq!(text(7), text(7));
    assert_ne!(text(7), text(8));
}

/// Two hosts, 10 Mbit/s and 10 ms each way.
fn two_hosts(app: TcpApp) -> Scenario {
    let wire = || channel(mbit(10.0), ms(10.0), drop_tail(100));
    let mut scenario = pair(wire(), wire(), Span::from_secs(20));
    scenario.flows.push(modern_flow(0, 1, app));
    scenario
}

/// The flow's only transfer: how long it took.
fn completion_s(summary: &Summary) -> f64 {
    let transfers = summary.flows[0].transfers.as_ref().expect("an app that ends");
    assert_eq!((transfers.completed, transfers.failed), (1, 0));
    transfers.completion_s[0]
}

#[test]
fn a_transfer_takes_its_handshake_its_round_trips_and_its_serialisation() {
    let one_segment = completion_s(&result(&two_hosts(TcpApp::Transfer { bytes: 1_000 })));
    // SYN, SYN-ACK, and the data: three times 10 ms, plus the packets' own time on the link.
    assert!((0.0308..0.0312).contains(&one_segment), "{one_segment} s");
    let mut scenario = two_hosts(TcpApp::Transfer { bytes: 2_000_000 });
    scenario.links[0].forward.queue = drop_tail(2_000);
    let summary = result(&scenario);
    // 1382 segments of at most 1500 bytes take 1.66 s with timestamps, after a few round trips.
    assert!((1.65..1.95).contains(&completion_s(&summary)), "{} s", completion_s(&summary));
    assert_eq!(summary.delivered_segments, 2_000_000u64.div_ceil(1_448));
}

#[test]
fn a_listed_loss_is_repaired_within_a_round_trip() {
    let mut scenario = two_hosts(TcpApp::Transfer { bytes: 1_000_000 });
    // A queue that slow start does not fill: nothing else is lost, in either run.
    scenario.links[0].forward.queue = drop_tail(2_000);
    let undisturbed = completion_s(&result(&scenario));
    scenario.links[0].forward.loss = Loss::Listed { packets: vec![200] };
    let summary = result(&scenario);
    let flow = &summary.flows[0];
    assert_eq!((flow.lost, flow.fast_retransmits, flow.timeouts), (1, 1, 0));
    assert_eq!(flow.retransmitted_segments, 1);
    let longer = completion_s(&summary) - undisturbed;
    assert!((0.0..0.2).contains(&longer), "{longer} s longer");
}

#[test]
fn a_lost_syn_costs_the_initial_timeout() {
    let mut scenario = two_hosts(TcpApp::Transfer { bytes: 1_000 });
    scenario.links[0].forward.loss = Loss::Listed { packets: vec![1] };
    let time = completion_s(&result(&scenario));
    assert!((1.0308..1.0312).contains(&time), "{time} s");
}

#[test]
fn repeated_transfers_each_have_a_connection_of_their_own() {
    let pause = ms(100.0);
    let app = |count| TcpApp::Repeated { bytes: 10_000, pause, exponential: false, count };
    let transfers = |app| result(&two_hosts(app)).flows[0].transfers.clone().expect("transfers");
    let five = transfers(app(Some(5)));
    assert_eq!((five.completed, five.failed), (5, 0));
    let first = five.completion_s[0];
    // Same network, same sizes: each takes as long as the first.
    assert!(five.completion_s.iter().all(|time| (time - first).abs() < 1e-9));
    let endless = transfers(app(None));
    let expected = 20.0 / (first + 0.1);
    assert!((endless.completed as f64 - expected).abs() <= 1.0);
}

#[test]
fn an_application_that_stops_closes_its_connection() {
    let mut scenario = two_hosts(TcpApp::Bulk);
    let forever = result(&scenario);
    scenario.flows[0].stop = Some(Span::from_secs(10));
    let stopped = result(&scenario);
    let ratio = stopped.delivered_segments as f64 / forever.delivered_segments as f64;
    // Data written before the stop, a send buffer full, is still delivered.
    assert!((0.5..0.7).contains(&ratio), "{ratio}");
}

#[test]
fn an_application_that_starts_later_gets_less() {
    let mut scenario = two_hosts(TcpApp::Bulk);
    scenario.flows[0].start = Span::from_secs(15);
    let summary = result(&scenario);
    let rate = summary.flows[0].packets_per_s.whole_run;
    assert!((150.0..220.0).contains(&rate), "{rate} packets/s over 20 s");
}

#[test]
fn a_path_that_loses_everything_fails_the_connection() {
    let mut scenario = two_hosts(TcpApp::Transfer { bytes: 1_000 });
    scenario.duration = Span::from_secs(400);
    scenario.links[0].forward.loss = Loss::Random { probability: 1.0 };
    let transfers = result(&scenario).flows[0].transfers.clone().expect("transfers");
    assert_eq!((transfers.completed, transfers.failed), (0, 1));
}

#[test]
fn flows_and_the_queue_agree_on_marks_drops_and_packets() {
    let mut scenario = setup_1("new-ecn", true);
    scenario.duration = Span::from_secs(10);
    let summary = result(&scenario);
    let sum = |figure: fn(&windlass_sim::summary::FlowSummary) -> u64| -> u64 {
        summary.flows.iter().map(figure).sum()
    };
    assert!(summary.marks > 0 && summary.drops > 0);
    assert_eq!(sum(|flow| flow.marks), summary.marks);
    assert_eq!(sum(|flow| flow.drops), summary.drops);
    assert_eq!(sum(|flow| flow.drops_elsewhere), 0);
    let waiting = summary.bottleneck_packets - summary.drops - summary.queues[0].sent;
    assert!(waiting < 100, "{waiting} packets wait at the end");
    assert!(summary.delivered_segments <= summary.queues[0].sent);
}

#[test]
fn a_run_until_its_flows_are_done_ends_with_the_last_byte() {
    let app =
        TcpApp::Repeated { bytes: 100_000, pause: ms(50.0), exponential: false, count: Some(3) };
    let whole = result(&two_hosts(app.clone()));
    let mut scenario = two_hosts(app);
    scenario.until_done = true;
    let summary = result(&scenario);
    let transfers = summary.flows[0].transfers.as_ref().expect("transfers");
    assert_eq!(transfers.completed, 3);
    let took: f64 = transfers.completion_s.iter().sum::<f64>() + 2.0 * 0.05;
    assert!((summary.duration_s - took).abs() < 1e-6, "{} s, {took} s", summary.duration_s);
    // Nothing else changes, but that rates are of a shorter time.
    assert_eq!(whole.flows[0].transfers, summary.flows[0].transfers);
    assert_eq!(whole.duration_s, 20.0);
    assert!(summary.total_packets_per_s.whole_run > whole.total_packets_per_s.whole_run);
}

#[test]
fn a_run_of_flows_without_an_end_lasts_as_long_as_it_says() {
    let mut scenario = two_hosts(TcpApp::Bulk);
    scenario.until_done = true;
    assert_eq!(result(&scenario).duration_s, 20.0);
}

/// RFC 3168 section 6.1.1: a connection uses ECN only if both ends negotiate it.
#[test]
fn with_ecn_at_one_end_alone_nothing_is_marked() {
    let marks = |sender, receiver| {
        let mut scenario = two_hosts(TcpApp::Transfer { bytes: 2_000_000 });
        scenario.links[0].forward.queue = red();
        scenario.flows[0].sender.ecn.enabled = sender;
        scenario.flows[0].receiver.ecn.enabled = receiver;
        result(&scenario).marks
    };
    assert!(marks(true, true) > 0);
    assert_eq!((marks(true, false), marks(false, true)), (0, 0));
}
