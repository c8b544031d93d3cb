//! Flows that come and go, requests and responses, incast, senders that their application limits.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::*;
use std::sync::Arc;
use windlass_base::{Span, Time};
use windlass_sim::model::traffic::dialogue::Dialogue;
use windlass_sim::model::traffic::page::Page;
use windlass_sim::model::traffic::video::{Rule, Video};
use windlass_sim::model::traffic::{ArrivalList, Arrivals, Process, Sizes};
use windlass_sim::model::{Flow, Loss, NodeId, Pages, Requests, Reuse, TcpApp, VideoPlayer};
use windlass_sim::summary::{Completions, Summary};
use windlass_sim::{Recorder, Scenario, run};

fn result(scenario: &Scenario) -> Summary {
    run(scenario, 1, &mut ()).expect("a sound scenario")
}

fn completions(summary: &Summary) -> &Completions {
    summary.flows[0].completions.as_ref().expect("transfers of many sizes")
}

/// Host 0 sends to host 1 over 10 Mbit/s and 10 ms each way.
fn two_hosts(app: TcpApp) -> Scenario {
    let wire = || channel(mbit(10.0), ms(10.0), drop_tail(2_000));
    let mut scenario = pair(wire(), wire(), Span::from_secs(20));
    scenario.flows.push(modern_flow(0, 1, app));
    scenario
}

fn listed(text: &str) -> TcpApp {
    let list = ArrivalList::parse(text).expect("a list");
    TcpApp::Arriving { arrivals: Arrivals::Listed(Arc::new(list)) }
}

fn poisson(per_second: f64, sizes: Sizes, count: u64) -> TcpApp {
    let process = Process::Poisson { per_second };
    TcpApp::Arriving { arrivals: Arrivals::Drawn { process, sizes, count: Some(count) } }
}

fn requests(request: u64, response: u64, count: u64) -> Requests {
    let dialogue = Dialogue {
        request: Sizes::Fixed(request),
        response: Sizes::Fixed(response),
        think: ms(100.0),
        exponential: false,
        count: Some(count),
    };
    Requests { dialogue, reuse: Reuse::Kept, barrier: None }
}

/// Ends of transfers: when they began, when they ended, how many bytes.
#[derive(Default)]
struct Ends(Vec<(Time, Time, u64)>);

impl Recorder for Ends {
    fn transfer_done(&mut self, now: Time, _: usize, begun: Time, bytes: u64) {
        self.0.push((begun, now, bytes));
    }
}

#[test]
fn each_arrival_has_a_connection_of_its_own_beside_the_others() {
    let mut ends = Ends::default();
    let scenario = two_hosts(listed("1 1000000\n1.01 1000\n1.02 1000\n9 1000\n"));
    let summary = run(&scenario, 1, &mut ends).expect("a sound scenario");
    let found: Vec<(f64, u64)> =
        ends.0.iter().map(|(begun, _, bytes)| (begun.as_secs_f64(), *bytes)).collect();
    // The short ones do not wait for the long one to end, though for its packets in the queue.
    assert_eq!(found, [(1.01, 1_000), (1.02, 1_000), (1.0, 1_000_000), (9.0, 1_000)]);
    let alone = ends.0[3].1 - ends.0[3].0;
    // SYN, SYN-ACK, and the data: three times 10 ms, plus the packets' own time on the link.
    assert!((0.0308..0.0312).contains(&alone.as_secs_f64()), "{alone}");
    let completions = completions(&summary);
    assert_eq!((completions.completed, completions.open, completions.failed), (4, 0, 0));
    assert_eq!(completions.bytes, 1_003_000);
    let used = completions.classes.iter().filter(|class| class.completed > 0);
    let classes: Vec<(u64, Option<u64>, u64)> =
        used.map(|class| (class.from_bytes, class.below_bytes, class.completed)).collect();
    assert_eq!(classes, [(0, Some(10_000), 3), (1_000_000, Some(10_000_000), 1)]);
}

