//! Results of a session, as the page receives them.

use windlass_playground::{Curve, Session};

const FOUR_FLOWS: &str = include_str!("../../../experiments/new-ecn/s1_10M_p0.1_newecn.toml");

#[test]
fn the_plots_agree_with_the_summary() {
    let mut session = Session::new(FOUR_FLOWS, false).expect("a scenario");
    while session.advance(0.1) < 1.0 {}
    let outcome = session.finish(500, 60);

    assert_eq!(outcome.flows.len(), 4);
    for (plots, flow) in outcome.flows.iter().zip(&outcome.summary.flows) {
        assert_eq!(plots.name, flow.name);
        // A span lasts a second. At the end a window of packets is on its way, and some came twice.
        let received = plots.rate_mbit_per_s.iter().sum::<f64>() / 8.0 * 1e6 / 472.0;
        let acked = flow.packets_per_s.whole_run * 60.0;
        let most = acked + 128.0 + flow.retransmitted_segments as f64;
        assert!((acked..=most).contains(&received), "{}: {received}, {acked} acked", flow.name);
        assert_bounded(&plots.cwnd_packets);
        assert!(plots.rtt_ms.value.iter().all(|&rtt| rtt >= flow.rtt_min_ms), "{}", flow.name);
    }
    let bottleneck = &outcome.queues[0];
    let max = bottleneck.packets.value.iter().copied().fold(0.0, f64::max);
    assert_eq!(max, outcome.summary.queues[0].max_packets as f64);
    assert_bounded(&bottleneck.packets);
    assert_bounded(&bottleneck.average_packets);
}

/// Two CUBIC flows fill a long queue, whose first overflow takes seconds to repair: meanwhile the ACK number
/// stands still, and then one ACK covers all that has arrived.
const BUFFERBLOAT: &str = include_str!("../../../experiments/course/bufferbloat.toml");

#[test]
fn no_flow_is_faster_than_the_link() {
    for (text, spans) in [(BUFFERBLOAT, 60), (FOUR_FLOWS, 60), (BUFFERBLOAT, 2000)] {
        let mut session = Session::new(text, false).expect("a scenario");
        while session.advance(0.1) < 1.0 {}
        for plots in session.finish(500, spans).flows {
            let fastest = plots.rate_mbit_per_s.iter().copied().fold(0.0, f64::max);
            assert!(fastest <= 10.0, "{}: {fastest} Mbit/s", plots.name);
            assert!(fastest > 2.0, "{}: {fastest} Mbit/s", plots.name);
        }
    }
}

#[test]
fn a_long_queue_shows_in_the_round_trip_times() {
    let mut session = Session::new(BUFFERBLOAT, false).expect("a scenario");
    while session.advance(0.1) < 1.0 {}
    for plots in session.finish(500, 60).flows {
        let longest = plots.rtt_ms.value.iter().copied().fold(0.0, f64::max);
        assert!(longest > 500.0, "{}: {longest} ms", plots.name);
        assert_bounded(&plots.rtt_ms);
    }
}

fn assert_bounded(curve: &Curve) {
    assert_eq!(curve.time_s.len(), curve.value.len());
    assert!((100..=2000).contains(&curve.value.len()), "{} points", curve.value.len());
    assert!(curve.time_s.is_sorted());
}

#[test]
fn progress_grows_to_one_and_reaches_it_at_the_end_only() {
    let mut session = Session::new(FOUR_FLOWS, false).expect("a scenario");
    let mut parts = vec![];
    loop {
        let part = session.advance(0.25);
        parts.push(part);
        if part >= 1.0 {
            break;
        }
    }
    assert_eq!(parts, [0.25, 0.5, 0.75, 1.0]);
}

#[test]
fn a_scenario_in_which_nothing_happens_for_long_ends() {
    let late = FOUR_FLOWS.replace("start = \"1.5s\"", "start = \"59s\"").replace(
        "{ name = \"new-ecn-190ms\", from = \"s4\" }",
        "{ name = \"new-ecn-190ms\", from = \"s4\", stop = \"1s\" }",
    );
    let mut session = Session::new(&late, false).expect("a scenario");
    let steps = (0..).take_while(|_| session.advance(0.01) < 1.0).take(1000).count();
    assert!(steps < 101, "{steps} steps");
}

#[test]
fn every_problem_of_a_text_has_its_line_and_key() {
    let text = FOUR_FLOWS.replace("\"60s\"", "\"60 parsecs\"").replace("p_max = 0.1", "p_max = 7");
    let problems = Session::new(&text, false).expect_err("two mistakes");
    assert!(problems.len() >= 2, "{problems:?}");
    assert_eq!(problems[0].position, "scenario.toml:4:12");
    assert_eq!(problems[0].key, "duration");
    assert!(problems[0].message.to_string().contains("parsecs"), "{}", problems[0].message);
}

#[test]
fn a_trace_in_a_file_is_a_problem_and_no_crash() {
    let text = include_str!("../../../experiments/over-time/cellular.toml");
    let problems = Session::new(text, false).expect_err("there are no files beside the text");
    assert!(problems[0].message.to_string().contains("cellular.trace"), "{}", problems[0].message);
}

/// Loads of pages open several connections at a time; the download beside them has one.
#[test]
fn a_flow_with_several_connections_has_a_rate_and_no_window() {
    let text = include_str!("../../../experiments/ready/dsl-web.toml");
    let text = text.replace("\"120s\"", "\"20s\"").replace("\"20s\"\n\nflows", "\"5s\"\n\nflows");
    let text = text.replace("start = \"10s\"", "start = \"5s\"");
    let mut session = Session::new(&text, false).expect("a scenario");
    while session.advance(0.1) < 1.0 {}
    let outcome = session.finish(500, 60);
    let [pages, update] = &outcome.flows[..] else { panic!("two flows") };
    assert_eq!(pages.cwnd_packets, Curve::default());
    assert!(pages.rate_mbit_per_s.iter().sum::<f64>() > 0.0);
    assert!(!pages.rtt_ms.value.is_empty());
    assert_bounded(&update.rtt_ms);
    assert!(!update.cwnd_packets.value.is_empty());
}
