//! Records of each flow that the time series of the simulator do not have.

use windlass_base::Time;
use windlass_sim::model::LinkDirection;
use windlass_sim::packet::{Body, Packet};
use windlass_sim::{Recorder, Scenario};
use windlass_tcp::{Connection, TraceEvent};

/// The flows of a run, in the scenario's order.
#[derive(Debug)]
pub(crate) struct FlowRecords {
    flows: Vec<FlowRecord>,
    /// For each link, whether it ends at a receiver of a flow: in its forward direction, and on the way back.
    last: Vec<[bool; 2]>,
}

/// One flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowRecord {
    /// Payload of a full segment in bytes; 0 before the connection opens.
    pub(crate) mss_bytes: u32,
    /// Payload in bytes on the last link to the receiver, retransmissions included, before each packet.
    pub(crate) received: Samples,
    /// Round-trip times that the sender measured, in milliseconds and not rounded to ticks of its clock.
    pub(crate) rtt_ms: Samples,
    received_bytes: f64,
}

/// Values with their times, in order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    /// Seconds from the beginning of the run.
    pub(crate) time_s: Vec<f64>,
    /// A value for each time.
    pub(crate) value: Vec<f64>,
}

impl Samples {
    fn push(&mut self, now: Time, value: f64) {
        self.time_s.push((now - Time::ZERO).as_secs_f64());
        self.value.push(value);
    }
}

impl FlowRecords {
    pub(crate) fn new(scenario: &Scenario) -> FlowRecords {
        let receives = |node| scenario.flows.iter().any(|flow| flow.to == node);
        FlowRecords {
            flows: vec![FlowRecord::default(); scenario.flows.len()],
            last: scenario.links.iter().map(|link| [receives(link.b), receives(link.a)]).collect(),
        }
    }

    /// The records at the end of the run.
    pub(crate) fn finish(mut self, end: Time) -> Vec<FlowRecord> {
        for flow in &mut self.flows {
            flow.received.push(end, flow.received_bytes);
        }
        self.flows
    }

    fn is_last(&self, direction: LinkDirection) -> bool {
        self.last[direction.link][usize::from(direction.reverse)]
    }
}

impl Recorder for FlowRecords {
    fn connection_started(&mut self, _now: Time, flow: usize, connection: &Connection) {
        self.flows[flow].mss_bytes = connection.mss();
    }

    fn connection_established(&mut self, _now: Time, flow: usize, connection: &Connection) {
        self.flows[flow].mss_bytes = connection.mss();
    }

    fn flow_event(&mut self, now: Time, flow: usize, event: TraceEvent) {
        if let TraceEvent::Rtt { exact, .. } = event {
            self.flows[flow].rtt_ms.push(now, exact.as_millis_f64());
        }
    }

    fn wants_packets(&self) -> bool {
        true
    }

    fn wants_packets_of(&self, direction: LinkDirection) -> bool {
        self.is_last(direction)
    }

    fn packet(&mut self, now: Time, direction: LinkDirection, packet: &Packet) {
        // Not of UDP sources, whose numbers follow those of the flows; and not what passes a receiver's link
        // on the way to another host.
        let Body::Tcp(segment) = packet.body else { return };
        if packet.reverse || segment.payload_len == 0 || !self.is_last(direction) {
            return;
        }
        let flow = &mut self.flows[packet.flow as usize];
        flow.received.push(now, flow.received_bytes);
        flow.received_bytes += f64::from(segment.payload_len);
    }
}
