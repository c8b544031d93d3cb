//! The result of a run: figures of its flows, queues and middleboxes, as [`run()`](crate::run())
//! returns them. The texts and JSON of `windlass sim` derive from it.

mod applications;
mod completions;
mod distribution;
mod endpoint;
mod media;
mod middlebox;
mod over_time;
mod rates;
mod text;

pub use crate::duplicate_acks::DuplicateAckCounters;
pub use crate::ecn_proxy::EcnProxyCounters;
pub use applications::{Pages, Video};
pub(crate) use completions::barriers;
pub use completions::{BarrierSummary, Completions, SizeClass, Times};
pub use endpoint::{EndSummary, EndpointMeans, EndpointSummary};
pub use media::MediaSummary;
pub use middlebox::{CustomCounters, MiddleboxCounters, MiddleboxSummary};
pub use over_time::{FlowOverTime, OverTime};
pub use text::{line, pretty};

use crate::model::{EndpointFlow, Flow, LinkDirection, Scenario, UdpFlow, UdpTraffic};
use crate::network::Network;
use crate::record::{EndpointRecord, FlowRecord, QueueRecord, Records, Traffic, UdpRecord};
use crate::reported_queues::reported_queues;
use crate::series;
use crate::warnings::warnings;
use rates::{Lengths, constant_mbit_per_s, mbit_per_s, steady_of, total, utilisation, whole_run};
use serde::Serialize;
use windlass_base::{Distribution, Span, Time};
use windlass_tcp::Profile;

/// The version of the summary's format.
pub const SCHEMA_VERSION: u32 = 1;
/// The kind of document that a summary is.
pub const KIND: &str = "sim.run";

/// The result of a run: what `summary.json` holds.
///
/// The steady window lasts from the scenario's `steady_from` to its end. Packets per second are
/// acknowledged payload, in segments of the flow's size, over the time of the window. A value is
/// `null` if there was nothing to average.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The version of this format: [`SCHEMA_VERSION`].
    pub schema: u32,
    /// The kind of this document: [`KIND`].
    pub kind: &'static str,
    /// The scenario's name.
    pub name: String,
    /// The seed of the run.
    pub seed: u64,
    /// The version of the time series that a run writes beside its summary
    /// ([`series::SCHEMA_VERSION`]).
    pub series_schema: u32,
    /// Simulated seconds until the end.
    pub duration_s: f64,
    /// Where the steady window begins, in seconds.
    pub steady_from_s: f64,
    /// Jain's index of the TCP flows' rates in packets/s; with flows of other transports, of the goodputs of both
    /// in Mbit/s.
    pub fairness_index: Windows<Option<f64>>,
    /// Sum of the TCP flows' rates.
    pub total_packets_per_s: Windows<f64>,
    /// The same in Mbit/s of payload.
    pub total_mbit_per_s: Windows<f64>,
    /// Share of the bottleneck's rate that is used, as in [`QueueSummary::utilisation`].
    pub utilisation: Option<Windows<f64>>,
    /// Packets that the bottleneck's queue changed from ECT to CE.
    pub marks: u64,
    /// Packets that the bottleneck's queue dropped.
    pub drops: u64,
    /// Packets that the bottleneck's policer dropped, before the queue; left out where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policed: Option<u64>,
    /// Packets waiting at the bottleneck, the one in transmission not among them: mean over time.
    pub mean_queue_packets: Windows<Option<f64>>,
    /// Packets that arrived at the bottleneck's queue, dropped ones included.
    pub bottleneck_packets: u64,
    /// Segments with payload that reached their receivers, retransmissions included.
    pub delivered_segments: u64,
    /// Events that the run processed, a measure of its cost.
    pub events: u64,
    /// TCP flows, in the scenario's order.
    pub flows: Vec<FlowSummary>,
    /// UDP sources, in the scenario's order.
    pub udp: Vec<UdpSummary>,
    /// Flows of other transports, in the scenario's order; left out where it has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointSummary>,
    /// The bottleneck's queue, then the others between routers, in the scenario's order.
    pub queues: Vec<QueueSummary>,
    /// Rates and fairness over time; left out where the scenario has no interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_time: Option<OverTime>,
    /// Flows whose requests wait for each other; left out where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub barriers: Vec<BarrierSummary>,
    /// The scenario's middleboxes, in its order; left out where it has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub middleboxes: Vec<MiddleboxSummary>,
    /// Sentences about flows that wait for a signal which cannot come; left out where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A figure of the whole run and of its steady window.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Windows<T> {
    /// From time 0 to the end.
    pub whole_run: T,
    /// From `steady_from` to the end.
    pub steady: T,
}

