//! Every packet that is marked, or does not arrive, is counted once, by its flow and by its place.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::*;
use proptest::prelude::*;
use std::collections::VecDeque;
use windlass_aqm::{
    CoDelConfig, Config, ConfigError, CustomQueue, DropReason, DualPi2Config, FqCoDelConfig,
    Packet, PieConfig, Queue, QueueFactory, SredConfig, Stats, Ticket,
};
use windlass_base::{BitRate, Ecn, Rng, Span, Time};
use windlass_sim::model::link_model::{Aggregation, Outage, TokenBucket};
use windlass_sim::model::{Channel, Loss, Reorder, TcpApp};
use windlass_sim::{Scenario, Summary, run};

fn queue(rng: &mut Rng) -> Config {
    let queues = [
        drop_tail(1 + rng.below(40) as u32),
        red(),
        Config::Pie(PieConfig::default()),
        Config::Sred(SredConfig::default()),
        Config::CoDel(CoDelConfig::default()),
        Config::FqCoDel(FqCoDelConfig::default()),
        Config::DualPi2(DualPi2Config::default()),
    ];
    queues[rng.below(queues.len() as u64) as usize].clone()
}

/// A channel that loses packets in some of the ways there are.
fn lossy(rng: &mut Rng) -> Channel {
    let mut channel = channel(mbit(1.0 + rng.below(8) as f64), ms(5.0), queue(rng));
    if rng.chance(0.3) {
        channel.loss = Loss::Random { probability: 0.02 };
    } else if rng.chance(0.3) {
        channel.loss = Loss::Listed { packets: vec![1, 7, 8, 30] };
    }
    if rng.chance(0.3) {
        channel.reorder = Some(Reorder { probability: 0.1, max_extra_delay: ms(9.0) });
    }
    if rng.chance(0.5) {
        let rate = mbit(0.5 + rng.below(4) as f64).expect("above zero");
        channel.variation.policer = Some(TokenBucket { rate, burst_bytes: 9_000 });
    }
    if rng.chance(0.3) {
        let outage = Outage { at: ms(300.0), lasts: ms(200.0), every: None, lose: rng.chance(0.5) };
        channel.variation.outages = vec![outage];
    }
    if rng.chance(0.3) {
        channel.variation.aggregation = Some(Aggregation::WIFI);
    }
    channel.bleaches_ecn = rng.chance(0.2);
    channel
}

/// Data in one direction only, over a bottleneck and access links that lose packets. The UDP source stops
/// long before the end, so that none of its packets is under way then.
fn scenario(seed: u64) -> Scenario {
    let mut rng = Rng::new(seed);
    let mut scenario = dumbbell(lossy(&mut rng), &[ms(1.0), ms(9.0), ms(2.0)], Span::from_secs(9));
    scenario.links[1].forward = lossy(&mut rng);
    scenario.links[5].forward = lossy(&mut rng);
    scenario.flows.push(ns2_flow(2, 3, "new-ecn", rng.chance(0.5)));
    scenario.flows[0].stop = Some(Span::from_secs(1));
    scenario.flows.push(modern_flow(4, 5, TcpApp::Bulk));
    scenario.flows[1].stop = Some(Span::from_secs(1));
    scenario.udp.push(udp(6, 7, 700, mbit(1.0 + rng.below(3) as f64)));
    scenario.udp[0].stop = Some(Span::from_secs(1));
    scenario.udp[0].ecn = Ecn::from_bits(rng.below(3) as u8);
    scenario
}

fn summary(seed: u64) -> Summary {
    run(&scenario(seed), seed, &mut ()).expect("a sound scenario")
}

