//! The record of a TCP flow, for the summary. A [`FlowTap`] at the sender's connection fills it.

use super::completions::{Completion, Completions};
use super::delays::Delays;
use super::mean::{Mean, Signal};
use super::recorder::Recorder;
use crate::apps::Figures;
use windlass_base::{Span, Time};
use windlass_tcp::cc::{NewEcn, TraceValue};
use windlass_tcp::conn::Stats;
use windlass_tcp::{Connection, Observer, TraceEvent};

/// Means and counts of the sender of a TCP flow, over all its connections.
#[derive(Clone, Debug)]
pub(crate) struct FlowRecord {
    /// In packets.
    pub(crate) cwnd: Signal,
    /// SRTT in milliseconds.
    pub(crate) srtt: Signal,
    /// RTT samples in milliseconds, not rounded to ticks.
    pub(crate) rtt: Mean,
    /// RTT samples, not rounded to ticks.
    pub(crate) rtt_samples: Delays,
    /// Times that data packets had waited in queues when they arrived.
    pub(crate) queue_delays: Delays,
    /// In packets per round trip.
    pub(crate) slope: Signal,
    pub(crate) acked: Acked,
    pub(crate) intervals: Option<Intervals>,
    /// When its first connection was opened.
    pub(crate) began: Option<Time>,
    /// At the end of the run: whether its application has done all that it ever will.
    pub(crate) finished: bool,
    pub(crate) counts: Counts,
    pub(crate) transfers: Transfers,
    /// By size, of the applications that have transfers of many sizes.
    pub(crate) completions: Option<Box<Completions>>,
    /// At the end of the run: the figures of applications that have some of their own.
    pub(crate) application: Option<Figures>,
    /// Payload bytes of a full segment.
    pub(crate) mss: f64,
}

/// Packets acknowledged.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Acked {
    /// On all connections so far.
    pub(crate) packets: f64,
    /// Of them, before the steady window.
    pub(crate) before_steady: f64,
    steady_from: Time,
    on_earlier_connections: f64,
    /// The end of the present interval; [`Time::MAX`] if there are none.
    interval_end: Time,
}

/// Packets acknowledged up to the end of each interval.
#[derive(Clone, Debug)]
pub(crate) struct Intervals {
    length: Span,
    /// Of the intervals that have ended.
    pub(crate) packets: Vec<f64>,
}

/// Sums of the connections' counters.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) ecn_cuts: u64,
    pub(crate) timeouts: u64,
    pub(crate) fast_retransmits: u64,
    pub(crate) retransmitted_segments: u64,
}

/// Results of transfers of a fixed size.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transfers {
    /// Seconds from the start of each completed transfer to the arrival of its last byte.
    pub(crate) completion_s: Vec<f64>,
    /// Connections that ended with an error.
    pub(crate) failed: u64,
}

impl Acked {
    fn set(&mut self, now: Time, packets: f64) {
        if now < self.steady_from {
            self.before_steady = self.on_earlier_connections + packets;
        }
        self.packets = self.on_earlier_connections + packets;
    }
}

impl FlowRecord {
    pub(crate) fn new(steady_from: Time) -> FlowRecord {
        FlowRecord {
            cwnd: Signal::new(steady_from),
            srtt: Signal::new(steady_from),
            rtt: Mean::default(),
            rtt_samples: Delays::new(steady_from),
            queue_delays: Delays::new(steady_from),
            slope: Signal::new(steady_from),
            acked: Acked { steady_from, interval_end: Time::MAX, ..Acked::default() },
            intervals: None,
            began: None,
            finished: false,
            counts: Counts::default(),
            transfers: Transfers::default(),
            completions: None,
            application: None,
            mss: 0.0,
        }
    }

    pub(crate) fn connection_started(&mut self, now: Time, connection: &Connection) {
        self.began.get_or_insert(now);
        // Others of the flow may have agreed on theirs, with their options, already.
        if self.completions.is_none() || self.mss == 0.0 {
            self.mss = f64::from(connection.mss());
        }
        self.acked.on_earlier_connections = self.acked.packets;
        self.cwnd.time.set(now, Some(connection.cwnd() / self.mss));
        self.slope.time.set(now, connection.trace_value(NewEcn::SLOPE));
    }

