//! A link that serves its transfers in turn, without congestion control, beside the queue that theory has
//! for it: M/G/1 with processor sharing. Its mean slowdown is 1 / (1 - load), whatever the distribution of
//! sizes (Kleinrock, "Queueing Systems" volume II, section 4.4).

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::*;
use windlass_aqm::{CoDelParams, Config as Queue, FqCoDelConfig};
use windlass_base::{Span, Time};
use windlass_sim::model::traffic::{Arrivals, Process, Segments, Sizes, rate_for_load};
use windlass_sim::model::{Flow, TcpApp};
use windlass_sim::{Recorder, Scenario, run};

const MSS: u32 = 1_000;
/// IPv4 and TCP without options.
const HEADER_BYTES: u32 = 40;
const LINK_MBIT: f64 = 1_000.0;
/// Batches of whose means the interval is taken.
const BATCHES: usize = 20;
/// Student's t for a 95 % interval with 19 degrees of freedom.
const T_19: f64 = 2.093;

/// Round robin among connections: FQ-CoDel, where CoDel never drops.
fn round_robin() -> Queue {
    let never = Span::from_secs(1_000_000);
    Queue::FqCoDel(FqCoDelConfig {
        limit_packets: u32::MAX,
        limit_bytes: u64::MAX,
        flows: 65_536,
        quantum_bytes: MSS + HEADER_BYTES,
        codel: CoDelParams { target: never, interval: never, ..CoDelParams::default() },
        ..FqCoDelConfig::default()
    })
}

/// A sender that nothing holds back: no congestion control, and a receiver with endless memory.
fn uncontrolled(app: TcpApp) -> Flow {
    let mut flow = ns2_flow(0, 1, "none", false);
    for config in [&mut flow.sender, &mut flow.receiver] {
        config.mss = MSS as u16;
        config.window.limit = None;
        config.window.initial_ssthresh = None;
        config.window.initial = u32::MAX;
        config.buffers.receive = 1 << 40;
        config.buffers.send = 1 << 40;
    }
    flow.app = app;
    flow
}

/// So many transfers at a load, whose sizes differ a hundredfold.
fn shared_link(load: f64, count: u64) -> Scenario {
    let sizes = Sizes::Pareto { shape: 1.5, minimum: 20_000.0, maximum: Some(2_000_000.0) };
    let link = mbit(LINK_MBIT).expect("not zero");
    let segments = Segments { mss: MSS, header_bytes: HEADER_BYTES };
    let per_second = rate_for_load(load, link, &sizes, segments).expect("sizes with a mean");
    let process = Process::Poisson { per_second };
    let arrivals = Arrivals::Drawn { process, sizes, count: Some(count) };
    let wire = channel(mbit(LINK_MBIT), Span::ZERO, round_robin());
    let back = channel(None, Span::ZERO, drop_tail(1));
    let mut scenario = pair(wire, back, Span::from_secs(1_000_000));
    scenario.flows.push(uncontrolled(TcpApp::Arriving { arrivals }));
    scenario.until_done = true;
    scenario
}

/// The slowdown of each transfer.
#[derive(Default)]
struct Slowdowns(Vec<f64>);

impl Recorder for Slowdowns {
    fn transfer_done(&mut self, now: Time, _: usize, begun: Time, bytes: u64) {
        let wire_bytes = bytes + bytes.div_ceil(u64::from(MSS)) * u64::from(HEADER_BYTES);
        let idle_s = wire_bytes as f64 * 8.0 / (LINK_MBIT * 1e6);
        self.0.push((now - begun).as_secs_f64() / idle_s);
    }
}

/// The mean of batches in order of time, and half of its 95 % interval.
fn mean_and_interval(samples: &[f64]) -> (f64, f64) {
    let length = samples.len() / BATCHES;
    let means: Vec<f64> = samples
        .chunks_exact(length)
        .map(|batch| batch.iter().sum::<f64>() / length as f64)
        .collect();
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let squares: f64 = means.iter().map(|batch| (batch - mean).powi(2)).sum();
    let deviation = (squares / (means.len() - 1) as f64).sqrt();
    (mean, T_19 * deviation / (means.len() as f64).sqrt())
}

/// The mean slowdown over what theory has, with its interval.
fn beside_theory(load: f64, count: u64) -> (f64, f64) {
    let mut slowdowns = Slowdowns::default();
    let summary = run(&shared_link(load, count), 1, &mut slowdowns).expect("a sound scenario");
    let completions = summary.flows[0].completions.as_ref().expect("transfers");
    assert_eq!((completions.completed, completions.failed), (count, 0));
    assert_eq!(summary.flows[0].retransmitted_segments, 0, "nothing is lost");
    let (mean, half) = mean_and_interval(&slowdowns.0);
    let all = completions.all.as_ref().and_then(|times| times.slowdown).expect("slowdowns");
    let own: f64 = slowdowns.0.iter().sum::<f64>() / count as f64;
    assert!((all.mean.as_secs_f64() / own - 1.0).abs() < 1e-3, "the summary's mean");
    let theory = 1.0 / (1.0 - load);
    println!("load {load}, {count} transfers: {mean:.4} +- {half:.4}, by theory {theory:.4}");
    (mean / theory, half / theory)
}

#[test]
fn a_shared_link_slows_transfers_as_processor_sharing_does() {
    let (ratio, half) = beside_theory(0.5, 8_000);
    assert!((ratio - 1.0).abs() < 0.05 + half, "{ratio} +- {half} of theory");
}

/// `make verify-traffic`.
#[test]
#[ignore = "two million transfers: minutes"]
fn a_million_transfers_at_each_load_are_within_5_percent_of_theory() {
    for load in [0.5, 0.8] {
        let (ratio, half) = beside_theory(load, 1_000_000);
        assert!((ratio - 1.0).abs() + half < 0.05, "load {load}: {ratio} +- {half} of theory");
    }
}