/// A TCP flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// Its name.
    pub name: String,
    /// Its congestion controller.
    pub controller: String,
    /// The profile that its options began from; left out if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<&'static str>,
    /// Propagation delay of its path and back, in milliseconds.
    pub rtt_min_ms: f64,
    /// Packets acknowledged per second.
    pub packets_per_s: Windows<f64>,
    /// The same payload in Mbit/s.
    pub mbit_per_s: Windows<f64>,
    /// The congestion window in packets.
    pub cwnd_packets: Cwnd,
    /// The smoothed round-trip time in milliseconds.
    pub srtt_ms: Srtt,
    /// RTT samples of the steady window, exact.
    #[serde(serialize_with = "distribution::in_ms")]
    pub rtt_samples_ms: Option<Distribution>,
    /// Time that each data packet which arrived in the steady window had waited in all queues.
    #[serde(serialize_with = "distribution::in_ms")]
    pub queue_delay_ms: Option<Distribution>,
    /// New-ECN's window slope in packets per round trip; `None` for other controllers.
    pub slope: Option<Slope>,
    /// Data packets that the bottleneck's queue marked.
    pub marks: u64,
    /// Data packets that the bottleneck's queue dropped.
    pub drops: u64,
    /// Data packets that other queues marked.
    pub marks_elsewhere: u64,
    /// Data packets that other queues dropped.
    pub drops_elsewhere: u64,
    /// Data packets that policers dropped, before the queues; left out where the scenario has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policed: Option<u64>,
    /// Data packets lost on links, after their queues.
    pub lost: u64,
    /// Cuts of the window in answer to ECN echoes.
    pub window_cuts_by_ecn: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Segments sent again.
    pub retransmitted_segments: u64,
    /// For applications that send a fixed number of bytes; `None` for bulk flows.
    pub transfers: Option<Transfers>,
    /// For applications with transfers of many sizes; left out for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<Completions>,
    /// For loads of pages; left out for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<Pages>,
    /// For video; left out for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub video: Option<Video>,
}

/// Means of a congestion window in packets; `None` for flows with several connections at a time.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Cwnd {
    /// Over the values after each change.
    pub trace_mean: Option<f64>,
    /// Over time, from the flow's start.
    pub time_mean: Option<f64>,
    /// Over the time of the steady window.
    pub time_mean_steady: Option<f64>,
}

/// Means of a smoothed round-trip time in milliseconds.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Srtt {
    /// Over the values after each change of the estimator.
    pub trace_mean: Option<f64>,
    /// Over time, from the first sample.
    pub time_mean: Option<f64>,
    /// Of the samples.
    pub raw_rtt_mean: Option<f64>,
}

/// Means of a window slope.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Slope {
    /// Over its values at each change of cwnd.
    pub trace_mean: Option<f64>,
    /// Over time, from the flow's start.
    pub time_mean: Option<f64>,
}

/// Results of transfers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transfers {
    /// Number of completed transfers.
    pub completed: u64,
    /// Number of connections that failed.
    pub failed: u64,
    /// Mean of [`Transfers::completion_s`].
    pub mean_completion_s: Option<f64>,
    /// Of each completed transfer: seconds from its connection's opening until the receiver had
    /// the last byte and the FIN.
    pub completion_s: Vec<f64>,
}

/// A UDP source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UdpSummary {
    /// Its name.
    pub name: String,
    /// Packets sent.
    pub sent: u64,
    /// Packets that arrived.
    pub received: u64,
    /// Packets that arrived per second.
    pub packets_per_s: Windows<f64>,
    /// Their bits, headers included, in Mbit/s.
    pub mbit_per_s: Windows<f64>,
    /// Time that each packet which arrived in the steady window had waited in all queues.
    #[serde(serialize_with = "distribution::in_ms")]
    pub queue_delay_ms: Option<Distribution>,
    /// Packets that the bottleneck's queue marked; left out where the source is Not-ECT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marks: Option<u64>,
    /// Packets that the bottleneck's queue dropped.
    pub drops: u64,
    /// Packets that other queues marked; left out where the source is Not-ECT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marks_elsewhere: Option<u64>,
    /// Packets that other queues dropped.
    pub drops_elsewhere: u64,
    /// Packets that policers dropped, before the queues; left out where the scenario has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policed: Option<u64>,
    /// Packets lost on links, after their queues.
    pub lost: u64,
    /// Frames of real-time media; left out for other sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaSummary>,
}