    /// The next event is of this connection, one of several that are open.
    pub(crate) fn resume(&mut self, connection: &Connection) {
        let before = connection.bytes_acked() as f64 / self.mss;
        self.acked.on_earlier_connections = self.acked.packets - before;
    }

    /// A transfer begins.
    pub(crate) fn transfer_begun(&mut self, now: Time) {
        if let Some(completions) = &mut self.completions {
            completions.begin(now);
        }
    }

    /// A transfer has arrived.
    pub(crate) fn transfer_done(&mut self, now: Time, transfer: &Completion) {
        match &mut self.completions {
            Some(completions) => completions.add(now, transfer),
            None => self.transfers.completion_s.push((now - transfer.begun).as_secs_f64()),
        }
    }

    /// A connection has failed, with the transfer that began at `begun`.
    pub(crate) fn transfer_failed(&mut self, begun: Time) {
        match &mut self.completions {
            Some(completions) => completions.fail(begun),
            None => self.transfers.failed += 1,
        }
    }

    /// The handshake is complete: the MSS is known.
    pub(crate) fn connection_established(&mut self, connection: &Connection) {
        self.mss = f64::from(connection.mss());
    }

    pub(crate) fn connection_ended(&mut self, now: Time, stats: &Stats) {
        self.add(stats);
        for signal in [&mut self.cwnd, &mut self.srtt, &mut self.slope] {
            signal.time.set(now, None);
        }
    }

    /// Adds the counters of a connection that ends, or at the end of the run.
    pub(crate) fn add(&mut self, stats: &Stats) {
        self.counts.ecn_cuts += stats.ecn_cuts;
        self.counts.timeouts += stats.timeouts;
        self.counts.fast_retransmits += stats.fast_retransmits;
        self.counts.retransmitted_segments += stats.retransmitted_segments;
    }

    /// Counts the time up to the end of the run.
    pub(crate) fn finish(&mut self, now: Time) {
        self.end_intervals(now);
        for signal in [&mut self.cwnd, &mut self.srtt, &mut self.slope] {
            signal.time.advance(now);
        }
    }

    /// Counts packets in intervals of this length.
    pub(crate) fn count_intervals(&mut self, length: Span) {
        self.acked.interval_end = Time::ZERO + length;
        self.intervals = Some(Intervals { length, packets: vec![] });
    }

    /// Notes the packets at the end of each interval up to `now`.
    #[cold]
    fn end_intervals(&mut self, now: Time) {
        let Some(intervals) = &mut self.intervals else { return };
        while self.acked.interval_end <= now {
            intervals.packets.push(self.acked.packets);
            self.acked.interval_end += intervals.length;
        }
    }

    /// Inlined where the kind of event is known at compile time.
    #[inline(always)]
    fn observe(&mut self, now: Time, event: TraceEvent) {
        match event {
            TraceEvent::Cwnd { bytes } => {
                self.cwnd.change(now, bytes / self.mss);
                if let Some(slope) = self.slope.time.value() {
                    self.slope.trace.add(slope);
                }
            }
            TraceEvent::Rtt { exact, smoothed, changed, .. } => {
                self.rtt.add(exact.as_millis_f64());
                self.rtt_samples.record(now, exact);
                if changed {
                    self.srtt.change(now, smoothed.as_millis_f64());
                }
            }
            TraceEvent::Controller(TraceValue { name: NewEcn::SLOPE, value }) => {
                self.slope.time.set(now, Some(value));
            }
            TraceEvent::Acked { bytes } => {
                if now >= self.acked.interval_end {
                    self.end_intervals(now);
                }
                // A number with a sign takes one instruction to be made one with a fraction.
                self.acked.set(now, bytes.cast_signed() as f64 / self.mss);
            }
            _ => {}
        }
    }
}

/// Observes the sender of a flow for the summary and for the recorder.
pub(crate) struct FlowTap<'a, R> {
    pub(crate) flow: usize,
    pub(crate) record: &'a mut FlowRecord,
    pub(crate) recorder: &'a mut R,
}

impl<R: Recorder> Observer for FlowTap<'_, R> {
    #[inline(always)]
    fn observe(&mut self, now: Time, event: TraceEvent) {
        self.record.observe(now, event);
        self.recorder.flow_event(now, self.flow, event);
    }
}
