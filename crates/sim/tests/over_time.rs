//! Links that change over time.

mod common;

use common::*;
use std::sync::Arc;
use windlass_aqm::{
    CoDelConfig, Config as Queue, DropTailConfig, FqCoDelConfig, PieConfig, SredConfig, TcRedConfig,
};
use windlass_base::Span;
use windlass_sim::model::link_model::{
    Aggregation, DeliveryTrace, OPPORTUNITY_BYTES, Outage, RateOverTime, Steps, TokenBucket,
    WifiJitter,
};
use windlass_sim::model::{TcpApp, Variation};
use windlass_sim::{Scenario, Summary, run};
use windlass_tcp::cc;

/// [`cbr`] over a link that varies.
fn varying(rate: f64, queue: u32, variation: Variation) -> Scenario {
    let mut scenario = cbr(rate, queue);
    variation.validate().expect("settings that work");
    scenario.links[0].forward.variation = variation;
    scenario
}

fn summary(scenario: &Scenario) -> Summary {
    run(scenario, 1, &mut ()).expect("a sound scenario")
}

fn steps<T: Copy>(steps: &[(f64, T)], repeat: Option<f64>) -> Steps<T> {
    let steps = steps.iter().map(|(at, value)| (ms(*at), *value)).collect();
    Steps::new(steps, repeat.map(ms)).expect("in order")
}

fn trace(text: &str) -> Option<RateOverTime> {
    Some(RateOverTime::Trace(Arc::new(DeliveryTrace::parse(text).expect("a trace"))))
}

fn token_bucket(rate: f64, burst_bytes: u64) -> Option<TokenBucket> {
    Some(TokenBucket { rate: mbit(rate).expect("not zero"), burst_bytes })
}

/// The number of arrivals from one time to another, in milliseconds.
fn count(times: &[u64], from: f64, to: f64) -> usize {
    let range = ms(from).as_nanos()..ms(to).as_nanos();
    times.iter().filter(|time| range.contains(time)).count()
}

#[test]
fn steps_of_one_rate_are_that_rate_whatever_the_queue() {
    let queues = [
        drop_tail(20),
        red(),
        Queue::Pie(PieConfig::default()),
        Queue::Sred(SredConfig::default()),
        Queue::TcRed(TcRedConfig::default()),
        Queue::CoDel(CoDelConfig::default()),
        Queue::FqCoDel(FqCoDelConfig::default()),
        Queue::DropTail(DropTailConfig { limit: windlass_aqm::Limit::Bytes(20_000) }),
    ];
    for queue in queues {
        let mut fixed = dumbbell(
            channel(mbit(8.0), ms(5.0), queue.clone()),
            &[ms(1.0), ms(20.0)],
            Span::from_secs(20),
        );
        fixed.flows.push(ns2_flow(2, 3, "new-ecn", true));
        fixed.flows.push(modern_flow(4, 5, TcpApp::Bulk));
        let mut stepped = fixed.clone();
        let rate = RateOverTime::Steps(steps(&[(0.0, mbit(8.0)), (7.0, mbit(8.0))], Some(13.0)));
        stepped.links[0].forward.variation.rate = Some(rate);
        let [fixed, stepped] = [fixed, stepped].map(|scenario| {
            let mut summary = summary(&scenario);
            // Other events, with the same effect.
            summary.events = 0;
            // The summary takes a rate with steps for one that changes.
            summary.utilisation = None;
            for queue in &mut summary.queues {
                (queue.rate_mbit_per_s, queue.utilisation) = (None, None);
            }
            summary
        });
        assert_eq!(fixed, stepped, "{queue:?}");
    }
}

