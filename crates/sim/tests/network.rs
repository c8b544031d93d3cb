//! Links, queues, loss, middleboxes, UDP: the network without TCP.

mod common;

use common::*;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use windlass_aqm::{CoDelConfig, Config as Queue, DualPi2Config};
use windlass_base::{Ecn, Span, Time};
use windlass_sim::model::{LinkDirection, Loss, OnOff, Reorder, TcpApp, UdpFlow};
use windlass_sim::packet::{Body, Packet};
use windlass_sim::summary::UdpSummary;
use windlass_sim::{BuildError, Middlebox, Recorder, Scenario, Simulation, run};
use windlass_tcp::config::AckPolicy;

#[test]
fn a_packet_takes_its_serialisation_and_its_propagation() {
    assert_eq!(arrivals(&cbr(1.0, 100))[0], 1_409_600);
}

#[test]
fn packets_back_to_back_are_spaced_by_their_serialisation() {
    let times = arrivals(&cbr(40.0, 100));
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|&gap| gap == 409_600), "{gaps:?}");
}

#[test]
fn a_link_without_a_rate_only_delays() {
    let mut scenario = cbr(40.0, 1);
    scenario.links[0].forward.rate = None;
    let times = arrivals(&scenario);
    assert_eq!(times[..3], [1_000_000, 1_102_400, 1_204_800]);
    let summary = run(&scenario, 1, &mut ()).expect("a sound scenario");
    assert_eq!((summary.drops, summary.queues[0].max_packets), (0, 0));
}

#[test]
fn a_source_at_half_the_rate_loses_nothing_and_never_queues() {
    let summary = run(&cbr(5.0, 10), 1, &mut ()).expect("a sound scenario");
    // 5 Mbit/s in packets of 4096 bits, the last two of which are under way at the end.
    assert_eq!((summary.udp[0].sent, summary.udp[0].received), (1_221, 1_219));
    assert_eq!((summary.drops, summary.mean_queue_packets.whole_run), (0, Some(0.0)));
}

#[test]
fn a_source_at_twice_the_rate_fills_the_queue_and_loses_half() {
    let summary = run(&cbr(20.0, 10), 1, &mut ()).expect("a sound scenario");
    let source = &summary.udp[0];
    assert_eq!(summary.bottleneck_packets, source.sent);
    assert_eq!(summary.drops, source.drops);
    let queue = &summary.queues[0];
    assert_eq!(queue.arrived - queue.drops - queue.sent, 10, "what waits at the end");
    assert_eq!(queue.sent - source.received, 4, "on the link and in propagation");
    assert!((source.drops as f64 / source.sent as f64 - 0.5).abs() < 0.005);
    assert_eq!(queue.max_packets, 10);
    let mean = summary.mean_queue_packets.whole_run.expect("time has passed");
    assert!((9.4..10.0).contains(&mean), "mean queue {mean}");
}

#[test]
fn a_device_hides_from_the_queue_what_it_has_taken_and_sends_it_no_sooner() {
    for aqm in [drop_tail(100), Queue::CoDel(CoDelConfig::default())] {
        let mut scenario = cbr(20.0, 100);
        scenario.links[0].forward.queue = aqm;
        // 97 packets within 20 ms, half of which have been sent by then: a backlog of 20 ms.
        scenario.udp[0].stop = Some(ms(20.0));
        let without = arrivals(&scenario);
        let mut longest = Vec::new();
        for device_queue in [0.0, 10.0, 25.0] {
            scenario.links[0].forward.device_queue = ms(device_queue);
            assert_eq!(arrivals(&scenario), without);
            let summary = run(&scenario, 1, &mut ()).expect("a sound scenario");
            assert_eq!(summary.drops, 0);
            longest.push(summary.queues[0].max_packets);
        }
        // 10 ms are 24.4 packets.
        assert!((23..=25).contains(&(longest[0] - longest[1])), "{longest:?}");
        assert_eq!(longest[2], 0);
    }
}

#[test]
fn listed_losses_are_those_packets_and_no_others() {
    let mut scenario = cbr(1.0, 10);
    let complete = arrivals(&scenario);
    scenario.links[0].forward.loss = Loss::Listed { packets: vec![1, 3, 4] };
    let times = arrivals(&scenario);
    assert_eq!(times[0], complete[1]);
    assert_eq!(times[1..], complete[4..]);
    let summary = run(&scenario, 1, &mut ()).expect("a sound scenario");
    assert_eq!((summary.udp[0].lost, summary.udp[0].drops), (3, 0));
}