/// The queue of a link direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueSummary {
    /// The link.
    pub link: String,
    /// Which way: `forward` or `backward`.
    pub direction: &'static str,
    /// Packets that arrived at it, dropped ones included.
    pub arrived: u64,
    /// Packets handed to the link.
    pub sent: u64,
    /// Bytes handed to the link.
    pub sent_bytes: u64,
    /// These in Mbit/s.
    pub mbit_per_s: Windows<f64>,
    /// The rate of the link in Mbit/s; `None` if it has none, or one that changes over time.
    pub rate_mbit_per_s: Option<f64>,
    /// Share of that rate that is used, 0 to 1.
    pub utilisation: Option<Windows<f64>>,
    /// Time from a packet's arrival to the beginning of its transmission, in the steady window.
    #[serde(serialize_with = "distribution::in_ms")]
    pub queue_delay_ms: Option<Distribution>,
    /// Packets changed from ECT to CE.
    pub marks: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets that a policer dropped before the queue, not among `arrived` and `drops`; left out where
    /// there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policed: Option<u64>,
    /// Waiting packets, mean over time.
    pub mean_packets: Windows<Option<f64>>,
    /// Maximum number of waiting packets.
    pub max_packets: u64,
    /// RED's average, mean over time; `null` for other queues.
    pub mean_average_packets: Windows<Option<f64>>,
}

