//! The summary of a flow of endpoints.

use super::rates::{Lengths, mbit_per_s};
use super::{Transfers, Windows, distribution};
use crate::endpoint::Side;
use crate::model::{EndpointApp, EndpointFlow};
use crate::record::{EndRecord, EndpointRecord, Traffic};
use serde::Serialize;
use std::collections::BTreeMap;
use windlass_base::{Distribution, Time};

/// A flow of another transport.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EndpointSummary {
    /// Its name.
    pub name: String,
    /// The sender's transport.
    pub stack: &'static str,
    /// The sender's congestion controller; left out if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub controller: String,
    /// Propagation delay of its path and back, in milliseconds.
    pub rtt_min_ms: f64,
    /// Bytes of the application that arrived at the receiver in order, in Mbit/s.
    pub goodput_mbit_per_s: Windows<f64>,
    /// The sender's congestion window in bytes.
    pub cwnd_bytes: EndpointMeans,
    /// The sender's smoothed round-trip time in milliseconds.
    pub srtt_ms: EndpointMeans,
    /// Time that each datagram which arrived at the receiver in the steady window had waited in all queues.
    #[serde(serialize_with = "distribution::in_ms")]
    pub queue_delay_ms: Option<Distribution>,
    /// Datagrams to the receiver that the bottleneck's queue marked.
    pub marks: u64,
    /// Datagrams to the receiver that the bottleneck's queue dropped.
    pub drops: u64,
    /// Datagrams to the receiver that other queues marked.
    pub marks_elsewhere: u64,
    /// Datagrams to the receiver that other queues dropped.
    pub drops_elsewhere: u64,
    /// Datagrams to the receiver that policers dropped, before the queues; left out where the scenario has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policed: Option<u64>,
    /// Datagrams to the receiver that were lost on links, after their queues.
    pub lost: u64,
    /// Packets that the sender declared lost; `null` if it does not tell.
    pub declared_lost: Option<u64>,
    /// The end that sends the data.
    pub sender: EndSummary,
    /// The end that receives the data.
    pub receiver: EndSummary,
    /// Transfers, or responses from the sending of their requests; left out for bulk flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfers: Option<Transfers>,
    /// Why the connection failed, in the transport's own words; left out if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Means of a value over time; `None` if the transport does not tell.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct EndpointMeans {
    /// From its first value to the end of the run.
    pub time_mean: Option<f64>,
    /// Over the time of the steady window.
    pub time_mean_steady: Option<f64>,
}

/// One end of a flow of another transport.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EndSummary {
    /// Datagrams sent.
    pub sent: u64,
    /// Their bytes, headers included.
    pub sent_bytes: u64,
    /// Datagrams that arrived.
    pub received: u64,
    /// Their bytes, headers included.
    pub received_bytes: u64,
    /// Bytes of the application that arrived, in order.
    pub delivered_bytes: u64,
    /// When its connection was established, in seconds; `null` if it was not.
    pub connected_s: Option<f64>,
    /// The transport's counters by name; left out where it has none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<&'static str, u64>,
}

/// Figures of the network about a flow.
pub(super) struct Path {
    pub(super) rtt_min_ms: f64,
    pub(super) traffic: Traffic,
    pub(super) has_policer: bool,
}

impl EndpointSummary {
    pub(super) fn new(
        flow: &EndpointFlow,
        record: &EndpointRecord,
        path: &Path,
        lengths: Lengths,
    ) -> EndpointSummary {
        let Path { rtt_min_ms, ref traffic, has_policer } = *path;
        let [sender, receiver] = &record.ends;
        let [all, before] = [receiver.delivered, receiver.delivered_before_steady];
        let factory = &flow.ends[Side::Sender.index()];
        let means = |time: &crate::record::Signal| EndpointMeans {
            time_mean: time.time.whole(),
            time_mean_steady: time.time.steady(),
        };
        EndpointSummary {
            name: flow.name.clone(),
            stack: factory.name(),
            controller: factory.controller().to_owned(),
            rtt_min_ms,
            goodput_mbit_per_s: mbit_per_s(lengths.per_s(all as f64, before as f64), 1.0),
            cwnd_bytes: means(&record.cwnd),
            srtt_ms: means(&record.srtt),
            queue_delay_ms: record.queue_delays.distribution(),
            marks: traffic.bottleneck.marks,
            drops: traffic.bottleneck.drops,
            marks_elsewhere: traffic.elsewhere.marks,
            drops_elsewhere: traffic.elsewhere.drops,
            policed: has_policer.then_some(traffic.policed),
            lost: traffic.lost,
            declared_lost: record.lost_packets(),
            sender: end(sender),
            receiver: end(receiver),
            transfers: (flow.app != EndpointApp::Bulk).then(|| transfers(record)),
            failure: record.failure.clone(),
        }
    }
}

fn end(record: &EndRecord) -> EndSummary {
    EndSummary {
        sent: record.sent,
        sent_bytes: record.sent_bytes,
        received: record.received,
        received_bytes: record.received_bytes,
        delivered_bytes: record.delivered,
        connected_s: record.connected.map(Time::as_secs_f64),
        counters: record.counters.iter().copied().collect(),
    }
}

fn transfers(record: &EndpointRecord) -> Transfers {
    let completion_s = record.completion_s.clone();
    let completed = completion_s.len() as u64;
    let sum: f64 = completion_s.iter().sum();
    Transfers {
        completed,
        failed: u64::from(record.failure.is_some()),
        mean_completion_s: (completed > 0).then(|| sum / completed as f64),
        completion_s,
    }
}