#[test]
fn reordered_packets_arrive_late_but_arrive() {
    let mut scenario = cbr(8.0, 10);
    let in_order = arrivals(&scenario);
    let max_extra_delay = ms(5.0);
    scenario.links[0].forward.reorder = Some(Reorder { probability: 0.2, max_extra_delay });
    scenario.udp[0].stop = Some(ms(900.0));
    let times = arrivals(&scenario);
    assert_eq!(times.len(), in_order.iter().filter(|&&time| time < 901_409_600).count());
    assert!(times.is_sorted(), "time does not run backwards");
    let on_time = times.iter().filter(|time| in_order.contains(time)).count() as f64;
    assert!((0.77..0.83).contains(&(on_time / times.len() as f64)));
}

#[test]
fn bursts_of_two_sources_share_a_link_that_neither_fills() {
    let mut scenario = cbr(8.0, 1_000);
    let on_off = OnOff { on: ms(20.0), off: ms(60.0), exponential: true };
    scenario.udp[0].traffic = constant(512, mbit(8.0), Some(on_off));
    scenario.udp.push(scenario.udp[0].clone());
    let summary = run(&scenario, 1, &mut ()).expect("a sound scenario");
    assert_ne!(summary.udp[0].sent, summary.udp[1].sent, "each draws its own times");
    assert!(summary.queues[0].max_packets > 0, "bursts that meet wait");
    assert_eq!(summary.drops, 0);
}

/// Two sources of 5.5 Mbit/s, an ECN-capable one and one that is not, at a link of 10 Mbit/s.
fn overload(ecn: Ecn, queue: Queue) -> Scenario {
    let wire = |queue| channel(mbit(10.0), ms(1.0), queue);
    let mut scenario = pair(wire(queue), wire(drop_tail(10)), Span::from_secs(10));
    scenario.steady_from = Span::from_secs(2);
    scenario.udp =
        [ecn, Ecn::NotEct].map(|ecn| UdpFlow { ecn, ..udp(0, 1, 1_500, mbit(5.5)) }).into();
    scenario.jitter = ms(2.0);
    scenario
}

fn dual_pi2() -> Queue {
    Queue::DualPi2(DualPi2Config::default())
}

/// RFC 9332 section 2.5.1: ECT(1) is the identifier of the queue of low latency.
#[test]
fn an_unresponsive_source_with_ect1_is_marked_in_the_queue_of_low_latency() {
    let summary = run(&overload(Ecn::Ect1, dual_pi2()), 1, &mut ()).expect("a sound scenario");
    let [low_latency, classic] = [&summary.udp[0], &summary.udp[1]];
    let wait = |source: &UdpSummary| source.queue_delay_ms.as_ref().expect("packets waited").mean;
    assert!(wait(low_latency) < ms(2.0), "{}", wait(low_latency));
    assert!(wait(classic) > ms(8.0), "{}", wait(classic));
    let marks = low_latency.marks.expect("its packets can be marked");
    assert!(marks as f64 > 0.6 * low_latency.sent as f64, "{marks} of {}", low_latency.sent);
    assert_eq!((marks, classic.marks), (summary.marks, None));
    // Its own drops begin where marks are no longer enough (section 4.2.3).
    assert!(classic.drops > 500, "{classic:?}");
    assert!(low_latency.drops < classic.drops / 10, "{low_latency:?}");
}

#[test]
fn an_unresponsive_source_with_ect0_waits_with_the_classic_one_and_is_marked() {
    let summary = run(&overload(Ecn::Ect0, dual_pi2()), 1, &mut ()).expect("a sound scenario");
    let [marked, dropped] = [&summary.udp[0], &summary.udp[1]];
    let waits = [marked, dropped]
        .map(|source| source.queue_delay_ms.as_ref().expect("packets waited").mean.as_millis_f64());
    assert!(waits[0] > 8.0 && (waits[0] / waits[1] - 1.0).abs() < 0.1, "{waits:?}");
    assert!(marked.marks > Some(500) && dropped.drops > 500, "{marked:?}, {dropped:?}");
}

