//! Delays of the path in trials that identify a congestion controller: a name is of paths that add none.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use std::sync::Arc;
use windlass_base::Span;
use windlass_probe::cca::{
    self, Controller, Library, Round, Sample, ScriptOrder, Show, Signature, Trace,
};
use windlass_probe::ecn::Ask;
use windlass_probe::http::Head;
use windlass_probe::session::Step;
use windlass_probe::{Ending, Purpose, Report, Session, Settings, Target};

const RTT_MS: f64 = 160.0;

/// A trial whose rounds the path holds up by so many milliseconds, and whose handshake took so many more.
fn trace(held_up_ms: f64, queued_ms: f64) -> Trace {
    let stages = [
        (Show::SlowStart, 4, 1.0, 80.0),
        (Show::Loss, 16, 1.0, 100.0),
        (Show::Delay, 10, 1.375, 110.0),
        (Show::LossAtDelay, 3, 1.375, 60.0),
        (Show::Relief, 10, 1.0, 70.0),
    ];
    let mut rounds = Vec::new();
    let mut at_ms = 0.0;
    for (show, count, factor, window) in stages {
        for _ in 0..count {
            at_ms += RTT_MS * factor + held_up_ms;
            rounds.push(Round { show, at_ms, window, recovering: false, marked: false, marks: 0 });
        }
    }
    Trace {
        rtt_ms: RTT_MS,
        path_rtt_ms: 20.0,
        queued_ms,
        mss: 256,
        complete: true,
        bytes: 1_000_000,
        losses: vec![160.0, 160.0],
        rounds,
        ..Trace::default()
    }
}

fn judge(traces: &[Trace]) -> Controller {
    let sample = Sample {
        controller: "known".into(),
        rtt_ms: RTT_MS,
        source: "a test".into(),
        signature: Signature::of(&trace(0.0, 0.0)),
    };
    let traces: Vec<&Trace> = traces.iter().collect();
    cca::judge(&traces, &Library::of(vec![sample])).expect("a trial")
}

#[test]
fn on_a_path_that_adds_delay_the_nearest_signature_is_no_name() {
    for (held_up_ms, queued_ms) in [(0.0, 0.0), (20.0, 0.0), (0.0, 20.0)] {
        assert_eq!(judge(&[trace(held_up_ms, queued_ms)]).names(), "known");
    }
    let held_up = judge(&[trace(0.0, 0.0), trace(30.0, 0.0)]);
    assert_eq!((held_up.names(), held_up.identity.confidence), ("unknown".to_owned(), 0.0));
    let why = held_up.why.expect("a reason");
    assert!(why.starts_with("the path held up rounds of 160 ms by 30 ms: it is slower"), "{why}");
    let queued = judge(&[trace(0.0, 88.0)]);
    let why = queued.why.expect("a reason");
    assert_eq!(
        why,
        "a handshake took 88 ms longer than another one: the path carries other traffic"
    );
}

/// A trial in which packets came no faster than so many a second.
fn trace_at(packets_per_s: f64) -> Trace {
    Trace { packets_per_s, ..trace(0.0, 0.0) }
}

/// The 16 windows of 100 segments in 160 ms are 625 packets a second.
#[test]
fn packets_that_come_slowly_for_whole_rounds_are_a_reason_and_forbid_no_name() {
    let unknown = |packets_per_s| {
        let trace = trace_at(packets_per_s);
        cca::judge(&[&trace], &Library::default()).expect("a trial").why.expect("a reason")
    };
    let slow = unknown(630.0);
    let says = "; at most 630 packets a second came (1.29 Mbit/s of data), for whole rounds: the path or the \
                server is slower than the probe's own bottleneck of 2000";
    assert!(slow.ends_with(says), "{slow}");
    assert!(unknown(780.0).contains("at most 780 packets"));
    // A sender that paces CUBIC's slow start is twice as fast there.
    for not_slow in [0.0, 800.0, 1250.0, 2000.0] {
        assert!(!unknown(not_slow).contains("at most"), "{not_slow}");
    }
    assert_eq!(judge(&[trace_at(630.0)]).names(), "known");
}

fn report(rtt_ms: f64) -> Report {
    let head = Head {
        status: 200,
        location: None,
        server: None,
        content_length: Some(1 << 24),
        chunked: false,
        is_html: false,
        head_bytes: 40,
    };
    Report {
        ending: Ending::HeadRead,
        syn_ack: None,
        rtt_ms: Some(rtt_ms),
        head: Some(head),
        not_http: false,
        body: None,
        heard: None,
        ecn: None,
        observation: None,
        trace: None,
        packets_asked: None,
        burst: None,
    }
}

/// The first trial's own handshake waits behind what the scout has left in the queue of a slow link.
#[test]
fn a_trial_takes_the_least_round_trip_time_of_earlier_handshakes_and_waits_before() {
    let settings =
        Settings { controllers: Some(Arc::new(Library::default())), ..common::settings(&[], 1) };
    let mut session = Session::new(Target::parse("http://192.0.2.1/").expect("a URL"), settings);
    session.handle_addresses(Ok(vec!["192.0.2.1:80".parse().expect("an address")]));
    assert_eq!(session.pause_min(), Span::ZERO);
    session.handle_report(report(21.0));
    let Step::Connect { order, .. } = session.step() else { panic!("no trial") };
    let trial = ScriptOrder { ecn: Some(Ask::Accurate), path_rtt: Some(Span::from_millis(21)) };
    assert_eq!(order.purpose, Purpose::Identify(trial));
    assert_eq!(session.pause_min(), Span::from_secs(1));
}
