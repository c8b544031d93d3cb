//! Rates and fairness over time.

use super::fairness_index;
use crate::model::{Flow, Scenario};
use crate::record::FlowRecord;
use serde::Serialize;
use windlass_base::{Span, Time};

/// The index from which on rates count as equal.
const FAIR: f64 = 0.95;

/// Rates and fairness in intervals of equal length, from time 0 on. A shorter one at the end
/// does not count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverTime {
    /// The length of an interval in seconds.
    pub interval_s: f64,
    /// By flow, in the scenario's order: payload acknowledged in each interval, in Mbit/s.
    pub flows: Vec<FlowOverTime>,
    /// Jain's index of the rates in each interval, of the flows that are open all through it; `None`
    /// with fewer than two of them, or without a rate above zero.
    pub fairness_index: Vec<Option<f64>>,
    /// Seconds from the beginning of the last flow that joined to the end of the first interval with an
    /// index of at least 0.95; `None`: there is none.
    pub time_to_fairness_s: Option<f64>,
}

/// The rates of a flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowOverTime {
    /// The flow.
    pub name: String,
    /// One for each interval.
    pub mbit_per_s: Vec<f64>,
}

/// `None` if the scenario has no intervals.
pub(super) fn over_time(scenario: &Scenario, records: &[FlowRecord]) -> Option<OverTime> {
    let interval = scenario.interval?;
    let flows: Vec<FlowOverTime> = scenario
        .flows
        .iter()
        .zip(records)
        .map(|(flow, record)| rates(flow, record, interval))
        .collect();
    let open: Vec<[usize; 2]> = records.iter().map(|record| open_in(record, interval)).collect();
    let count = flows.iter().map(|flow| flow.mbit_per_s.len()).min().unwrap_or(0);
    let index = |number: usize| {
        let open = flows.iter().zip(&open).filter(|(_, [from, to])| (*from..*to).contains(&number));
        let rates: Vec<f64> = open.map(|(flow, _)| flow.mbit_per_s[number]).collect();
        if rates.len() < 2 { None } else { fairness_index(&rates) }
    };
    let fairness_index: Vec<Option<f64>> = (0..count).map(index).collect();
    let last = records.iter().filter_map(|record| record.began).max();
    Some(OverTime {
        interval_s: interval.as_secs_f64(),
        time_to_fairness_s: last.and_then(|last| fair_after(&fairness_index, last, interval)),
        flows,
        fairness_index,
    })
}

fn rates(flow: &Flow, record: &FlowRecord, interval: Span) -> FlowOverTime {
    let packets = record.intervals.iter().flat_map(|intervals| &intervals.packets);
    let mbit = record.mss * 8.0 / 1e6 / interval.as_secs_f64();
    let mut before = 0.0;
    let rate = |packets: &f64| (packets - std::mem::replace(&mut before, *packets)) * mbit;
    FlowOverTime { name: flow.name.clone(), mbit_per_s: packets.map(rate).collect() }
}

/// The intervals all through which a flow is open: the first, and the one behind the last. A flow that has
/// finished is taken to be open up to its last acknowledged packet.
fn open_in(record: &FlowRecord, interval: Span) -> [usize; 2] {
    let Some(intervals) = &record.intervals else { return [0, 0] };
    let length = interval.as_nanos();
    let began = record.began.map_or(u64::MAX, |began| began.as_nanos().div_ceil(length));
    let packets = &intervals.packets;
    let end = match record.finished {
        true => packets.partition_point(|packets| *packets < record.acked.packets),
        false => packets.len(),
    };
    [usize::try_from(began).unwrap_or(usize::MAX), end]
}

/// Seconds from `last` to the end of the first interval behind it with a fair index.
fn fair_after(index: &[Option<f64>], last: Time, interval: Span) -> Option<f64> {
    let first = usize::try_from(last.as_nanos().div_ceil(interval.as_nanos())).ok()?;
    let fair = |number: &usize| index[*number].is_some_and(|index| index >= FAIR);
    let found = (first..index.len()).find(fair)?;
    let end = Time::ZERO + interval * (found as u64 + 1);
    Some((end - last).as_secs_f64())
}