#[test]
fn a_queue_without_ecn_treats_all_codepoints_alike() {
    let [plain, ect0, ect1] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1].map(|ecn| {
        let mut summary = run(&overload(ecn, drop_tail(20)), 1, &mut ()).expect("a sound scenario");
        let source = &mut summary.udp[0];
        let none = [source.marks.take(), source.marks_elsewhere.take()];
        assert_eq!(none, [ecn.is_capable().then_some(0); 2]);
        summary
    });
    assert!(plain.drops > 500);
    assert_eq!((&ect0, &ect1), (&plain, &plain));
}

/// The codepoints that arrive at node 1.
fn codepoints(scenario: &Scenario) -> BTreeSet<u8> {
    let witness = Witness::default();
    let mut simulation = Simulation::new(scenario, 1).expect("a sound scenario");
    simulation.add_middlebox(1, witness.clone());
    simulation.run(&mut ());
    witness.0.borrow().iter().map(|(_, packet)| packet.ecn.bits()).collect()
}

#[test]
fn a_link_that_bleaches_clears_marks_behind_its_queue() {
    for queue in [dual_pi2(), red()] {
        let mut scenario = overload(Ecn::Ect1, queue);
        assert!(codepoints(&scenario).contains(&Ecn::Ce.bits()));
        scenario.links[0].forward.bleaches_ecn = true;
        assert_eq!(codepoints(&scenario), [Ecn::NotEct.bits()].into());
        let marked = run(&scenario, 1, &mut ()).expect("a sound scenario").udp[0].marks;
        assert!(marked > Some(100), "{marked:?}");
    }
}

#[test]
fn a_link_that_bleaches_turns_the_marks_of_the_next_queue_into_drops() {
    let bottleneck = channel(mbit(2.0), ms(10.0), red());
    let mut scenario = dumbbell(bottleneck, &[ms(1.0)], Span::from_secs(20));
    scenario.flows.push(ns2_flow(2, 3, "reno", true));
    let marked = run(&scenario, 1, &mut ()).expect("a sound scenario");
    assert!(marked.marks > 0 && marked.flows[0].window_cuts_by_ecn > 0);
    scenario.links[1].forward.bleaches_ecn = true;
    let bleached = run(&scenario, 1, &mut ()).expect("a sound scenario");
    assert_eq!((bleached.marks, bleached.flows[0].window_cuts_by_ecn), (0, 0));
    assert!(bleached.drops > marked.drops && bleached.delivered_segments > 4_000);
    let in_time = run_with_an_event_for_each_hop(&scenario, 1);
    assert_eq!(bleached, windlass_sim::Summary { events: bleached.events, ..in_time });
    // The other direction carries no codepoint that matters to data.
    scenario.links[1].forward.bleaches_ecn = false;
    scenario.links[1].backward.bleaches_ecn = true;
    assert_eq!(run(&scenario, 1, &mut ()).expect("a sound scenario"), marked);
}

/// Clears the ECN field and answers a timer.
struct Bleacher {
    due: Option<Time>,
    log: Rc<RefCell<Vec<Time>>>,
}

impl Middlebox for Bleacher {
    fn handle_packet(&mut self, now: Time, packet: Packet, out: &mut Vec<Packet>) {
        self.due.get_or_insert(now + ms(10.0));
        out.push(Packet { ecn: Ecn::NotEct, ..packet });
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.due
    }

    fn handle_timeout(&mut self, now: Time, _out: &mut Vec<Packet>) {
        self.due = None;
        self.log.borrow_mut().push(now);
    }
}

#[test]
fn a_middlebox_that_clears_ect_leaves_nothing_to_mark() {
    let bottleneck = channel(mbit(2.0), ms(10.0), red());
    let mut scenario = dumbbell(bottleneck, &[ms(1.0)], Span::from_secs(5));
    scenario.flows.push(ns2_flow(2, 3, "reno", true));
    let marked = run(&scenario, 1, &mut ()).expect("a sound scenario");
    assert!(marked.marks > 0);
    let mut simulation = Simulation::new(&scenario, 1).expect("a sound scenario");
    simulation.add_middlebox(0, Bleacher { due: None, log: Rc::default() });
    let bleached = simulation.run(&mut ());
    assert_eq!((bleached.marks, bleached.flows[0].window_cuts_by_ecn), (0, 0));
    assert!(bleached.drops > 0 && bleached.delivered_segments > 1_000);
}

