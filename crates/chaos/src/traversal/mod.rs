//! Sessions between hosts behind NATs, from a seed: random networks, delays and losses, NATs that
//! reboot, hosts that move, a rendezvous that restarts or lies, and somebody who changes datagrams on
//! the way. As long as theory says that the hosts can reach each other, every byte arrives once and in
//! order, within a bound, and the session ends up on the best path. No byte is accepted that the
//! other host did not send.

mod cipher;
mod end;
mod liar;
mod network;
mod rendezvous;
mod report;
mod setup;
mod streams;
mod world;

pub use report::{TraversalReport, TraversalSummary};

use crate::{Failure, guard, range, remember};
use setup::Setup;
use std::collections::VecDeque;
use std::ops::Range;
use windlass_base::Time;
use world::World;

/// Runs a seed of the simulated crossings of NATs.
///
/// # Errors
/// As [`replay_traversal`]. For the last events the seed is run a second time.
pub(crate) fn run_traversal(seed: u64) -> Result<TraversalReport, Failure> {
    let setup = Setup::draw(seed);
    run(seed, &setup, None).map_err(|(at, what)| {
        let mut last_events = VecDeque::new();
        let _ = run(seed, &setup, Some(&mut |line: &str| remember(&mut last_events, line)));
        failure(seed, &setup, (at, what), last_events)
    })
}

/// Runs a seed and passes everything that happens to `line`.
///
/// # Errors
/// The first promise that is broken, with the last events.
pub fn replay_traversal(seed: u64, line: &mut dyn FnMut(&str)) -> Result<TraversalReport, Failure> {
    let setup = Setup::draw(seed);
    setup.to_string().lines().for_each(&mut *line);
    let mut last_events = VecDeque::new();
    let mut sink = |text: &str| {
        remember(&mut last_events, text);
        line(text);
    };
    let result = run(seed, &setup, Some(&mut sink));
    result.map_err(|broken| failure(seed, &setup, broken, last_events))
}

/// Runs all of `seeds` on `jobs` threads (one at least). `progress` is called now and then with the
/// number of seeds that are done, from any of the threads.
pub fn run_traversal_range(
    seeds: Range<u64>,
    jobs: usize,
    progress: &(dyn Fn(u64) + Sync),
) -> TraversalSummary {
    let add = |sum: &mut TraversalSummary, seed| sum.add(run_traversal(seed));
    range::sum(seeds, jobs, progress, &add, &TraversalSummary::merge)
}

fn run<'a>(
    seed: u64,
    setup: &'a Setup,
    log: Option<&'a mut dyn FnMut(&str)>,
) -> Result<TraversalReport, (Time, String)> {
    let mut world = World::new(seed, setup, log);
    let result = guard(|| world.run());
    let at = world.now;
    result.map_err(|what| (at, what))
}

fn failure(
    seed: u64,
    setup: &Setup,
    (at, what): (Time, String),
    last_events: VecDeque<String>,
) -> Failure {
    let last_events = last_events.into();
    Failure { seed, at, what, setup: setup.to_string().trim_end().to_owned(), last_events }
}

#[cfg(test)]
mod tests {
    use super::run;
    use super::setup::{HostNetwork, Setup};
    use windlass_base::Span;
    use windlass_nat::{Dependence, PortAllocation};

    /// Both hosts are behind NATs that let in only what answers. The rendezvous is in the middle, so
    /// the exchange through it takes one round trip between the hosts.
    #[test]
    fn the_first_byte_arrives_five_round_trips_after_the_session_is_asked_for() {
        let (mapping, filtering) = (Dependence::Independent, Dependence::AddressAndPort);
        let ports = PortAllocation::Random;
        let nat = HostNetwork::Nat { mapping, filtering, ports };
        let round_trip = Span::from_millis(50);
        let setup = Setup::quiet([nat, nat], [round_trip / 4; 2]);
        for seed in 0..20 {
            let report = run(seed, &setup, None).expect("it is direct");
            let first_byte = report.first_byte.expect("a byte arrives");
            assert!(first_byte <= round_trip * 5, "seed {seed}: {first_byte}");
        }
    }
}
