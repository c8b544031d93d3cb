//! Events for an observer. Each call from outside into a connection takes a [`Snapshot`] before, and
//! publishes the differences afterwards.

use super::{Connection, Run, State};
use crate::cc::{CongestionCause, ControllerState};
use crate::observer::{Observer, TraceEvent};
use windlass_base::Time;

bitflags::bitflags! {
    /// Events during a call into the connection that a comparison of [`Snapshot`]s does not show;
    /// each at most once.
    #[derive(Copy, Clone, Debug, Default)]
    pub(crate) struct Signals: u8 {
        const CE = 1;
        const ECE = 2;
        const TIMEOUT = 4;
        const FAST_RETRANSMIT = 8;
        const ECN_CUT = 16;
        const UNDO = 32;
    }
}

/// The observable state before a call into the connection. Differences afterwards become events. Not
/// taken without an observer.
pub(crate) struct Snapshot(Option<Watched>);

struct Watched {
    state: State,
    windows: ControllerState,
    rtt_samples: u64,
    smoothed_raw: u64,
    bytes_acked: u64,
}

impl Watched {
    fn of(connection: &Connection) -> Watched {
        Watched {
            state: connection.state,
            windows: connection.congestion.state(),
            rtt_samples: connection.rtt.samples(),
            smoothed_raw: connection.rtt.smoothed_raw(),
            bytes_acked: connection.bytes_acked(),
        }
    }
}

impl Snapshot {
    pub(crate) fn take<O: Observer>(connection: &mut Connection, _observer: &O) -> Snapshot {
        connection.signals = Signals::empty();
        Snapshot(O::ENABLED.then(|| Watched::of(connection)))
    }

    #[inline(always)]
    pub(crate) fn publish<O: Observer>(
        self,
        connection: &mut Connection,
        now: Time,
        observer: &mut O,
    ) {
        let Some(before) = self.0 else { return };
        let after = Watched::of(connection);
        // Each call names its kind of event, so that the observer's code for it can be inlined.
        if after.state != before.state {
            observer.observe(now, TraceEvent::State(after.state));
        }
        if !connection.signals.is_empty() {
            publish_signals(connection.signals, &mut |event| observer.observe(now, event));
        }
        if after.rtt_samples != before.rtt_samples {
            observer.observe(
                now,
                TraceEvent::Rtt {
                    sample: connection.rtt.last_sample(),
                    exact: connection.rtt.last_exact(),
                    smoothed: connection.rtt.smoothed(),
                    rto: connection.rtt.base_rto(),
                    changed: after.smoothed_raw != before.smoothed_raw,
                },
            );
        }
        // Before the window: an observer that reads both when the window changes then sees the
        // values that caused the change.
        let publish = &mut |value| observer.observe(now, TraceEvent::Controller(value));
        connection.congestion.publish_changed(publish);
        if after.windows.ssthresh != before.windows.ssthresh {
            observer.observe(now, TraceEvent::Ssthresh { bytes: after.windows.ssthresh });
        }
        if after.windows.cwnd != before.windows.cwnd {
            observer.observe(now, TraceEvent::Cwnd { bytes: after.windows.cwnd });
        }
        if after.bytes_acked != before.bytes_acked {
            observer.observe(now, TraceEvent::Acked { bytes: after.bytes_acked });
        }
    }
}

/// Publishes the events of a poll. Only a retransmission and a restart after idle time can occur,
/// so no snapshots are compared.
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

#[cold]
fn publish_signals(signals: Signals, publish: &mut impl FnMut(TraceEvent)) {
    if signals.contains(Signals::CE) {
        publish(TraceEvent::CeReceived { count: 1 });
    }
    if signals.contains(Signals::ECE) {
        publish(TraceEvent::EceReceived);
    }
    if signals.contains(Signals::TIMEOUT) {
        publish(TraceEvent::Timeout);
        publish(TraceEvent::Congestion(CongestionCause::Timeout));
    }
    if signals.contains(Signals::FAST_RETRANSMIT) {
        publish(TraceEvent::Congestion(CongestionCause::FastRetransmit));
    }
    if signals.contains(Signals::ECN_CUT) {
        publish(TraceEvent::Congestion(CongestionCause::Ecn));
    }
    if signals.contains(Signals::UNDO) {
        publish(TraceEvent::Undo);
    }
}