#[test]
fn middleboxes_of_a_node_stand_in_a_row_and_are_called_in_time() {
    let scenario = cbr(1.0, 10);
    let (log, witness) = (Rc::default(), Witness::default());
    let mut simulation = Simulation::new(&scenario, 1).expect("a sound scenario");
    simulation.add_middlebox(1, Bleacher { due: None, log: Rc::clone(&log) });
    simulation.add_middlebox(1, witness.clone());
    let summary = simulation.run(&mut ());
    assert_eq!(witness.0.borrow().len() as u64, summary.udp[0].received);
    let (first, calls) = (witness.0.borrow()[0].0, log.borrow());
    assert_eq!(calls[0], first + ms(10.0));
    assert!((70..=100).contains(&calls.len()), "{} calls in a second", calls.len());
}

/// Sends every packet twice.
struct Duplicator;

impl Middlebox for Duplicator {
    fn handle_packet(&mut self, _now: Time, packet: Packet, out: &mut Vec<Packet>) {
        out.extend([packet, packet]);
    }
}

#[test]
fn a_middlebox_may_send_more_than_it_takes() {
    let scenario = cbr(1.0, 10);
    let mut simulation = Simulation::new(&scenario, 1).expect("a sound scenario");
    simulation.add_middlebox(1, Duplicator);
    let udp = &simulation.run(&mut ()).udp[0];
    assert_eq!((udp.sent, udp.received), (245, 488));
}

#[test]
fn ends_that_do_not_reach_each_other_are_refused() {
    let mut scenario = cbr(1.0, 10);
    scenario.nodes.push("island".into());
    scenario.udp[0].to = 2;
    let error = run(&scenario, 1, &mut ()).expect_err("no link leads there");
    assert_eq!(error, BuildError::Unreachable { flow: "udp".into() });
}

/// Notes packets at end `a` of links.
#[derive(Default)]
struct Capture(Vec<(Time, LinkDirection, Packet)>);

impl Recorder for Capture {
    fn wants_packets(&self) -> bool {
        true
    }

    fn packet(&mut self, now: Time, direction: LinkDirection, packet: &Packet) {
        self.0.push((now, direction, *packet));
    }
}

/// Notes packets of one direction of a link.
struct OneWay(LinkDirection, Capture);

impl Recorder for OneWay {
    fn wants_packets(&self) -> bool {
        true
    }

    fn wants_packets_of(&self, direction: LinkDirection) -> bool {
        direction == self.0
    }

    fn packet(&mut self, now: Time, direction: LinkDirection, packet: &Packet) {
        self.1.packet(now, direction, packet);
    }
}

#[test]
fn a_recorder_gets_the_packets_of_the_link_that_it_names() {
    let bottleneck = channel(mbit(2.0), ms(10.0), drop_tail(20));
    let mut scenario = dumbbell(bottleneck, &[ms(1.0), ms(3.0)], Span::from_secs(5));
    scenario.flows.push(modern_flow(2, 3, TcpApp::Bulk));
    let mut one_way = OneWay(scenario.bottleneck, Capture::default());
    let summary = run(&scenario, 1, &mut one_way).expect("a sound scenario");
    let OneWay(named, Capture(packets)) = one_way;
    assert!(packets.iter().all(|(_, direction, _)| *direction == named));
    assert_eq!(packets.len() as u64, summary.queues[0].sent);
}

