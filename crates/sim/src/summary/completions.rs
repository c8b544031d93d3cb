//! Completion times of transfers by size, and rounds of requests that wait for each other.

use super::distribution;
use crate::apps::Barrier;
use crate::model::{Scenario, TcpApp};
use crate::record::{CLASS_BOUNDS, Class, Completions as Record};
use serde::Serialize;
use windlass_base::{Distribution, Sketch};

/// The transfers of a flow that began in the steady window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Completions {
    /// Transfers that arrived whole.
    pub completed: u64,
    /// Transfers that had not arrived at the end of the run.
    pub open: u64,
    /// Transfers on connections that failed.
    pub failed: u64,
    /// Payload of the completed ones, in bytes.
    pub bytes: u64,
    /// All completed transfers; left out without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<Times>,
    /// By size, smallest first.
    pub classes: Vec<SizeClass>,
}

/// The completed transfers of one range of sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeClass {
    /// The least size in bytes.
    pub from_bytes: u64,
    /// All sizes are below this; `None`: no bound.
    pub below_bytes: Option<u64>,
    /// Number of transfers.
    pub completed: u64,
    /// Their payload in bytes.
    pub bytes: u64,
    /// How long they took.
    #[serde(flatten)]
    pub times: Times,
}

/// How long transfers took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Times {
    /// From the beginning of a transfer, with its connection's handshake or its request, to the arrival of
    /// its last byte, in milliseconds. A quantile counts times above 275 s as 275 s.
    #[serde(serialize_with = "distribution::in_ms")]
    pub completion_ms: Option<Distribution>,
    /// These times over the least that is possible on the idle path: the round trip of the handshake where
    /// there is one, the way of the request where there is one, the way of the data, and their transmission
    /// on the slowest link, headers included. Windows and slow start do not count to it. A quantile counts
    /// slowdowns above 275 as 275.
    #[serde(serialize_with = "distribution::ratios")]
    pub slowdown: Option<Distribution>,
}

/// Rounds of requests that wait for each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BarrierSummary {
    /// Names of the flows, in the scenario's order.
    pub flows: Vec<String>,
    /// Rounds in which every flow had its response.
    pub rounds: u64,
    /// From the first request of a round to the last response, in milliseconds.
    #[serde(serialize_with = "distribution::in_ms")]
    pub round_ms: Option<Distribution>,
}

impl Times {
    fn new(times: &Sketch, slowdowns: &Sketch) -> Times {
        Times { completion_ms: times.distribution(), slowdown: slowdowns.distribution() }
    }
}

impl Completions {
    pub(super) fn new(record: &Record) -> Completions {
        let none = Class::default();
        let of = |number| size_class(number, record.class(number).unwrap_or(&none));
        let classes: Vec<SizeClass> = (0..=CLASS_BOUNDS.len()).map(of).collect();
        let (mut times, mut slowdowns) = (Sketch::default(), Sketch::default());
        for class in (0..=CLASS_BOUNDS.len()).filter_map(|number| record.class(number)) {
            times.merge(&class.times);
            slowdowns.merge(&class.slowdowns);
        }
        let completed = times.count();
        Completions {
            completed,
            open: record.begun.saturating_sub(completed + record.failed),
            failed: record.failed,
            bytes: classes.iter().map(|class| class.bytes).sum(),
            all: (completed > 0).then(|| Times::new(&times, &slowdowns)),
            classes,
        }
    }
}

fn size_class(number: usize, class: &Class) -> SizeClass {
    SizeClass {
        from_bytes: number.checked_sub(1).map_or(0, |below| CLASS_BOUNDS[below]),
        below_bytes: CLASS_BOUNDS.get(number).copied(),
        completed: class.times.count(),
        bytes: class.bytes,
        times: Times::new(&class.times, &class.slowdowns),
    }
}

/// The barriers of a run, in order of their numbers.
pub(crate) fn barriers(scenario: &Scenario, barriers: &[Barrier]) -> Vec<BarrierSummary> {
    let summary = |(number, barrier): (usize, &Barrier)| {
        let waits = |app: &TcpApp| match app {
            TcpApp::Requests(requests) => requests.barrier == Some(number),
            _ => false,
        };
        let flows = scenario.flows.iter().filter(|flow| waits(&flow.app));
        let mut lengths = Sketch::default();
        barrier.rounds().iter().for_each(|length| lengths.record(*length));
        BarrierSummary {
            flows: flows.map(|flow| flow.name.clone()).collect(),
            rounds: barrier.rounds().len() as u64,
            round_ms: lengths.distribution(),
        }
    };
    let all = barriers.iter().enumerate().map(summary);
    all.filter(|barrier| !barrier.flows.is_empty()).collect()
}