#[test]
fn a_transfer_alone_has_a_slowdown_of_its_slow_start_only() {
    let summary = result(&two_hosts(listed("0 1000\n5 5000000\n")));
    let [short, _, _, long, _] = &completions(&summary).classes[..] else { panic!("classes") };
    let slowdown = |times: &windlass_sim::summary::Times| {
        times.slowdown.expect("a path with delays").mean.as_secs_f64()
    };
    // SYN and SYN-ACK have their own time on the link, which an idle path's time does not count.
    assert!((1.0..1.02).contains(&slowdown(&short.times)), "{}", slowdown(&short.times));
    assert!((1.0..1.05).contains(&slowdown(&long.times)), "{}", slowdown(&long.times));
}

#[test]
fn bytes_of_connections_at_the_same_time_all_count() {
    let summary = result(&two_hosts(poisson(20.0, Sizes::Exponential { mean: 40_000.0 }, 150)));
    let completions = completions(&summary);
    assert_eq!((completions.completed, completions.open, completions.failed), (150, 0, 0));
    let flow = &summary.flows[0];
    let acked_bytes = flow.packets_per_s.whole_run * summary.duration_s * 1_448.0;
    let carried = completions.bytes as f64;
    assert!((acked_bytes / carried - 1.0).abs() < 1e-9, "{acked_bytes} of {carried} bytes");
    assert_eq!(flow.cwnd_packets.time_mean, None, "there is no one window");
}

#[test]
fn transfers_that_begin_before_the_steady_window_do_not_count() {
    let mut scenario = two_hosts(listed("1 1000\n2 1000\n19.99 1000\n"));
    scenario.steady_from = Span::from_millis(1_500);
    let summary = result(&scenario);
    let completions = completions(&summary);
    assert_eq!((completions.completed, completions.open), (1, 1));
}

#[test]
fn arrivals_end_with_the_flows_stop() {
    let mut scenario = two_hosts(listed("1 1000\n2 1000\n3 1000\n"));
    scenario.flows[0].stop = Some(Span::from_millis(2_500));
    scenario.until_done = true;
    let summary = result(&scenario);
    assert_eq!(completions(&summary).completed, 2);
    assert!((2.5..2.6).contains(&summary.duration_s), "{} s", summary.duration_s);
}

#[test]
fn a_run_is_done_when_the_last_of_its_transfers_is() {
    let mut scenario = two_hosts(listed("1 1000\n2 1000000\n2.001 1000\n"));
    scenario.until_done = true;
    let mut ends = Ends::default();
    let summary = run(&scenario, 1, &mut ends).expect("a sound scenario");
    let last = ends.0.iter().map(|end| end.1).max().expect("transfers");
    assert!((summary.duration_s - last.as_secs_f64()).abs() < 1e-9);
}

#[test]
fn a_lost_packet_delays_its_transfer_and_no_other() {
    let mut scenario = two_hosts(listed("1 1000\n5 1000\n"));
    scenario.links[0].forward.loss = Loss::Listed { packets: vec![1] };
    let mut ends = Ends::default();
    run(&scenario, 1, &mut ends).expect("a sound scenario");
    let times: Vec<f64> =
        ends.0.iter().map(|(begun, end, _)| (*end - *begun).as_secs_f64()).collect();
    // The SYN goes out again after the initial timeout of a second.
    assert!((1.0308..1.0312).contains(&times[0]), "{times:?}");
    assert!((0.0308..0.0312).contains(&times[1]), "{times:?}");
}

/// Times of the responses of host 0 to host 1.
fn response_times(requests: Requests) -> (Vec<f64>, Summary) {
    let mut ends = Ends::default();
    let scenario = two_hosts(TcpApp::Requests(requests));
    let summary = run(&scenario, 1, &mut ends).expect("a sound scenario");
    let times = ends.0.iter().map(|(begun, end, _)| (*end - *begun).as_secs_f64()).collect();
    (times, summary)
}

#[test]
fn a_request_on_a_kept_connection_takes_one_round_trip() {
    let (times, summary) = response_times(requests(200, 1_000, 5));
    assert_eq!(times.len(), 5);
    // The handshake, the request, the response: four times 10 ms, plus the packets' own time.
    assert!((0.0409..0.0415).contains(&times[0]), "{times:?}");
    assert!(times[1..].iter().all(|time| (0.0209..0.0213).contains(time)), "{times:?}");
    assert_eq!(completions(&summary).completed, 5);
    assert_eq!(completions(&summary).bytes, 5_000);
}