#[test]
fn the_rate_follows_its_steps() {
    let rate = RateOverTime::Steps(steps(
        &[(0.0, mbit(10.0)), (300.0, mbit(2.0)), (500.0, None), (600.0, mbit(10.0))],
        None,
    ));
    let times = arrivals(&varying(20.0, 10, Variation { rate: Some(rate), ..Default::default() }));
    // Packets of 4096 bits, 1 ms on the way.
    let expected = [(1.0, 301.0, 732), (301.0, 501.0, 98), (501.0, 601.0, 0), (601.0, 1001.0, 974)];
    for (from, to, packets) in expected {
        assert!(
            count(&times, from, to).abs_diff(packets) <= 3,
            "{from}: {}",
            count(&times, from, to)
        );
    }
}

#[test]
fn a_saturated_trace_delivers_its_bytes_within_a_packet() {
    // Bursts and pauses; 6.4 Mbit/s in the mean.
    let text = "1\n1\n1\n2\n3\n9\n9\n14\n15\n";
    let parsed = DeliveryTrace::parse(text).expect("a trace");
    for packet_bytes in [512, 1500, 1000] {
        let mut scenario =
            varying(400.0, 50, Variation { rate: trace(text), ..Default::default() });
        scenario.udp[0].traffic = constant(packet_bytes, mbit(400.0), None);
        let times = arrivals(&scenario);
        assert!(times.len() > 300, "{}", times.len());
        let first = times[0] / 1_000_000;
        for at_ms in first..1000 {
            // Both counts begin with the first packet, which waits for its first opportunity.
            let delivered = count(&times, 0.0, (at_ms + 1) as f64) as u64 * u64::from(packet_bytes);
            let sent_ms = at_ms - 1;
            let rounds = sent_ms / 15;
            let into = parsed.millis().iter().filter(|at| **at <= sent_ms % 15).count() as u64;
            let possible =
                (rounds * parsed.millis().len() as u64 + into) * u64::from(OPPORTUNITY_BYTES);
            assert!(
                possible >= delivered && possible - delivered <= u64::from(packet_bytes),
                "{at_ms} ms: {delivered} of {possible} bytes"
            );
        }
    }
}

#[test]
fn a_policer_drops_what_exceeds_its_rate_and_the_queue_sees_the_rest() {
    let policer = token_bucket(2.0, 10_240);
    let summary = summary(&varying(8.0, 100, Variation { policer, ..Default::default() }));
    let (source, queue) = (&summary.udp[0], &summary.queues[0]);
    // 20 packets of the burst, 488 of the rate.
    assert_eq!(queue.arrived, 508);
    assert_eq!(queue.policed, Some(source.sent - 508));
    // The queue is not to blame.
    assert_eq!((source.policed, source.drops), (queue.policed, 0));
    assert_eq!((summary.policed, summary.drops, queue.drops), (queue.policed, 0, 0));
}

#[test]
fn a_shaper_delays_what_exceeds_its_rate() {
    let shaper = token_bucket(2.0, 10_240);
    let scenario = varying(8.0, 10_000, Variation { shaper, ..Default::default() });
    let times = arrivals(&scenario);
    // The burst passes at the rate of the source, and no token is missing yet.
    assert_eq!(count(&times, 0.0, 14.0), 25);
    assert!((484..=490).contains(&(times.len() - 20)), "{}", times.len());
    assert_eq!(summary(&scenario).drops, 0);
}

#[test]
fn packets_wait_during_one_outage_and_are_lost_in_another() {
    let outage = |at, lose| Outage { at: ms(at), lasts: ms(100.0), every: None, lose };
    let outages = vec![outage(200.0, false), outage(600.0, true)];
    let scenario = varying(5.0, 1000, Variation { outages, ..Default::default() });
    let times = arrivals(&scenario);
    assert_eq!(count(&times, 202.0, 301.0), 0);
    // The packets that waited leave at 10 Mbit/s: 244 packets in 100 ms instead of 122.
    assert!((242..=245).contains(&count(&times, 301.0, 401.0)));
    assert_eq!(count(&times, 601.5, 701.0), 0);
    let summary = summary(&scenario);
    assert!((121..=123).contains(&summary.udp[0].lost), "{}", summary.udp[0].lost);
    assert_eq!(summary.udp[0].drops, 0);
}

