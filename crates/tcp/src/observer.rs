//! Trace events of a connection. They cost nothing where no observer is attached.

use crate::cc::{CongestionCause, TraceValue};
use crate::state::State;
use windlass_base::{Span, Time};

/// An event of a connection. The simulator, ToU and the probe write these events to their traces.
#[derive(Copy, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TraceEvent {
    /// The connection changed its state.
    State(State),
    /// The congestion window changed, in bytes.
    Cwnd {
        /// In bytes, with the fraction that the controller keeps.
        bytes: f64,
    },
    /// The slow start threshold changed, in bytes (`u64::MAX`: none yet).
    Ssthresh {
        /// In bytes.
        bytes: u64,
    },
    /// A round-trip time was measured and smoothed.
    Rtt {
        /// The sample in whole ticks of the connection's clock.
        sample: Span,
        /// The same sample by the carrier's clock, not rounded to ticks.
        exact: Span,
        /// SRTT, in whole ticks of that clock.
        smoothed: Span,
        /// RTO before back-off.
        rto: Span,
        /// True if the estimator's SRTT changed, in its finer units as well.
        changed: bool,
    },
    /// A value that the controller publishes changed.
    Controller(TraceValue),
    /// The peer acknowledged more: bytes since the beginning of the stream.
    Acked {
        /// Bytes of the stream acknowledged so far.
        bytes: u64,
    },
    /// Segments were sent again.
    Retransmit {
        /// Offset in the stream, in bytes.
        offset: u64,
        /// Payload bytes retransmitted.
        len: u32,
    },
    /// The congestion window was cut, or a loss was repaired without a cut.
    Congestion(CongestionCause),
    /// The last reduction was unnecessary and is undone.
    Undo,
    /// The retransmission timer expired.
    Timeout,
    /// Packets marked CE arrived here.
    CeReceived {
        /// How many.
        count: u32,
    },
    /// An ACK with ECN echo arrived.
    EceReceived,
}

/// Receives the events of a connection.
pub trait Observer {
    /// False for an observer that ignores everything; the engine then collects nothing for it.
    const ENABLED: bool = true;

    /// Receives one event. Events of one call into the connection come in the order in which they
    /// happened.
    fn observe(&mut self, now: Time, event: TraceEvent);
}

/// The observer that ignores everything.
impl Observer for () {
    const ENABLED: bool = false;

    fn observe(&mut self, _now: Time, _event: TraceEvent) {}
}

impl<O: Observer> Observer for &mut O {
    const ENABLED: bool = O::ENABLED;

    fn observe(&mut self, now: Time, event: TraceEvent) {
        (**self).observe(now, event);
    }
}
