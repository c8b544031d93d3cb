use super::{Connection, Run, State};
use crate::cc::CongestionCause;
use crate::observer::{Observer, TraceEvent};
use windlass_base::Time;

/// What an observer is told about, as it was before a call into the connection: the differences
/// afterwards are the events. Not even taken when nobody listens.
pub(crate) struct Snapshot(Option<Watched>);

struct Watched {
    state: State,
    cwnd: f64,
    ssthresh: u64,
    slope: Option<f64>,
    rtt_samples: u64,
    smoothed_raw: u64,
    bytes_acked: u64,
    timeouts: u64,
    fast_retransmits: u64,
    ecn_cuts: u64,
    ce_received: u64,
    ece_received: u64,
}

impl Watched {
    fn of(connection: &Connection) -> Watched {
        Watched {
            state: connection.state,
            cwnd: connection.cwnd(),
            ssthresh: connection.ssthresh(),
            slope: connection.slope(),
            rtt_samples: connection.rtt.samples(),
            smoothed_raw: connection.rtt.smoothed_raw(),
            bytes_acked: connection.bytes_acked(),
            timeouts: connection.stats.timeouts,
            fast_retransmits: connection.stats.fast_retransmits,
            ecn_cuts: connection.stats.ecn_cuts,
            ce_received: connection.stats.ce_received,
            ece_received: connection.stats.ece_received,
        }
    }
}

impl Snapshot {
    pub(crate) fn take<O: Observer>(connection: &Connection, _observer: &O) -> Snapshot {
        Snapshot(O::ENABLED.then(|| Watched::of(connection)))
    }

    pub(crate) fn publish<O: Observer>(self, connection: &Connection, now: Time, observer: &mut O) {
        let Some(before) = self.0 else { return };
        let after = Watched::of(connection);
        let mut tell = |event| observer.observe(now, event);
        if after.state != before.state {
            tell(TraceEvent::State(after.state));
        }
        if after.ce_received != before.ce_received {
            tell(TraceEvent::CeReceived { count: (after.ce_received - before.ce_received) as u32 });
        }
        if after.ece_received != before.ece_received {
            tell(TraceEvent::EceReceived);
        }
        publish_cuts(&before, &after, &mut tell);
        if after.rtt_samples != before.rtt_samples {
            tell(TraceEvent::Rtt {
                sample: connection.rtt.last_sample(),
                exact: connection.rtt.last_exact(),
                smoothed: connection.rtt.smoothed(),
                rto: connection.rtt.base_rto(),
                changed: after.smoothed_raw != before.smoothed_raw,
            });
        }
        publish_windows(&before, &after, &mut tell);
        if after.bytes_acked != before.bytes_acked {
            tell(TraceEvent::Acked { bytes: after.bytes_acked });
        }
    }
}

/// Of what a connection does when it is polled, a retransmission and a restart after idle time are
/// news; there is no need to compare everything.
pub(crate) fn publish_run<O: Observer>(
    connection: &mut Connection,
    now: Time,
    run: Option<&Run>,
    observer: &mut O,
) {
    if !O::ENABLED {
        return;
    }
    if core::mem::take(&mut connection.pending.idle_restart) {
        observer.observe(now, TraceEvent::Cwnd { bytes: connection.cwnd() });
    }
    if let Some(run) = run.filter(|run| run.retransmission) {
        let len = run.count * run.first.payload_len;
        observer.observe(now, TraceEvent::Retransmit { offset: run.stream_offset, len });
    }
}

fn publish_cuts(before: &Watched, after: &Watched, tell: &mut impl FnMut(TraceEvent)) {
    if after.timeouts != before.timeouts {
        tell(TraceEvent::Timeout);
        tell(TraceEvent::Congestion(CongestionCause::Timeout));
    }
    if after.fast_retransmits != before.fast_retransmits {
        tell(TraceEvent::Congestion(CongestionCause::FastRetransmit));
    }
    if after.ecn_cuts != before.ecn_cuts {
        tell(TraceEvent::Congestion(CongestionCause::Ecn));
    }
}

/// The slope before the window: what reads both at a change of the window sees the slope that
/// made it.
fn publish_windows(before: &Watched, after: &Watched, tell: &mut impl FnMut(TraceEvent)) {
    if let Some(slope) = after.slope.filter(|_| after.slope != before.slope) {
        tell(TraceEvent::Slope(slope));
    }
    if after.ssthresh != before.ssthresh {
        tell(TraceEvent::Ssthresh { bytes: after.ssthresh });
    }
    if after.cwnd != before.cwnd {
        tell(TraceEvent::Cwnd { bytes: after.cwnd });
    }
}
