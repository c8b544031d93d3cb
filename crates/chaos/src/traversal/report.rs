//! Results of the seeds of simulated NAT crossings.

use crate::Failure;
use std::fmt;
use windlass_base::Span;

/// A seed of simulated NAT crossings that kept every promise.
#[derive(Clone, Debug, PartialEq)]
pub struct TraversalReport {
    /// The seed.
    pub seed: u64,
    /// Of everything that the hosts sent, and when: equal for equal runs.
    pub digest: u64,
    /// No path exists, and the host that asked got an error.
    pub is_impossible: bool,
    /// Datagrams were changed on the way.
    pub is_tampered: bool,
    /// The rendezvous lied.
    pub is_lied_to: bool,
    /// Whether the last path has a relay; `None` without a path.
    pub relayed: Option<bool>,
    /// From asking for the session to the first byte of the other host.
    pub first_byte: Option<Span>,
    /// Connections that were complete in both directions.
    pub connections: u64,
    /// Datagrams that the hosts and the rendezvous sent.
    pub datagrams: u64,
    /// Virtual time of the run.
    pub lasted: Span,
}

/// Sums over a range of seeds; the same for any number of jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraversalSummary {
    /// Seeds run.
    pub seeds: u64,
    /// Seeds whose last path is direct.
    pub direct: u64,
    /// Seeds whose last path has a relay.
    pub relayed: u64,
    /// Seeds without any path, which ended with an error.
    pub impossible: u64,
    /// Seeds in which datagrams were changed on the way.
    pub tampered: u64,
    /// Seeds with a rendezvous that lied.
    pub lied_to: u64,
    /// Complete connections.
    pub connections: u64,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Virtual time of all seeds.
    pub lasted: Span,
    /// Of the digests of all seeds.
    pub digest: u64,
    /// The seeds that broke a promise, ascending.
    pub failures: Vec<Failure>,
}

impl TraversalSummary {
    pub(crate) fn add(&mut self, result: Result<TraversalReport, Failure>) {
        self.seeds += 1;
        match result {
            Ok(report) => {
                self.direct += u64::from(report.relayed == Some(false));
                self.relayed += u64::from(report.relayed == Some(true));
                self.impossible += u64::from(report.is_impossible);
                self.tampered += u64::from(report.is_tampered);
                self.lied_to += u64::from(report.is_lied_to);
                self.connections += report.connections;
                self.datagrams += report.datagrams;
                self.lasted += report.lasted;
                self.digest = self.digest.wrapping_add(report.digest);
            }
            Err(failure) => self.failures.push(failure),
        }
    }

    pub(crate) fn merge(&mut self, other: TraversalSummary) {
        self.seeds += other.seeds;
        self.direct += other.direct;
        self.relayed += other.relayed;
        self.impossible += other.impossible;
        self.tampered += other.tampered;
        self.lied_to += other.lied_to;
        self.connections += other.connections;
        self.datagrams += other.datagrams;
        self.lasted += other.lasted;
        self.digest = self.digest.wrapping_add(other.digest);
        self.failures.extend(other.failures);
        self.failures.sort_by_key(|failure| failure.seed);
    }
}

impl fmt::Display for TraversalSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} seeds, {} broken", self.seeds, self.failures.len())?;
        writeln!(f, "last path: {} direct, {} relayed", self.direct, self.relayed)?;
        writeln!(f, "no path exists: {}", self.impossible)?;
        writeln!(f, "datagrams changed on the way: {} seeds", self.tampered)?;
        writeln!(f, "the rendezvous lies: {} seeds", self.lied_to)?;
        writeln!(f, "{} connections complete", self.connections)?;
        writeln!(f, "{} datagrams in {} of virtual time", self.datagrams, self.lasted)?;
        writeln!(f, "digest {:016x}", self.digest)
    }
}
