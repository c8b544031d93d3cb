//! Figures that theory gives for one flow, or a few, on a plain path.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::*;
use windlass_aqm::{CoDelConfig, Config as Queue, FqCoDelConfig, PieConfig, RedConfig};
use windlass_base::Span;
use windlass_sim::model::{Loss, TcpApp};
use windlass_sim::summary::FlowSummary;
use windlass_sim::{Scenario, Summary, run};
use windlass_tcp::Profile;

const MSS: u16 = 1460;

/// One bulk flow of the profile `linux` from a to b; the way back has no bottleneck.
fn linux(controller: &str, ecn: bool, there: (f64, f64, Queue), seconds: u64) -> Scenario {
    let (rate, round_trip_ms, queue) = there;
    let one_way = ms(round_trip_ms / 2.0);
    let forth = channel(mbit(rate), one_way, queue);
    let back = channel(None, one_way, drop_tail(1000));
    let mut scenario = pair(forth, back, Span::from_secs(seconds));
    scenario.steady_from = Span::from_secs(seconds / 4);
    let mut flow = modern_flow(0, 1, TcpApp::Bulk);
    let congestion = Profile::Linux.controller(controller).expect("a known controller");
    flow.sender = Profile::Linux.config(MSS, congestion);
    flow.sender.ecn.enabled = ecn;
    flow.receiver = flow.sender.clone();
    scenario.flows.push(flow);
    scenario
}

fn result(scenario: &Scenario) -> Summary {
    run(scenario, 1, &mut ()).expect("a sound scenario")
}

/// The steady rate of the only flow, as a share of the link's capacity.
fn utilisation(summary: &Summary, rate: f64) -> f64 {
    let packets_per_s = rate * 1e6 / 8.0 / f64::from(MSS + 40);
    summary.flows[0].packets_per_s.steady / packets_per_s
}

fn flow(summary: &Summary) -> &FlowSummary {
    &summary.flows[0]
}

/// PIE drops in bulk where slow start ends; what is sent again carries no CWR, so the receiver
/// echoes all the while. With RACK these losses need no timeout.
#[test]
fn an_echo_left_over_from_before_a_timeout_does_not_hold_the_window_down() {
    let cases = ["cubic", "newreno", "new-ecn"].map(|name| [(name, true), (name, false)]);
    for (controller, rack) in cases.into_iter().flatten() {
        let path = (10.0, 100.0, Queue::Pie(PieConfig::default()));
        let mut scenario = linux(controller, true, path, 40);
        scenario.flows[0].sender.recovery.rack = rack;
        let summary = result(&scenario);
        assert!(rack || flow(&summary).timeouts > 0, "{controller}: the case is another one");
        let share = utilisation(&summary, 10.0);
        assert!(share > 0.75, "{controller}, RACK {rack}: {share}");
    }
}

/// Slow start fills the queue, and RTT doubles within a few round trips: no reason for the timer to
/// expire while the first repair is under way.
#[test]
fn a_queue_that_fills_is_not_taken_for_a_loss() {
    let path = (10.0, 100.0, Queue::CoDel(CoDelConfig::default()));
    let summary = result(&linux("newreno", false, path, 20));
    let flow = flow(&summary);
    assert_eq!(flow.timeouts, 0);
    let needless = flow.retransmitted_segments - flow.drops;
    assert!(needless <= 5, "{needless} of {}", flow.retransmitted_segments);
}

/// The few segments of a repair while SND.UNA waits for a lost retransmission are no flight to
/// halve: each timeout would send slow start into an overshoot worse than the last.
#[test]
fn a_timeout_in_the_middle_of_a_repair_does_not_lead_to_the_next() {
    for profile in [Profile::Rfc2581, Profile::Rfc3465, Profile::Rfc5681] {
        let mut scenario =
            linux("newreno", false, (10.0, 100.0, Queue::Red(RedConfig::default())), 60);
        let flow = &mut scenario.flows[0];
        flow.sender = profile.config(MSS, flow.sender.congestion.clone());
        flow.receiver = flow.sender.clone();
        let summary = result(&scenario);
        let timeouts = summary.flows[0].timeouts;
        assert!(timeouts <= 5, "{}: {timeouts}", profile.name());
        let share = utilisation(&summary, 10.0);
        assert!(share > 0.7, "{}: {share}", profile.name());
    }
}

/// A path that loses packets at random and is not full.
fn lossy(controller: &str, profile: Profile, probability: f64, round_trip_ms: f64) -> f64 {
    let mut scenario = linux(controller, false, (1000.0, round_trip_ms, drop_tail(100_000)), 200);
    scenario.links[0].forward.loss = Loss::Random { probability };
    let flow = &mut scenario.flows[0];
    flow.sender = profile.config(MSS, flow.sender.congestion.clone());
    flow.receiver = flow.sender.clone();
    let summary = result(&scenario);
    let flow = &summary.flows[0];
    assert!(flow.timeouts * 20 <= flow.lost, "{} for {}", flow.timeouts, flow.lost);
    flow.packets_per_s.steady
}