#[test]
fn a_request_on_a_new_connection_pays_for_the_handshake() {
    let (times, summary) =
        response_times(Requests { reuse: Reuse::New, ..requests(200, 1_000, 5) });
    assert_eq!(times.len(), 5);
    assert!(times.iter().all(|time| (0.0409..0.0415).contains(time)), "{times:?}");
    assert_eq!(completions(&summary).failed, 0);
}

#[test]
fn requests_larger_than_a_segment_arrive_whole_before_the_response() {
    let (times, _) = response_times(requests(100_000, 100_000, 2));
    // 100 kB either way at 10 Mbit/s take 83 ms each, and slow start some round trips more. No last small
    // segment waits for a delayed ACK.
    assert!(times.iter().all(|time| (0.18..0.40).contains(time)), "{times:?}");
}

#[test]
fn a_user_thinks_between_response_and_request() {
    let mut ends = Ends::default();
    let scenario = two_hosts(TcpApp::Requests(requests(200, 1_000, 3)));
    run(&scenario, 1, &mut ends).expect("a sound scenario");
    let thought: Vec<Span> = ends.0.windows(2).map(|pair| pair[1].0 - pair[0].1).collect();
    assert_eq!(thought, [ms(100.0), ms(100.0)]);
}

#[test]
fn a_server_that_fails_ends_its_connection_and_the_user_asks_again() {
    let mut scenario = two_hosts(TcpApp::Requests(requests(200, 1_000, 2)));
    let retries = 3;
    scenario.flows[0].receiver.timers.max_syn_retries = retries;
    // The first connection's SYNs are all lost: 1, 2 and 4 s apart.
    let lost = (1..=u64::from(retries) + 1).collect();
    scenario.links[0].backward.loss = Loss::Listed { packets: lost };
    scenario.duration = Span::from_secs(60);
    let summary = result(&scenario);
    let completions = completions(&summary);
    assert_eq!((completions.failed, completions.completed), (1, 1));
}

#[test]
fn a_connection_that_fails_behind_its_last_response_fails_no_transfer() {
    let mut scenario = two_hosts(TcpApp::Requests(requests(200, 1_000, 1)));
    scenario.flows[0].receiver.timers.max_retries = 3;
    // The SYN, its ACK and the request arrive, and the SYN-ACK and the response. Then both ways are dead:
    // the client's FINs are never answered.
    scenario.links[0].backward.loss = Loss::Listed { packets: (4..60).collect() };
    scenario.links[0].forward.loss = Loss::Listed { packets: (3..60).collect() };
    scenario.duration = Span::from_secs(120);
    let summary = result(&scenario);
    let completions = completions(&summary);
    assert_eq!((completions.completed, completions.failed, completions.open), (1, 0, 0));
}

#[test]
fn a_limited_sender_writes_what_its_application_gives_it() {
    let app = TcpApp::Limited { bytes: 10_000, interval: ms(50.0) };
    let mut scenario = two_hosts(app);
    scenario.flows[0].stop = Some(Span::from_secs(10));
    let summary = result(&scenario);
    let flow = &summary.flows[0];
    let bytes = flow.packets_per_s.whole_run * summary.duration_s * 1_448.0;
    // At 0, 50, ... 9,950 ms.
    assert!((bytes - 2_000_000.0).abs() < 1.0, "{bytes} bytes");
    assert!(flow.completions.is_none() && flow.transfers.is_none());
}

/// `servers` hosts behind a switch with 1 Gbit/s to each and to the client, which asks all of them at once.
fn incast(servers: usize, response: u64, rounds: u64) -> Scenario {
    let wire = || channel(mbit(1_000.0), Span::from_micros(10), drop_tail(100_000));
    let mut scenario = pair(wire(), wire(), Span::from_secs(20));
    scenario.nodes = vec!["switch".into(), "client".into()];
    for server in 0..servers {
        let node: NodeId = scenario.nodes.len();
        scenario.nodes.push(format!("server{server}"));
        scenario.links.push(link(node, 0, wire(), wire()));
        let app =
            TcpApp::Requests(Requests { barrier: Some(0), ..requests(100, response, rounds) });
        scenario.flows.push(Flow { name: format!("s{server}"), ..modern_flow(node, 1, app) });
    }
    scenario.until_done = true;
    scenario
}

