//! The events that a connection reports to its observer.

use super::script::{Script, plain};
use crate::cc::CongestionCause;
use crate::{Config, Span, State, TraceEvent};
use TraceEvent::{Acked, CeReceived, Congestion, Cwnd, EceReceived, Retransmit, Ssthresh, Timeout};

/// Eight segments in flight of 8000 bytes; nothing reported yet.
fn flight(config: Config) -> Script {
    let mut s = Script::established(config.with(|c| c.window.initial = 8));
    s.write(8000);
    s.skip();
    s.take_trace();
    s
}

#[test]
fn an_ack_reports_the_rtt_the_window_and_the_bytes() {
    let mut s = flight(plain());
    s.advance_ms(100);
    s.recv(". 1 ack 1001");
    let ms = Span::from_millis;
    let trace = s.take_trace();
    let [TraceEvent::Rtt { sample, exact, smoothed, rto, changed }, Cwnd { bytes }, acked] =
        trace[..]
    else {
        panic!("{trace:?}");
    };
    assert_eq!((sample, exact, smoothed), (ms(100), ms(100), ms(100)));
    assert_eq!((rto, changed, bytes), (ms(1000), false, 9000.0));
    assert_eq!(acked, Acked { bytes: 1000 });
    s.advance_ms(80);
    s.recv(". 1 ack 2001");
    let changed = |event: &TraceEvent| matches!(event, TraceEvent::Rtt { changed: true, .. });
    // Only the first segment of a round trip is timed.
    assert!(!s.take_trace().iter().any(changed));
}

#[test]
fn a_fast_retransmit_is_reported_with_its_cause() {
    let mut s = flight(plain());
    s.recv_times(3, ". 1 ack 1");
    let trace = s.take_trace();
    let expected = [
        Congestion(CongestionCause::FastRetransmit),
        Ssthresh { bytes: 4000 },
        Cwnd { bytes: 4000.0 },
        Retransmit { offset: 0, len: 1000 },
    ];
    assert_eq!(trace, expected);
}

#[test]
fn a_timeout_is_reported_with_its_cause() {
    let mut s = flight(plain());
    s.advance_ms(1000);
    let expected = [
        Timeout,
        Congestion(CongestionCause::Timeout),
        Ssthresh { bytes: 4000 },
        Cwnd { bytes: 1000.0 },
        Retransmit { offset: 0, len: 1000 },
    ];
    assert_eq!(s.take_trace(), expected);
}

#[test]
fn an_echo_is_reported_and_the_cut_that_follows() {
    let mut s = flight(plain().with(|c| c.ecn.enabled = true));
    s.recv("E. 1 ack 1001");
    let trace = s.take_trace();
    assert_eq!(trace[..2], [EceReceived, Congestion(CongestionCause::Ecn)]);
    s.recv("E. 1 ack 2001");
    let trace = s.take_trace();
    assert!(trace.contains(&EceReceived), "{trace:?}");
    assert!(!trace.contains(&Congestion(CongestionCause::Ecn)), "one cut: {trace:?}");
}

#[test]
fn a_mark_is_reported() {
    let mut s = flight(plain().with(|c| c.ecn.enabled = true));
    s.recv("P. 1:101 ack 1 ce");
    assert_eq!(s.take_trace(), [CeReceived { count: 1 }]);
}

#[test]
fn a_tail_probe_that_repaired_a_loss_is_reported_as_a_fast_retransmit() {
    let config = plain().with(|c| {
        c.extensions.sack = true;
        c.recovery.rack = true;
        c.recovery.tail_loss_probe = true;
        c.sending.nagle = false;
        c.window.initial = 4;
    });
    let mut s = Script::established(config);
    s.write(4000);
    s.recv(". 1 ack 3001");
    s.advance_ms(1000);
    s.recv(". 1 ack 4001");
    s.write(1000);
    s.take_trace();
    s.recv(". 1 ack 5001");
    assert_eq!(s.take_trace()[0], Congestion(CongestionCause::FastRetransmit));
}

#[test]
fn states_are_reported() {
    let mut s = Script::connect(plain());
    s.recv("S. 0 ack 1 mss 1000");
    assert_eq!(s.take_trace()[0], TraceEvent::State(State::Established));
    s.recv("R 1");
    assert_eq!(s.take_trace(), [TraceEvent::State(State::Closed)]);
}

#[test]
fn a_lost_syn_is_reported_as_a_timeout() {
    let mut s = Script::connect(plain());
    s.advance_ms(1000);
    let trace = s.take_trace();
    assert_eq!(trace[..2], [Timeout, Congestion(CongestionCause::Timeout)]);
}

#[test]
fn a_reduction_taken_back_is_reported() {
    let mut s = flight(plain().with(|c| {
        c.extensions.timestamps = true;
        c.recovery.undo = true;
    }));
    s.advance_ms(100);
    s.recv_times(3, ". 1 ack 1 TS 20:10100");
    s.advance_ms(10);
    s.take_trace();
    s.recv(". 1 ack 3953 TS 21:10100");
    let trace = s.take_trace();
    assert!(trace.contains(&TraceEvent::Undo), "{trace:?}");
}
