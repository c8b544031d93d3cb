//! Delays, RTT samples and rates of the summary.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::*;
use std::collections::BTreeMap;
use windlass_aqm::{CoDelConfig, Config as Queue, FqCoDelConfig, PieConfig};
use windlass_base::{Distribution, Span, Time};
use windlass_sim::model::{LinkDirection, TcpApp};
use windlass_sim::{Recorder, Scenario, Simulation, Summary, run};
use windlass_tcp::TraceEvent;

/// Keeps every sample from a time on.
#[derive(Default)]
struct Samples {
    from: Time,
    /// Nanoseconds by link and direction.
    queues: BTreeMap<(usize, bool), Vec<u64>>,
    /// Nanoseconds by flow.
    rtt: BTreeMap<usize, Vec<u64>>,
}

impl Recorder for Samples {
    fn packet_left(&mut self, now: Time, direction: LinkDirection, waited: Span) {
        if now >= self.from {
            let LinkDirection { link, reverse } = direction;
            self.queues.entry((link, reverse)).or_default().push(waited.as_nanos());
        }
    }

    fn flow_event(&mut self, now: Time, flow: usize, event: TraceEvent) {
        if let TraceEvent::Rtt { exact, .. } = event
            && now >= self.from
        {
            self.rtt.entry(flow).or_default().push(exact.as_nanos());
        }
    }
}

/// Compares a distribution with samples, which are sorted for it.
fn check(name: &str, found: Option<Distribution>, samples: Option<&Vec<u64>>) {
    let Some(samples) = samples.filter(|samples| !samples.is_empty()) else {
        assert_eq!(found, None, "{name} has no samples");
        return;
    };
    let mut sorted = samples.clone();
    sorted.sort_unstable();
    let found = found.expect("samples");
    let sum: u128 = sorted.iter().copied().map(u128::from).sum();
    assert_eq!(u128::from(found.mean.as_nanos()), sum / sorted.len() as u128, "{name}: mean");
    assert_eq!(Some(&found.max.as_nanos()), sorted.last(), "{name}: maximum");
    for (per_mille, quantile) in
        [(500, found.p50), (900, found.p90), (950, found.p95), (990, found.p99), (999, found.p99_9)]
    {
        let exact = sorted[(sorted.len() * per_mille).div_ceil(1000) - 1];
        let error = quantile.as_nanos().abs_diff(exact);
        assert!(
            error * 128 <= exact || error < 64,
            "{name}: {per_mille}: {quantile}, exactly {exact} ns"
        );
    }
}

/// Two flows of other controllers and a UDP source share a queue.
fn shared(queue: Queue) -> Scenario {
    let bottleneck = channel(mbit(4.0), ms(10.0), queue);
    let mut scenario = dumbbell(bottleneck, &[ms(1.0), ms(30.0)], Span::from_secs(12));
    scenario.flows.push(ns2_flow(2, 3, "new-ecn", true));
    scenario.flows.push(modern_flow(4, 5, TcpApp::Bulk));
    scenario.udp.push(udp(2, 5, 700, mbit(0.3)));
    scenario
}

fn queues() -> [Queue; 5] {
    [
        red(),
        drop_tail(60),
        Queue::CoDel(CoDelConfig::default()),
        Queue::FqCoDel(FqCoDelConfig::default()),
        Queue::Pie(PieConfig::default()),
    ]
}

#[test]
fn quantiles_of_20_runs_are_those_of_sorted_samples_within_the_stated_error() {
    for queue in queues() {
        for seed in 1..=4 {
            let mut scenario = shared(queue.clone());
            scenario.jitter = ms(200.0);
            let from = Time::ZERO + scenario.steady_from;
            let mut samples = Samples { from, ..Samples::default() };
            let summary = run(&scenario, seed, &mut samples).expect("a sound scenario");
            for (reverse, queue) in [false, true].into_iter().zip(&summary.queues) {
                check("queue", queue.queue_delay_ms, samples.queues.get(&(0, reverse)));
            }
            for (number, flow) in summary.flows.iter().enumerate() {
                check("RTT", flow.rtt_samples_ms, samples.rtt.get(&number));
            }
        }
    }
}

#[test]
fn a_source_over_one_queue_waits_as_long_as_its_queue_says() {
    // 12 Mbit/s into 10, for a second: the queue of 40 packets fills and stays full.
    let summary = run(&cbr(12.0, 40), 1, &mut ()).expect("a sound scenario");
    let (queue, source) = (&summary.queues[0], &summary.udp[0]);
    let [delay, waited] = [queue.queue_delay_ms, source.queue_delay_ms].map(|it| it.expect("some"));
    // 41 packets of 512 bytes at 10 Mbit/s: those waiting, and the one in transmission.
    assert!(delay.max <= ms(41.0 * 0.4096) && delay.max >= ms(39.0 * 0.4096), "{delay:?}");
    assert_eq!(waited.max, delay.max);
    let means = waited.mean.as_secs_f64() / delay.mean.as_secs_f64();
    assert!((means - 1.0).abs() < 0.01, "{waited:?} and {delay:?}");
}