#[test]
fn incast_of_64_takes_the_time_of_all_responses_on_one_link() {
    let response = 64_000;
    let summary = result(&incast(64, response, 5));
    let [barrier] = &summary.barriers[..] else { panic!("one barrier") };
    assert_eq!((barrier.rounds, barrier.flows.len()), (5, 64));
    // 64 responses of 45 segments, each with 52 bytes of headers, at 1 Gbit/s.
    let segments = response.div_ceil(1_448);
    let arithmetic_ms = 64.0 * (response + segments * 52) as f64 * 8.0 / 1e6;
    let round = barrier.round_ms.expect("rounds");
    for found in [round.mean, round.max] {
        let share = found.as_secs_f64() * 1e3 / arithmetic_ms;
        assert!((1.0..1.1).contains(&share), "{found}, by arithmetic {arithmetic_ms} ms");
    }
}

#[test]
fn incast_of_64_across_a_data_centre_takes_the_time_of_the_last_link() {
    // 128 hosts on 8 leaves; those of the last four send to one on the first.
    let flows: String = (65..=128)
        .map(|host| {
            format!("[[flows]]\nname = \"s{host}\"\nfrom = \"h{host}\"\nto = \"h1\"\n{TRANSFER}")
        })
        .collect();
    let text = format!("{DATA_CENTRE}{flows}");
    let scenario = match windlass_scenario::from_toml("incast.toml", &text, &[]) {
        Ok(document) => document.scenario,
        Err(problems) => panic!("{problems}"),
    };
    let summary = result(&scenario);
    let transfers = summary.flows.iter().filter_map(|flow| flow.transfers.as_ref());
    let last = transfers.map(|transfers| transfers.completion_s[0]).fold(0.0, f64::max);
    // 64 kB in 45 segments with 52 bytes of headers, 64 times, at 10 Gbit/s; and the handshakes.
    let arithmetic_s = 64.0 * (64_000.0 + 45.0 * 52.0) * 8.0 / 10e9;
    assert!(
        (1.0..1.1).contains(&(last / arithmetic_s)),
        "{last} s, by arithmetic {arithmetic_s} s"
    );
}

const TRANSFER: &str = "app = { kind = \"transfer\", size = \"64kB\" }\n";
const DATA_CENTRE: &str = r#"schema = 2
name = "incast"
duration = "1s"
until_done = true
[queues.deep]
kind = "droptail"
limit = "4096 packets"
[leaf_spine]
leaves = 8
spines = 4
hosts_per_leaf = 16
access = { rate = "10Gbit/s", delay = "1us", queue = "deep" }
fabric = { rate = "40Gbit/s", delay = "1us", queue = "deep" }
"#;

#[test]
fn flows_at_a_barrier_ask_together() {
    let mut ends = Ends::default();
    run(&incast(4, 50_000, 3), 1, &mut ends).expect("a sound scenario");
    let mut begun: Vec<Time> = ends.0.iter().map(|end| end.0).collect();
    begun.sort_unstable();
    assert_eq!(begun.len(), 12);
    for round in begun.chunks(4) {
        assert_eq!(round.first(), round.last());
    }
    // 100 ms after the last response of the round before.
    assert_eq!(begun[4] - ends.0[3].1, ms(100.0));
}

#[test]
fn arrivals_of_a_seed_are_the_same_whatever_else_runs() {
    let app = || poisson(20.0, Sizes::Exponential { mean: 20_000.0 }, 50);
    let sizes = |scenario: &Scenario| {
        let mut ends = Ends::default();
        run(scenario, 7, &mut ends).expect("a sound scenario");
        let mut found: Vec<(Time, u64)> = ends.0.iter().map(|end| (end.0, end.2)).collect();
        found.sort_unstable();
        found
    };
    let alone = two_hosts(app());
    let mut beside = two_hosts(app());
    let limited = TcpApp::Limited { bytes: 10_000, interval: ms(50.0) };
    beside.flows.push(Flow { name: "other".into(), ..modern_flow(1, 0, limited) });
    let (alone, beside) = (sizes(&alone), sizes(&beside));
    assert_eq!(alone.len(), 50);
    assert_eq!(&beside[..50], &alone[..]);
}

