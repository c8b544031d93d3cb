//! Packets that come at random into a queue without limit, against the theory of queues.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::*;
use windlass_base::Span;
use windlass_sim::model::UdpTraffic;
use windlass_sim::{Scenario, run};
use windlass_traffic::{Arrivals, Process, Sizes};

const MBIT: f64 = 10.0;
const BYTES: f64 = 2000.0;
/// The mean time of a transmission, in milliseconds.
const SERVICE_MS: f64 = BYTES * 8.0 / (MBIT * 1e3);

/// Poisson arrivals of packets with the mean size [`BYTES`] that load the link to `load`, for the time
/// of so many of them.
fn queue(sizes: Sizes, load: f64, packets: u32) -> Scenario {
    let per_second = load * 1e3 / SERVICE_MS;
    let duration = Span::from_secs_f64(f64::from(packets) / per_second);
    let wire = || channel(mbit(MBIT), Span::ZERO, drop_tail(u32::MAX));
    let mut scenario = pair(wire(), wire(), duration);
    // The queue is empty at first.
    scenario.steady_from = duration / 20;
    let mut source = udp(0, 1, 28, mbit(1.0));
    let process = Process::Poisson { per_second };
    source.traffic = UdpTraffic::Arrivals(Arrivals::Drawn { process, sizes, count: None });
    scenario.udp.push(source);
    scenario
}

/// The mean time in the queue in units of the mean transmission, and half of its 95 % interval, from
/// independent runs.
fn waiting(sizes: &Sizes, load: f64, packets: u32) -> (f64, f64) {
    const RUNS: u32 = 20;
    /// Student's t with 19 degrees of freedom.
    const T: f64 = 2.093;
    let scenario = queue(sizes.clone(), load, packets / RUNS);
    let means: Vec<f64> = (1..=u64::from(RUNS))
        .map(|seed| {
            let summary = run(&scenario, seed, &mut ()).expect("a sound scenario");
            assert_eq!(summary.drops, 0);
            let delays = summary.queues[0].queue_delay_ms.expect("packets");
            delays.mean.as_millis_f64() / SERVICE_MS
        })
        .collect();
    let runs = f64::from(RUNS);
    let mean = means.iter().sum::<f64>() / runs;
    let squares: f64 = means.iter().map(|found| (found - mean).powi(2)).sum();
    (mean, T * (squares / (runs - 1.0) / runs).sqrt())
}

/// The mean wait by Pollaczek and Khinchine; `squares` is the mean of the squared sizes over the square
/// of their mean: 2 for M/M/1, 1 for M/D/1.
fn theory(load: f64, squares: f64) -> f64 {
    load * squares / (2.0 * (1.0 - load))
}

/// The whole interval lies within 2 % of the theory.
fn check(sizes: &Sizes, squares: f64, load: f64, packets: u32) {
    let (found, interval) = waiting(sizes, load, packets);
    let expected = theory(load, squares);
    let off = (found - expected).abs() + interval;
    println!("{sizes:?} at {load}: {found:.4} +- {interval:.4}, theory {expected}");
    assert!(off < 0.02 * expected, "{found} +- {interval}, expected {expected}");
}

#[test]
fn the_wait_in_an_m_d_1_queue_is_that_of_theory() {
    check(&Sizes::Fixed(BYTES as u64), 1.0, 0.5, 200_000);
}

#[test]
fn the_wait_in_an_m_m_1_queue_is_that_of_theory() {
    check(&Sizes::Exponential { mean: BYTES }, 2.0, 0.5, 1_000_000);
}

#[test]
#[ignore = "takes half a minute without optimisation: make verify-traffic"]
fn waits_at_a_high_load_are_those_of_theory() {
    check(&Sizes::Fixed(BYTES as u64), 1.0, 0.8, 2_000_000);
    check(&Sizes::Exponential { mean: BYTES }, 2.0, 0.8, 6_000_000);
}