#[test]
fn a_flows_delay_adds_up_all_queues_of_its_way() {
    let mut scenario =
        dumbbell(channel(mbit(5.0), ms(10.0), drop_tail(30)), &[ms(1.0)], Span::from_secs(5));
    // A second queue behind the first one.
    scenario.links[2].forward = channel(mbit(4.0), Span::ZERO, drop_tail(30));
    scenario.flows.push(modern_flow(2, 3, TcpApp::Bulk));
    let summary = run(&scenario, 1, &mut ()).expect("a sound scenario");
    let flow = &summary.flows[0];
    let (waited, rtt) = (flow.queue_delay_ms.expect("data"), flow.rtt_samples_ms.expect("data"));
    let bottleneck = summary.queues[0].queue_delay_ms.expect("data");
    assert!(waited.mean > bottleneck.mean + ms(20.0), "{waited:?} and {bottleneck:?}");
    let network = Span::from_secs_f64(flow.rtt_min_ms / 1e3);
    // The rest is transmission, and ACKs that the receiver delays. RTT is measured once a round trip.
    assert!(rtt.max > network + waited.p50, "{rtt:?} and {waited:?}");
    assert!(rtt.max < network + waited.max + ms(25.0), "{rtt:?} and {waited:?}");
}

fn summary(scenario: &Scenario) -> Summary {
    run(scenario, 1, &mut ()).expect("a sound scenario")
}

#[test]
fn a_middlebox_keeps_the_time_that_packets_have_waited() {
    let bottleneck = channel(mbit(4.0), ms(10.0), drop_tail(60));
    let mut scenario = dumbbell(bottleneck, &[ms(1.0)], Span::from_secs(2));
    scenario.udp.push(udp(2, 3, 700, mbit(6.0)));
    let mut watched = Simulation::new(&scenario, 1).expect("a sound scenario");
    watched.add_middlebox(1, Witness::default());
    let (plain, watched) = (summary(&scenario), watched.run(&mut ()));
    let waited = plain.udp[0].queue_delay_ms;
    assert!(waited.is_some_and(|waited| waited.p50 > ms(50.0)), "{waited:?}");
    assert_eq!(watched.udp[0].queue_delay_ms, waited);
}

#[test]
fn rates_in_mbit_are_those_in_packets_and_a_full_link_is_used_to_the_end() {
    let found = summary(&shared(drop_tail(60)));
    let flow = &found.flows[0];
    let payload = flow.packets_per_s.steady * 472.0 * 8.0 / 1e6;
    assert!((flow.mbit_per_s.steady - payload).abs() < 1e-9, "{flow:?}");
    let sum: f64 = found.flows.iter().map(|flow| flow.mbit_per_s.steady).sum();
    assert!((found.total_mbit_per_s.steady - sum).abs() < 1e-9);
    let queue = &found.queues[0];
    let used = queue.utilisation.expect("a constant rate").steady;
    assert!((0.9..=1.0).contains(&used), "{used}");
    assert_eq!(queue.rate_mbit_per_s, Some(4.0));
    assert!((queue.mbit_per_s.steady - 4.0 * used).abs() < 0.002, "{queue:?}");
    assert_eq!(found.utilisation, queue.utilisation);
}

#[test]
fn a_controller_without_the_marks_that_it_needs_is_a_warning() {
    let warnings = |queue: Queue, sender: bool, receiver: bool| {
        let mut scenario = shared(queue);
        scenario.flows[0].sender.ecn.enabled = sender;
        scenario.flows[0].receiver.ecn.enabled = receiver;
        summary(&scenario).warnings
    };
    assert!(warnings(red(), true, true).is_empty());
    let text = |warnings: Vec<String>| warnings.join("\n");
    let new_ecn = "2-3: new-ecn waits for ECN marks, but";
    let no_queue = text(warnings(drop_tail(60), true, true));
    assert_eq!(no_queue, format!("{new_ecn} no queue on its path marks packets"));
    assert!(text(warnings(red(), false, true)).contains("its sender does not use ECN"));
    assert!(text(warnings(red(), true, false)).contains("its receiver does not take ECN"));
    let mut scenario = shared(red());
    scenario.links[0].forward.bleaches_ecn = true;
    assert!(text(summary(&scenario).warnings).contains("a link on its path clears the codepoint"));
}

#[test]
fn a_receiver_whose_echo_the_controller_does_not_read_is_a_warning() {
    let mut scenario = shared(red());
    let flow = &mut scenario.flows[0];
    for config in [&mut flow.sender, &mut flow.receiver] {
        config.congestion = windlass_tcp::cc::by_name("dctcp").expect("a known controller");
        config.ecn.enabled = true;
    }
    let text = summary(&scenario).warnings.join("\n");
    assert!(text.contains("dctcp waits for ECN marks, but its receiver echoes"), "{text}");
    scenario.flows[0].receiver.ecn.echo = windlass_tcp::config::EcnEcho::Dctcp;
    assert!(summary(&scenario).warnings.is_empty());
}