#[test]
fn captures_are_in_order_of_time_and_change_nothing() {
    let bottleneck = channel(mbit(2.0), ms(10.0), drop_tail(20));
    let mut scenario = dumbbell(bottleneck, &[ms(1.0), ms(3.0)], Span::from_secs(5));
    scenario.flows.push(modern_flow(2, 3, TcpApp::Bulk));
    scenario.flows.push(modern_flow(5, 4, TcpApp::Bulk));
    let mut capture = Capture::default();
    let watched = run(&scenario, 1, &mut capture).expect("a sound scenario");
    assert_eq!(watched, run(&scenario, 1, &mut ()).expect("a sound scenario"));
    for link in 0..scenario.links.len() {
        let of_link = capture.0.iter().filter(|(_, direction, _)| direction.link == link);
        let times: Vec<Time> = of_link.map(|(time, _, _)| *time).collect();
        assert!(times.is_sorted(), "link {link}");
        assert!(times.len() > 100, "link {link}: {}", times.len());
    }
    let sent: u64 = watched.queues[0].sent;
    let seen = capture.0.iter().filter(|(_, direction, _)| *direction == scenario.bottleneck);
    assert_eq!(seen.count() as u64, sent);
    let syns = capture.0.iter().filter(|(_, direction, packet)| {
        direction.link == 0
            && matches!(packet.body, Body::Tcp(segment) if segment.flags.contains(windlass_tcp::Flags::SYN))
    });
    assert_eq!(syns.count(), 4, "SYN and SYN-ACK of each connection");
}

/// Early delivery to endpoints that have nothing but timers and packets to wait for: the same run as
/// with an event for each arrival. Ties are many here, since all goes by the same rate.
#[test]
fn early_delivery_to_endpoints_changes_nothing() {
    for (seed, delays) in [(1, [1.0, 14.0, 34.0, 94.0]), (2, [5.0; 4]), (3, [2.0, 2.0, 9.0, 9.0])] {
        let bottleneck = channel(mbit(10.0), ms(1.0), red());
        let mut scenario = dumbbell(bottleneck, &delays.map(ms), Span::from_secs(30));
        scenario.flows = [2, 4, 6, 8].map(|from| ns2_flow(from, 1, "reno", true)).into();
        let simple = scenario.clone();
        let mut various = scenario.clone();
        various.flows[1].receiver.acks.policy = AckPolicy::Delayed { max: ms(100.0) };
        various.flows[2].stop = Some(Span::from_secs(10));
        various.flows[3].handshake = true;
        let pauses =
            TcpApp::Repeated { bytes: 100_000, pause: ms(200.0), exponential: true, count: None };
        various.flows.push(modern_flow(4, 1, pauses));
        various.udp.push(udp(6, 1, 300, mbit(0.3)));
        let mut both_ways = simple.clone();
        both_ways.flows.push(ns2_flow(1, 8, "reno", true));
        for (scenario, sparing) in [(simple, 2), (various, 1), (both_ways, 1)] {
            let early = run(&scenario, seed, &mut ()).expect("a sound scenario");
            let in_time = run_with_an_event_for_each_hop(&scenario, seed);
            assert!(early.events * sparing < in_time.events, "{} events", early.events);
            assert_eq!(early, windlass_sim::Summary { events: early.events, ..in_time });
        }
    }
}

/// With a middlebox anywhere, even on a node without links, no packet is delivered early.
fn run_with_an_event_for_each_hop(scenario: &Scenario, seed: u64) -> windlass_sim::Summary {
    let mut scenario = scenario.clone();
    scenario.nodes.push("island".into());
    let island = scenario.nodes.len() - 1;
    let mut simulation = Simulation::new(&scenario, seed).expect("a sound scenario");
    simulation.add_middlebox(island, Witness::default());
    simulation.run(&mut ())
}

/// Early delivery from a channel to the next, which gets all its packets from it: the run must be the
/// same as with an event for each arrival.
#[test]
fn early_delivery_between_channels_changes_nothing() {
    for (queue, seed) in [(red(), 1), (drop_tail(20), 2), (red(), 3)] {
        let bottleneck = channel(mbit(2.0), ms(10.0), queue);
        let mut scenario = dumbbell(bottleneck, &[ms(1.3), ms(7.1)], Span::from_secs(20));
        scenario.jitter = ms(100.0);
        scenario.flows.push(ns2_flow(2, 3, "reno", true));
        scenario.flows.push(modern_flow(4, 5, TcpApp::Bulk));
        // Traffic the other way, and some that starts in the middle of the flows' path.
        scenario.udp.push(udp(5, 2, 300, mbit(0.3)));
        scenario.udp.push(udp(0, 3, 200, mbit(0.2)));
        let early = run(&scenario, seed, &mut ()).expect("a sound scenario");
        let in_time = run_with_an_event_for_each_hop(&scenario, seed);
        assert!(early.events < in_time.events, "{} and {}", early.events, in_time.events);
        assert_eq!(early, windlass_sim::Summary { events: early.events, ..in_time });
    }
}
