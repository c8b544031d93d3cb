//! Options of modern TCP, each on a path on which it helps.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::*;
use windlass_base::Span;
use windlass_sim::model::{Loss, Reorder, TcpApp};
use windlass_sim::summary::FlowSummary;
use windlass_sim::{Scenario, Summary, run};
use windlass_tcp::{Config, Profile};

fn result(scenario: &Scenario) -> Summary {
    run(scenario, 1, &mut ()).expect("a sound scenario")
}

/// The profile `linux` with CUBIC, as `change` has it, between two hosts 40 ms apart.
fn linux_flow(app: TcpApp, rate_mbit: f64, change: impl Fn(&mut Config)) -> Scenario {
    let wire = || channel(mbit(rate_mbit), ms(20.0), drop_tail(5_000));
    let mut scenario = pair(wire(), wire(), Span::from_secs(20));
    let mut flow = modern_flow(0, 1, app);
    let cubic = Profile::Linux.controller("cubic").expect("a known controller");
    flow.receiver = Profile::Linux.config(1460, cubic);
    flow.sender = flow.receiver.clone();
    change(&mut flow.sender);
    scenario.flows.push(flow);
    scenario
}

fn completion_s(summary: &Summary) -> f64 {
    summary.flows[0].transfers.as_ref().expect("a transfer").completion_s[0]
}

#[test]
fn paced_slow_start_needs_a_small_part_of_the_queue_and_no_longer() {
    // 500 kB at 200 Mbit/s: the window stays below what the path holds.
    let transfer = |pacing| {
        let app = TcpApp::Transfer { bytes: 500_000 };
        let summary = result(&linux_flow(app, 200.0, |config| config.sending.pacing = pacing));
        (summary.queues[0].max_packets, completion_s(&summary))
    };
    let (unpaced, paced) = (transfer(false), transfer(true));
    assert!(unpaced.0 > 60, "{unpaced:?}");
    assert!(paced.0 < 12 && paced.0 * 5 < unpaced.0, "{paced:?} and {unpaced:?} unpaced");
    assert!(paced.1 < unpaced.1 + 0.04, "a round trip at most: {paced:?} and {unpaced:?} unpaced");
}

#[test]
fn a_paced_bulk_flow_fills_the_link_as_well() {
    let rate = |pacing| {
        let mut scenario = linux_flow(TcpApp::Bulk, 20.0, |config| config.sending.pacing = pacing);
        scenario.links[0].forward.queue = drop_tail(60);
        scenario.steady_from = Span::from_secs(5);
        result(&scenario).total_packets_per_s.steady
    };
    let (unpaced, paced) = (rate(false), rate(true));
    assert!(paced > 0.99 * unpaced, "{paced} and {unpaced} packets/s");
}

/// Packets overtake each other by far more than RACK waits for at first.
fn reordered(change: impl Fn(&mut Config)) -> Summary {
    let mut scenario = linux_flow(TcpApp::Bulk, 50.0, change);
    scenario.links[0].forward.reorder =
        Some(Reorder { probability: 0.01, max_extra_delay: ms(60.0) });
    result(&scenario)
}

#[test]
fn reordering_does_not_cost_the_window_where_cuts_are_taken_back() {
    let cut = reordered(|_| {});
    let undone = reordered(|config| config.recovery.undo = true);
    let (cut, undone) = (cut.total_packets_per_s.whole_run, undone.total_packets_per_s.whole_run);
    assert!(undone > 1.5 * cut, "{undone} packets/s, {cut} without");
}

#[test]
fn losses_are_cut_for_as_before() {
    let lossy = |undo| {
        let mut scenario = linux_flow(TcpApp::Bulk, 50.0, |config| config.recovery.undo = undo);
        scenario.links[0].forward.loss = Loss::Random { probability: 0.002 };
        result(&scenario).flows[0].packets_per_s.whole_run
    };
    let (without, with) = (lossy(false), lossy(true));
    assert!((with / without - 1.0).abs() < 0.02, "{with} packets/s, {without} without");
}

/// At five seconds the queue grows by two seconds at once: what is in flight is late and not lost. A
/// tail loss probe would be one more segment sent again.
fn delay_spike(change: impl Fn(&mut Config)) -> FlowSummary {
    let mut scenario = linux_flow(TcpApp::Bulk, 5.0, |config| {
        config.window.limit = Some(60_000);
        (config.extensions.timestamps, config.recovery.tail_loss_probe) = (false, false);
        change(config);
    });
    let mut burst = udp(0, 1, 1000, mbit(10_000.0));
    burst.start = Span::from_secs(5);
    burst.stop = Some(Span::from_millis(5001));
    scenario.udp.push(burst);
    result(&scenario).flows.remove(0)
}

#[test]
fn a_delay_spike_is_not_taken_for_the_loss_of_a_window() {
    let believed = delay_spike(|_| {});
    let asked = delay_spike(|config| config.recovery.frto = true);
    let timed =
        delay_spike(|config| (config.recovery.undo, config.extensions.timestamps) = (true, true));
    for flow in [&believed, &asked, &timed] {
        assert!(flow.timeouts > 0 && flow.lost == 0 && flow.drops == 0, "{flow:?}");
    }
    assert!(believed.retransmitted_segments >= 40, "{believed:?}");
    assert_eq!(asked.retransmitted_segments, asked.timeouts, "F-RTO");
    assert_eq!(timed.retransmitted_segments, timed.timeouts, "timestamps");
}