/// Mathis and others, 1997: sqrt(3 / 2bp) packets in a round trip, with b = 2 where an ACK of two
/// segments counts as one.
#[test]
fn the_rate_of_reno_follows_the_inverse_root_of_the_loss() {
    let cases = [
        (Profile::Linux, 1.0, 0.001),
        (Profile::Linux, 1.0, 0.01),
        (Profile::Rfc5681, 2.0, 0.001),
        (Profile::Rfc2581, 2.0, 0.001),
    ];
    for (profile, b, loss) in cases {
        let expected = libm::sqrt(1.5 / (b * loss)) / 0.1;
        let ratio = lossy("newreno", profile, loss, 100.0) / expected;
        assert!((0.85..=1.2).contains(&ratio), "{} at {loss}: {ratio}", profile.name());
    }
}

/// RFC 9438 §5.1, equation 5: 1.054 (RTT/p)^(3/4) packets in a round trip, where that is more than
/// Reno's window.
#[test]
fn the_rate_of_cubic_follows_its_response_function() {
    let (loss, round_trip_s) = (0.0001, 0.1);
    let expected = 1.054 * libm::pow(round_trip_s / loss, 0.75) / round_trip_s;
    let ratio = lossy("cubic", Profile::Linux, loss, 100.0) / expected;
    assert!((0.85..=1.25).contains(&ratio), "{ratio}");
}

#[test]
fn a_buffer_of_one_bdp_keeps_the_link_busy() {
    for controller in ["reno", "newreno", "cubic", "vegas"] {
        let path = (10.0, 50.0, drop_tail(42));
        let share = utilisation(&result(&linux(controller, false, path, 30)), 10.0);
        assert!(share > 0.97, "{controller}: {share}");
    }
}

#[test]
fn vegas_keeps_two_to_four_packets_queued() {
    let summary = result(&linux("vegas", false, (10.0, 50.0, drop_tail(100)), 30));
    let queued = summary.mean_queue_packets.steady.expect("a queue");
    assert!((1.5..=4.5).contains(&queued), "{queued}");
    assert_eq!(flow(&summary).drops, 0);
    assert!(utilisation(&summary, 10.0) > 0.99);
}

/// Four CUBIC flows: the delay that is left is about the target (CoDel 5 ms, PIE 15 ms).
#[test]
fn delays_stay_near_the_targets_of_codel_and_pie() {
    let queues = [
        (Queue::CoDel(CoDelConfig::default()), 2.0..8.0),
        (Queue::Pie(PieConfig::default()), 8.0..22.0),
    ];
    for (queue, expected_ms) in queues {
        for ecn in [false, true] {
            let mut scenario = linux("cubic", ecn, (20.0, 30.0, queue.clone()), 40);
            scenario.flows = vec![scenario.flows[0].clone(); 4];
            let summary = result(&scenario);
            let packet_ms = f64::from(MSS + 40) * 8.0 / 20e6 * 1e3;
            let delay_ms = summary.mean_queue_packets.steady.expect("a queue") * packet_ms;
            assert!(expected_ms.contains(&delay_ms), "{queue:?}, ECN {ecn}: {delay_ms} ms");
            let total = summary.total_packets_per_s.steady * packet_ms / 1e3;
            assert!(total > 0.93, "{queue:?}, ECN {ecn}: {total}");
        }
    }
}

/// RFC 8290: a flow gets its share whatever the others do.
#[test]
fn fq_codel_isolates_a_flow_from_unresponsive_traffic_and_from_other_controllers() {
    let mut scenario =
        linux("newreno", false, (10.0, 20.0, Queue::FqCoDel(FqCoDelConfig::default())), 30);
    let mut cubic = scenario.flows[0].clone();
    cubic.sender.congestion = Profile::Linux.controller("cubic").expect("a known controller");
    scenario.flows.push(cubic);
    scenario.udp.push(udp(0, 1, 1500, mbit(20.0)));
    let summary = result(&scenario);
    let third = 10e6 / 8.0 / 1500.0 / 3.0;
    for flow in &summary.flows {
        let share = flow.packets_per_s.steady / third;
        assert!((0.85..=1.1).contains(&share), "{}: {share}", flow.controller);
    }
    let udp = summary.udp[0].packets_per_s.steady / third;
    assert!((0.95..=1.2).contains(&udp), "{udp}");
}
