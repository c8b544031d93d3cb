//! The results of the parts of a run as those of the whole.

use crate::model::Scenario;
use crate::record::{AtQueues, Records, Traffic, UdpRecord};
use crate::summary::QueueSummary;
use windlass_base::Time;

/// The counts of a part.
#[derive(Debug)]
pub(crate) struct PartResults {
    pub(crate) records: Records,
    /// All reported queues, of which those of other parts are idle.
    pub(crate) queues: Vec<QueueSummary>,
    pub(crate) handled: u64,
    /// By UDP source: frames sent completely.
    pub(crate) frames_sent: Vec<u64>,
}

/// Which part has what.
#[derive(Debug)]
pub(crate) struct Places {
    /// By TCP flow: the parts of sender and receiver.
    pub(crate) flows: Vec<[usize; 2]>,
    /// By UDP source: the same.
    pub(crate) udp: Vec<[usize; 2]>,
    /// By reported queue.
    pub(crate) queues: Vec<usize>,
}

/// The results of the whole run.
pub(crate) fn unite(
    scenario: &Scenario,
    end: Time,
    places: &Places,
    mut parts: Vec<PartResults>,
) -> PartResults {
    for flow in 0..scenario.flows.len() {
        let [sender, receiver] = places.flows[flow];
        let delays = std::mem::take(&mut parts[receiver].records.flows[flow].queue_delays);
        parts[sender].records.flows[flow].queue_delays = delays;
        parts[0].records.flows[flow] = parts[sender].records.flows[flow].clone();
    }
    for source in 0..scenario.udp.len() {
        let whole = udp(end, source, places.udp[source], &parts);
        parts[0].records.udp[source] = whole;
    }
    for (number, part) in places.queues.iter().enumerate() {
        parts[0].queues[number] = parts[*part].queues[number].clone();
    }
    let others = parts.split_off(1);
    let mut whole = parts.remove(0);
    for other in others {
        whole.handled += other.handled;
        whole.records.delivered_segments += other.records.delivered_segments;
        for (sum, more) in whole.records.traffic.iter_mut().zip(&other.records.traffic) {
            add(sum, more);
        }
    }
    whole
}

fn udp(
    end: Time,
    source: usize,
    [sender, receiver]: [usize; 2],
    parts: &[PartResults],
) -> UdpRecord {
    let sent = parts[sender].records.udp[source].sent;
    let mut record = UdpRecord { sent, ..parts[receiver].records.udp[source].clone() };
    if let Some(media) = &mut record.media {
        media.finish(end, parts[sender].frames_sent[source]);
    }
    record
}

fn add(sum: &mut Traffic, more: &Traffic) {
    let queues =
        |a: AtQueues, b: AtQueues| AtQueues { marks: a.marks + b.marks, drops: a.drops + b.drops };
    *sum = Traffic {
        bottleneck: queues(sum.bottleneck, more.bottleneck),
        elsewhere: queues(sum.elsewhere, more.elsewhere),
        policed: sum.policed + more.policed,
        lost: sum.lost + more.lost,
    };
}