/// Jain's fairness index (Jain, Chiu and Hawe 1984): (sum of x)^2 / (n * sum of x^2), 1/n to 1. `None`
/// without rates above zero.
pub fn fairness_index(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

/// The queues that a run reports, in the order of [`Summary::queues`].
pub(crate) fn queues(scenario: &Scenario, end: Time, network: &Network) -> Vec<QueueSummary> {
    let lengths = lengths(scenario, end);
    let directions = reported_queues(scenario).into_iter();
    directions.map(|direction| queue_summary(scenario, direction, network, lengths)).collect()
}

fn lengths(scenario: &Scenario, end: Time) -> Lengths {
    let duration = end - Time::ZERO;
    let steady: Span = duration.saturating_sub(scenario.steady_from);
    Lengths { whole_s: duration.as_secs_f64(), steady_s: steady.as_secs_f64() }
}

/// Builds the summary of a run from its records and its queues.
pub(crate) fn summarise(
    scenario: &Scenario,
    seed: u64,
    end: Time,
    network: &Network,
    records: &Records,
    queues: Vec<QueueSummary>,
    events: u64,
) -> Summary {
    let Scenario { steady_from, .. } = *scenario;
    let duration = end - Time::ZERO;
    let lengths = lengths(scenario, end);
    let flows: Vec<FlowSummary> = (0..)
        .zip(scenario.flows.iter().zip(&records.flows))
        .map(|(number, (flow, record))| {
            flow_summary(number, flow, record, network, records, lengths)
        })
        .collect();
    let bottleneck = &queues[0];
    let endpoints = endpoint_summaries(scenario, network, records, lengths);
    let rates: Vec<Windows<f64>> = flows.iter().map(|flow| flow.packets_per_s).collect();
    let mbit_per_s: Vec<Windows<f64>> = flows.iter().map(|flow| flow.mbit_per_s).collect();
    Summary {
        schema: SCHEMA_VERSION,
        kind: KIND,
        name: scenario.name.clone(),
        seed,
        series_schema: series::SCHEMA_VERSION,
        duration_s: duration.as_secs_f64(),
        steady_from_s: steady_from.as_secs_f64(),
        fairness_index: fairness(&rates, &mbit_per_s, &endpoints),
        total_packets_per_s: total(&rates),
        total_mbit_per_s: total(&mbit_per_s),
        utilisation: bottleneck.utilisation,
        marks: bottleneck.marks,
        drops: bottleneck.drops,
        policed: bottleneck.policed,
        mean_queue_packets: bottleneck.mean_packets,
        bottleneck_packets: bottleneck.arrived,
        delivered_segments: records.delivered_segments,
        events,
        udp: udp_summaries(scenario, network, records, lengths),
        endpoints,
        flows,
        queues,
        over_time: over_time::over_time(scenario, &records.flows),
        barriers: vec![],
        middleboxes: vec![],
        warnings: warnings(scenario, network),
    }
}

/// Jain's index of all flows. TCP flows alone compare by packets, which differ in size.
fn fairness(
    packets_per_s: &[Windows<f64>],
    mbit_per_s: &[Windows<f64>],
    endpoints: &[EndpointSummary],
) -> Windows<Option<f64>> {
    let goodputs = endpoints.iter().map(|flow| flow.goodput_mbit_per_s);
    let all: Vec<Windows<f64>> = match endpoints.is_empty() {
        true => packets_per_s.to_vec(),
        false => mbit_per_s.iter().copied().chain(goodputs).collect(),
    };
    Windows {
        whole_run: fairness_index(&whole_run(&all)),
        steady: fairness_index(&steady_of(&all)),
    }
}

fn flow_summary(
    number: u32,
    flow: &Flow,
    record: &FlowRecord,
    network: &Network,
    records: &Records,
    lengths: Lengths,
) -> FlowSummary {
    let traffic = &records.traffic[number as usize];
    let FlowRecord { cwnd, srtt, rtt, slope, acked, counts, .. } = record;
    let packets_per_s = lengths.per_s(acked.packets, acked.before_steady);
    // Of several connections at a time there is no window.
    let (pages, video) = applications::figures(record.application.clone());
    let alone = |mean: Option<f64>| mean.filter(|_| !flow.app.is_concurrent());
    FlowSummary {
        name: flow.name.clone(),
        controller: flow.sender.congestion.name().to_owned(),
        profile: flow.profile.map(Profile::name),
        rtt_min_ms: network.round_trip(number).as_millis_f64(),
        packets_per_s,
        mbit_per_s: mbit_per_s(packets_per_s, record.mss),
        cwnd_packets: Cwnd {
            trace_mean: alone(cwnd.trace.value()),
            time_mean: alone(cwnd.time.whole()),
            time_mean_steady: alone(cwnd.time.steady()),
        },
        srtt_ms: Srtt {
            trace_mean: alone(srtt.trace.value()),
            time_mean: alone(srtt.time.whole()),
            raw_rtt_mean: rtt.value(),
        },
        rtt_samples_ms: record.rtt_samples.distribution(),
        queue_delay_ms: record.queue_delays.distribution(),
        slope: alone(slope.time.whole())
            .map(|mean| Slope { trace_mean: slope.trace.value(), time_mean: Some(mean) }),
        marks: traffic.bottleneck.marks,
        drops: traffic.bottleneck.drops,
        marks_elsewhere: traffic.elsewhere.marks,
        drops_elsewhere: traffic.elsewhere.drops,
        policed: network.has_policer().then_some(traffic.policed),
        lost: traffic.lost,
        window_cuts_by_ecn: counts.ecn_cuts,
        timeouts: counts.timeouts,
        fast_retransmits: counts.fast_retransmits,
        retransmitted_segments: counts.retransmitted_segments,
        transfers: transfers(flow, record),
        completions: record.completions.as_deref().map(Completions::new),
        pages,
        video,
    }
}

fn transfers(flow: &Flow, record: &FlowRecord) -> Option<Transfers> {
    flow.app.bytes()?;
    let completion_s = record.transfers.completion_s.clone();
    let completed = completion_s.len() as u64;
    let sum: f64 = completion_s.iter().sum();
    Some(Transfers {
        completed,
        failed: record.transfers.failed,
        mean_completion_s: (completed > 0).then(|| sum / completed as f64),
        completion_s,
    })
}

fn udp_summaries(
    scenario: &Scenario,
    network: &Network,
    records: &Records,
    lengths: Lengths,
) -> Vec<UdpSummary> {
    let traffic = &records.traffic[scenario.flows.len()..];
    let sources = scenario.udp.iter().zip(&records.udp).zip(traffic);
    let summary = |((flow, record), traffic): ((&UdpFlow, &UdpRecord), &Traffic)| {
        let packets_per_s =
            lengths.per_s(record.received as f64, record.received_before_steady as f64);
        UdpSummary {
            name: flow.name.clone(),
            sent: record.sent,
            received: record.received,
            packets_per_s,
            mbit_per_s: udp_mbit_per_s(flow, record, packets_per_s, lengths),
            queue_delay_ms: record.delays.distribution(),
            marks: flow.ecn.is_capable().then_some(traffic.bottleneck.marks),
            drops: traffic.bottleneck.drops,
            marks_elsewhere: flow.ecn.is_capable().then_some(traffic.elsewhere.marks),
            drops_elsewhere: traffic.elsewhere.drops,
            policed: network.has_policer().then_some(traffic.policed),
            lost: traffic.lost,
            media: record.media.as_ref().map(|media| MediaSummary::new(&media.figures())),
        }
    };
    sources.map(summary).collect()
}

fn endpoint_summaries(
    scenario: &Scenario,
    network: &Network,
    records: &Records,
    lengths: Lengths,
) -> Vec<EndpointSummary> {
    let first = (scenario.flows.len() + scenario.udp.len()) as u32;
    let flows = (first..).zip(scenario.endpoints.iter().zip(&records.endpoints));
    let summary = |(number, (flow, record)): (u32, (&EndpointFlow, &EndpointRecord))| {
        let path = endpoint::Path {
            rtt_min_ms: network.round_trip(number).as_millis_f64(),
            traffic: records.traffic[number as usize],
            has_policer: network.has_policer(),
        };
        EndpointSummary::new(flow, record, &path, lengths)
    };
    flows.map(summary).collect()
}

fn udp_mbit_per_s(
    flow: &UdpFlow,
    record: &UdpRecord,
    packets_per_s: Windows<f64>,
    lengths: Lengths,
) -> Windows<f64> {
    match flow.traffic {
        UdpTraffic::Constant(rate) => mbit_per_s(packets_per_s, f64::from(rate.packet_bytes)),
        UdpTraffic::Arrivals(_) | UdpTraffic::Media(_) => {
            let [all, before] = [record.received_bytes, record.bytes_before_steady];
            mbit_per_s(lengths.per_s(all as f64, before as f64), 1.0)
        }
    }
}

fn queue_summary(
    scenario: &Scenario,
    direction: LinkDirection,
    network: &Network,
    lengths: Lengths,
) -> QueueSummary {
    let channel = network.channel(direction);
    let stats = channel.stats();
    let none = QueueRecord::default();
    let record = channel.record().unwrap_or(&none);
    let per_s = lengths.per_s(stats.dequeued_bytes as f64, record.bytes_before_steady as f64);
    let used = mbit_per_s(per_s, 1.0);
    let rate_mbit_per_s = constant_mbit_per_s(scenario.channel(direction));
    QueueSummary {
        link: scenario.links[direction.link].name.clone(),
        direction: if direction.reverse { "backward" } else { "forward" },
        arrived: stats.offered,
        sent: stats.dequeued,
        sent_bytes: stats.dequeued_bytes,
        mbit_per_s: used,
        rate_mbit_per_s,
        utilisation: rate_mbit_per_s.map(|rate| utilisation(used, rate)),
        queue_delay_ms: record.delays.distribution(),
        marks: channel.marks(),
        drops: stats.dropped(),
        policed: channel.policed(),
        mean_packets: Windows {
            whole_run: record.packets.whole(),
            steady: record.packets.steady(),
        },
        max_packets: record.max_packets as u64,
        mean_average_packets: Windows {
            whole_run: record.average.whole(),
            steady: record.average.steady(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fairness_index_is_one_for_equal_rates_and_one_nth_for_a_monopoly() {
        assert_eq!(fairness_index(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(fairness_index(&[0.0, 5.0, 0.0, 0.0]), Some(0.25));
        let two_to_one = fairness_index(&[2.0, 1.0]).expect("rates");
        assert!((two_to_one - 0.9).abs() < 1e-12);
        assert_eq!(fairness_index(&[0.0]), None);
        assert_eq!(fairness_index(&[]), None);
    }
}