#[test]
fn a_shorter_delay_does_not_reorder_packets() {
    let delay = Some(steps(&[(0.0, ms(30.0)), (100.0, ms(1.0))], Some(200.0)));
    let times = arrivals(&varying(5.0, 100, Variation { delay, ..Default::default() }));
    assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
    assert_eq!(times[0], ms(30.4096).as_nanos());
    // Those that are sent in the 29 ms after the change catch up with the last one before it.
    let at_once = times.chunk_by(|a, b| a == b).map(<[u64]>::len).max();
    assert!(at_once.is_some_and(|packets| (34..=37).contains(&packets)), "{at_once:?}");
}

#[test]
fn aggregated_packets_arrive_together() {
    let aggregation = Some(Aggregation { packets: Some(10), ..Aggregation::LTE });
    let times = arrivals(&varying(5.0, 100, Variation { aggregation, ..Default::default() }));
    assert!(times.iter().all(|time| time % 10_000_000 == 0));
    assert_eq!(count(&times, 500.0, 501.0), 10, "at most");
    let wifi = Variation { aggregation: Some(Aggregation::WIFI), ..Default::default() };
    let mut times = arrivals(&varying(5.0, 100, wifi));
    let packets = times.len() as f64;
    times.dedup();
    // One every 5.4 ms in the mean, with 6.6 packets.
    assert!((5.5..8.0).contains(&(packets / times.len() as f64)));
}

/// Around a tenth of the packets wait for retransmissions of 90 ms in the mean, and no packet overtakes them.
#[test]
fn jitter_of_wifi_keeps_the_order_and_fades() {
    let targets = steps(&[(0.0, ms(0.0)), (200.0, ms(12.0)), (600.0, ms(0.0))], None);
    let wifi_jitter = Some(WifiJitter::new(targets));
    let variation = Variation { wifi_jitter, ..Default::default() };
    let times = arrivals(&varying(5.0, 100, variation));
    assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
    // 5 Mbit/s are 1.22 packets a millisecond; those of the end of the jitter arrive in a burst.
    assert_eq!(count(&times, 0.0, 200.0), 243);
    let at_once = times.chunk_by(|a, b| a == b).map(<[u64]>::len).max();
    assert!(at_once.is_some_and(|packets| packets > 30), "{at_once:?}");
    assert_eq!(count(&times, 900.0, 1000.0), 122);
}

#[test]
fn the_controllers_use_a_link_that_changes() {
    let text = include_str!("../../../experiments/traces/cellular.trace");
    let parsed = DeliveryTrace::parse(text).expect("a trace");
    for name in ["reno", "newreno", "cubic", "vegas", "new-ecn"] {
        let mut scenario = dumbbell(
            channel(Some(parsed.mean_rate()), ms(20.0), drop_tail(100)),
            &[ms(5.0)],
            Span::from_secs(30),
        );
        let link = &mut scenario.links[0];
        link.forward.variation.rate = trace(text);
        link.forward.variation.outages = vec![Outage {
            at: ms(5_000.0),
            lasts: ms(700.0),
            every: Some(ms(9_000.0)),
            lose: true,
        }];
        link.backward.variation.aggregation = Some(Aggregation::WIFI);
        let mut flow = modern_flow(2, 3, TcpApp::Bulk);
        flow.sender.congestion = cc::by_name(name).expect("a known controller");
        scenario.flows.push(flow);
        let summary = summary(&scenario);
        let bytes = summary.delivered_segments as f64 * 1500.0;
        let possible = 30.0 * parsed.mean_rate().bits_per_sec() as f64 / 8.0;
        assert!(bytes < possible, "{name}: {bytes} of {possible}");
        assert!(bytes > 0.25 * possible, "{name}: {bytes} of {possible}");
        assert!(summary.flows[0].lost > 0, "{name}");
    }
}
