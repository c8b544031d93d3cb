//! The events that a connection reports to its observer.

use super::script::{Script, plain};
use crate::cc::{Ack, CongestionCause, Controller, ControllerFactory, Params, TRACE_VALUES};
use crate::{Config, Span, State, TraceEvent};
use TraceEvent::{Acked, CeReceived, Congestion, Cwnd, EceReceived, Retransmit, Ssthresh, Timeout};
use alloc::boxed::Box;
use alloc::sync::Arc;

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

/// A fixed window that counts ACKs and acknowledged bytes.
#[derive(Debug)]
struct Counting {
    acks: u32,
    bytes: u64,
    window: f64,
}

#[derive(Debug)]
struct CountingFactory;

impl ControllerFactory for CountingFactory {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        Box::new(Counting { acks: 0, bytes: 0, window: f64::from(params.mss) * 8.0 })
    }
}

impl Controller for Counting {
    fn cwnd(&self) -> f64 {
        self.window
    }

    fn ssthresh(&self) -> u64 {
        u64::MAX
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.acks += 1;
        self.bytes = ack.acked_total;
    }

    fn on_congestion(&mut self, _: &crate::cc::Congestion) {}
    fn on_idle_restart(&mut self, _: u64) {}
    fn on_mss_change(&mut self, _: u32) {}

    fn trace_names(&self) -> &'static [&'static str] {
        &["acks", "bytes", "window"]
    }

    fn trace_values(&self) -> [f64; TRACE_VALUES] {
        [f64::from(self.acks), self.bytes as f64, self.window, 0.0]
    }
}

#[test]
fn each_value_of_a_controller_is_reported_when_it_changes() {
    let config = plain().with(|c| c.congestion = Arc::new(CountingFactory));
    let mut s = Script::established(config);
    s.write(8000);
    s.skip();
    s.take_trace();
    s.recv(". 1 ack 2001");
    let values = s.take_trace().into_iter().filter_map(|event| match event {
        TraceEvent::Controller(traced) => Some((traced.name, traced.value)),
        _ => None,
    });
    let values: alloc::vec::Vec<_> = values.collect();
    let bytes = s.connection.trace_value("bytes");
    assert_eq!(values, [("acks", 1.0), ("bytes", bytes.unwrap_or_default())]);
    assert!(bytes >= Some(2000.0));
    assert_eq!(s.connection.trace_value("window"), Some(8000.0));
    assert_eq!(s.connection.trace_value("slope"), None);
}