fn marks_of_flows(summary: &Summary) -> u64 {
    let marks = summary.flows.iter().map(|flow| Some(flow.marks));
    marks.chain(summary.udp.iter().map(|udp| udp.marks)).flatten().sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(windlass_testbed::cases(32)))]
    #[test]
    fn the_drops_and_marks_of_flows_are_those_of_places(seed: u64) {
        let summary = summary(seed);
        let (flows, udp, queues) = (&summary.flows, &summary.udp, &summary.queues);
        let drops = flows.iter().map(|flow| flow.drops).chain(udp.iter().map(|udp| udp.drops));
        prop_assert_eq!(drops.sum::<u64>(), queues[0].drops);
        prop_assert_eq!(summary.drops, queues[0].drops);
        prop_assert_eq!(marks_of_flows(&summary), queues[0].marks);
        prop_assert_eq!(summary.policed, queues[0].policed);
        let by_flow = flows.iter().map(|flow| flow.policed).chain(udp.iter().map(|udp| udp.policed));
        let by_place = queues.iter().filter_map(|queue| queue.policed);
        prop_assert_eq!(by_flow.flatten().sum::<u64>(), by_place.sum::<u64>());
        for queue in queues {
            let waiting = queue.arrived - queue.sent - queue.drops;
            prop_assert!(waiting <= queue.max_packets, "{}: {waiting} packets", queue.link);
        }
        let udp = &udp[0];
        let gone = udp.drops + udp.drops_elsewhere + udp.policed.unwrap_or(0) + udp.lost;
        prop_assert_eq!(udp.sent, udp.received + gone);
    }
}

#[test]
fn a_marked_packet_that_waits_at_the_end_counts_nowhere() {
    let summary = summary(1_531_021_660_300_196_294);
    assert_eq!((marks_of_flows(&summary), summary.queues[0].marks), (49, 49));
}

/// Marks the packet that waits longest whenever another one arrives, and drops every tenth that it has marked.
#[derive(Debug, Default)]
struct MarksTheFirst {
    waiting: VecDeque<Ticket>,
    stats: Stats,
}

impl Queue<Ticket> for MarksTheFirst {
    fn enqueue(
        &mut self,
        _: Time,
        packet: Ticket,
        _: &mut Rng,
        _: &mut impl FnMut(Ticket, DropReason),
    ) {
        self.stats.offer(&packet);
        if let Some(first) = self.waiting.front_mut() {
            self.stats.try_mark(first);
        }
        self.waiting.push_back(packet);
    }

    fn dequeue(
        &mut self,
        _: Time,
        _: &mut Rng,
        dropped: &mut impl FnMut(Ticket, DropReason),
    ) -> Option<Ticket> {
        let mut first = self.waiting.pop_front()?;
        if first.ecn() == Ecn::Ce && self.stats.marked.is_multiple_of(10) {
            self.stats.lose(first, DropReason::Early, dropped);
            first = self.waiting.pop_front()?;
        }
        self.stats.dequeue(&first);
        Some(first)
    }

    fn len_packets(&self) -> usize {
        self.waiting.len()
    }

    fn len_bytes(&self) -> u64 {
        self.waiting.iter().map(|packet| u64::from(packet.wire_bytes())).sum()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }
}

impl QueueFactory for MarksTheFirst {
    fn build(&self, _: Option<BitRate>) -> Result<CustomQueue, ConfigError> {
        Ok(CustomQueue::new(MarksTheFirst::default()))
    }
}

#[test]
fn a_queue_of_another_crate_may_mark_any_packet_that_waits_and_drop_it_later() {
    let mut scenario = scenario(1);
    let queue = Config::custom(MarksTheFirst::default());
    scenario.links[0].forward = channel(mbit(0.5), ms(5.0), queue);
    scenario.udp[0].ecn = Ecn::Ect0;
    let summary = run(&scenario, 1, &mut ()).expect("a sound scenario");
    assert_eq!(marks_of_flows(&summary), summary.queues[0].marks);
    assert!(summary.queues[0].marks > 50 && summary.drops > 5, "{summary:?}");
}

#[test]
fn a_scenario_without_policers_does_not_mention_them() {
    let mut plain = cbr(8.0, 10);
    let text = |scenario: &Scenario| {
        let summary = run(scenario, 1, &mut ()).expect("a sound scenario");
        serde_json::to_string(&summary).expect("JSON")
    };
    assert!(!text(&plain).contains("policed"));
    assert!(!text(&plain).contains("-0.0"), "no rate of no flows has a sign");
    let policer = TokenBucket { rate: mbit(1.0).expect("above zero"), burst_bytes: 9_000 };
    plain.links[0].backward.variation.policer = Some(policer);
    assert_eq!(text(&plain).matches("policed").count(), 2, "the source, and the way back");
}