fn pages(objects: u64, connections: u32) -> Pages {
    let page = Page {
        request_bytes: 400,
        document: Sizes::Fixed(1_000),
        objects: Sizes::Fixed(objects),
        object: Sizes::Fixed(1_000),
        connections,
    };
    Pages { page, think: ms(500.0), exponential: false, count: Some(3) }
}

/// The mean time of a page's load in ms, and the summary.
fn load_ms(pages: Pages) -> (f64, Summary) {
    let count = pages.count;
    let summary = result(&two_hosts(TcpApp::Pages(pages)));
    let found = summary.flows[0].pages.as_ref().expect("loads of pages");
    assert_eq!((Some(found.completed), found.failed), (count, 0));
    (found.load_ms.expect("loads").mean.as_millis_f64(), summary)
}

#[test]
fn a_page_takes_its_document_and_then_its_objects_side_by_side() {
    // Handshake and document: 40 ms. The first object follows on that connection, five others open one: 40 ms.
    let (six, summary) = load_ms(pages(6, 6));
    assert!((80.0..90.0).contains(&six), "{six} ms");
    assert_eq!(completions(&summary).completed, 3 * 7);
    // One connection: six more round trips.
    let (one, _) = load_ms(pages(6, 1));
    assert!((160.0..175.0).contains(&one), "{one} ms");
    // One connection and twelve objects: twelve round trips.
    let (twelve, _) = load_ms(pages(12, 1));
    assert!((280.0..300.0).contains(&twelve), "{twelve} ms");
}

#[test]
fn pages_end_their_connections() {
    let mut scenario = two_hosts(TcpApp::Pages(pages(6, 6)));
    scenario.until_done = true;
    let summary = result(&scenario);
    // Three loads of some 90 ms, and two pauses.
    assert!((1.25..1.35).contains(&summary.duration_s), "{} s", summary.duration_s);
    let handshakes = 3 * 6;
    let segments = summary.delivered_segments;
    assert_eq!(segments, 3 * 7, "one segment a response; {handshakes} connections");
}

/// A ladder of 1, 2 and 4 Mbit/s on a path of 3 Mbit/s.
fn video(rule: Rule) -> Summary {
    let ladder = [1.0, 2.0, 4.0].map(|rate| mbit(rate).expect("not zero")).to_vec();
    let video = Video {
        ladder,
        segment: Span::from_secs(2),
        segments: Some(30),
        startup: Span::from_secs(4),
        buffer: Span::from_secs(20),
        variation: 0.0,
        rule,
    };
    let mut scenario = two_hosts(TcpApp::Video(VideoPlayer { video, request: 300 }));
    scenario.links[0].forward.rate = mbit(3.0);
    scenario.duration = Span::from_secs(120);
    result(&scenario)
}

#[test]
fn a_video_of_less_than_the_rate_plays_without_a_stall() {
    for rule in [Rule::Fixed { level: 1 }, Rule::Rate { window: 5, safety: 0.9 }] {
        let summary = video(rule);
        let video = summary.flows[0].video.as_ref().expect("a video");
        assert_eq!((video.rebuffers, video.segments), (0, 30), "{rule:?}");
        assert!((video.played_s - 60.0).abs() < 1e-6, "{rule:?}: {} s", video.played_s);
        assert!(video.mean_mbit_per_s > 1.9, "{rule:?}: {} Mbit/s", video.mean_mbit_per_s);
    }
}

#[test]
fn a_video_of_more_than_the_rate_stalls() {
    let summary = video(Rule::Fixed { level: 2 });
    let video = summary.flows[0].video.as_ref().expect("a video");
    // 60 s of 4 Mbit/s take 80 s and more at 3 Mbit/s less headers; 4 s of it are played late at most.
    assert!(video.rebuffers > 3, "{} stalls", video.rebuffers);
    assert!((15.0..35.0).contains(&video.rebuffering_s), "{} s", video.rebuffering_s);
    assert!(video.startup_s.is_some_and(|startup| (5.3..6.5).contains(&startup)));
}
