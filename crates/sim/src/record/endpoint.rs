//! The record of a flow of endpoints, for the summary.

use super::delays::Delays;
use super::mean::Signal;
use crate::endpoint::{EndpointEvent, EndpointStatus, Side};
use crate::packet::InFlight;
use windlass_base::Time;

/// Counters of an end by name.
pub(crate) type Counters = Vec<(&'static str, u64)>;

/// Datagrams, application data and the state of a flow's sender.
#[derive(Clone, Debug)]
pub(crate) struct EndpointRecord {
    steady_from: Time,
    /// By side.
    pub(crate) ends: [EndRecord; 2],
    /// Times that datagrams to the receiver had waited in queues.
    pub(crate) queue_delays: Delays,
    /// The sender's congestion window in bytes.
    pub(crate) cwnd: Signal,
    /// The sender's smoothed round-trip time in milliseconds.
    pub(crate) srtt: Signal,
    status: EndpointStatus,
    /// Seconds that each transfer and each response took.
    pub(crate) completion_s: Vec<f64>,
    pub(crate) failure: Option<String>,
}

/// Counts of one end.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndRecord {
    pub(crate) sent: u64,
    /// On the wire.
    pub(crate) sent_bytes: u64,
    pub(crate) received: u64,
    /// On the wire.
    pub(crate) received_bytes: u64,
    /// Bytes of the application that arrived, in order.
    pub(crate) delivered: u64,
    pub(crate) delivered_before_steady: u64,
    pub(crate) connected: Option<Time>,
    pub(crate) counters: Counters,
}

impl EndpointRecord {
    pub(crate) fn new(steady_from: Time) -> EndpointRecord {
        EndpointRecord {
            steady_from,
            ends: <[EndRecord; 2]>::default(),
            queue_delays: Delays::new(steady_from),
            cwnd: Signal::new(steady_from),
            srtt: Signal::new(steady_from),
            status: EndpointStatus::default(),
            completion_s: vec![],
            failure: None,
        }
    }

    pub(crate) fn send(&mut self, side: usize, wire_bytes: u32) {
        self.ends[side].sent += 1;
        self.ends[side].sent_bytes += u64::from(wire_bytes);
    }

    pub(crate) fn receive(&mut self, now: Time, side: usize, packet: &InFlight) {
        self.ends[side].received += 1;
        self.ends[side].received_bytes += u64::from(packet.wire_bytes);
        if side == Side::Receiver.index() {
            self.queue_delays.record(now, packet.waited);
        }
    }

    /// Takes the sender's state; true if it is another than before.
    pub(crate) fn update(&mut self, now: Time, status: EndpointStatus) -> bool {
        if status.cwnd_bytes != self.status.cwnd_bytes {
            match status.cwnd_bytes {
                Some(bytes) => self.cwnd.change(now, bytes as f64),
                None => self.cwnd.time.set(now, None),
            }
        }
        if let Some(srtt) = status.srtt.filter(|_| status.srtt != self.status.srtt) {
            self.srtt.change(now, srtt.as_millis_f64());
        }
        let changed = status != self.status;
        self.status = status;
        changed
    }

    pub(crate) fn event(&mut self, now: Time, side: Side, event: &EndpointEvent) {
        let end = &mut self.ends[side.index()];
        match event {
            EndpointEvent::Connected => {
                end.connected.get_or_insert(now);
            }
            EndpointEvent::Delivered { bytes } => {
                end.delivered += bytes;
                if now < self.steady_from {
                    end.delivered_before_steady = end.delivered;
                }
            }
            EndpointEvent::TransferDone { begun, .. } => {
                self.completion_s.push((now - *begun).as_secs_f64());
            }
            EndpointEvent::Finished => {}
            EndpointEvent::Failed { reason } => {
                self.failure.get_or_insert_with(|| reason.clone());
            }
        }
    }

    /// Packets that the sender has declared lost; `None` if it does not tell.
    pub(crate) fn lost_packets(&self) -> Option<u64> {
        self.status.lost_packets
    }

    /// Counts the time up to the end of the run; the ends have these counters.
    pub(crate) fn finish(&mut self, now: Time, counters: [Counters; 2]) {
        self.cwnd.time.advance(now);
        self.srtt.time.advance(now);
        for (end, counters) in self.ends.iter_mut().zip(counters) {
            end.counters = counters;
        }
    }
}
