//! Results of one seed and of a range of seeds.

use core::fmt;
use windlass_base::{Span, Time};
use windlass_sim::summary::EcnProxyCounters;
use windlass_tcp::Error;
use windlass_tcp::conn::Stats;

/// A seed that kept every invariant.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// Of everything that was sent, when, and what became of it: equal for equal runs.
    pub digest: u64,
    /// How each end came to its end.
    pub endings: [Ending; 2],
    /// Virtual time from the first event to the last.
    pub lasted: Span,
    /// Packets sent by both ends.
    pub packets: u64,
    /// Bytes that both applications read.
    pub bytes: u64,
    /// Zero-window probes with data, of both ends.
    pub window_probes: u64,
    /// Both ends agreed on AccECN.
    pub accurate: bool,
    /// The counters of both connections.
    pub stats: [Stats; 2],
    /// Counters of the ECN proxies on the path, from A to B.
    pub proxies: Vec<EcnProxyCounters>,
}

/// How an end came to its end.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Orderly, everything delivered.
    Closed,
    /// With an error that the path or an application explains.
    Failed(Error),
    /// The peer is gone, and no reset reached this end.
    Abandoned,
}

/// A seed that broke an invariant.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The seed: [`replay`](crate::replay) shows it again.
    pub seed: u64,
    /// When, on the run's own clock.
    pub at: Time,
    /// The invariant that broke, and at which end.
    pub what: String,
    /// The setup that the seed drew.
    pub setup: String,
    /// The last lines of the log before it.
    pub last_events: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {} broke at {}: {}", self.seed, self.at, self.what)?;
        writeln!(f, "{}", self.setup)?;
        writeln!(f, "the last {} events:", self.last_events.len())?;
        for line in &self.last_events {
            writeln!(f, "  {line}")?;
        }
        Ok(())
    }
}

impl core::error::Error for Failure {}

/// Sums over a range of seeds; the same for any number of jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Seeds run.
    pub seeds: u64,
    /// Seeds both ends of which ended orderly.
    pub orderly: u64,
    /// Ends that failed for a reason: reset, refused, timed out, aborted.
    pub failed_ends: u64,
    /// Packets sent.
    pub packets: u64,
    /// Bytes read by the applications.
    pub bytes: u64,
    /// Expiries of retransmission timers.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Zero-window probes.
    pub window_probes: u64,
    /// Cuts by ECN.
    pub ecn_cuts: u64,
    /// Seeds whose ends agreed on AccECN.
    pub accurate: u64,
    /// Cuts taken back.
    pub undone_cuts: u64,
    /// New segments that F-RTO sent.
    pub frto_probes: u64,
    /// Of the ECN proxies.
    pub proxies: ProxySums,
    /// Virtual time of all seeds.
    pub lasted: Span,
    /// Of the digests of all seeds.
    pub digest: u64,
    /// The seeds that broke, ascending.
    pub failures: Vec<Failure>,
}

/// Sums over the ECN proxies of a range of seeds.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxySums {
    /// Connections served: two of a seed at most.
    pub served: u64,
    /// Seeds with a virtual loss.
    pub seeds_with_virtual_losses: u64,
    /// Virtual losses.
    pub virtual_losses: u64,
    /// Of these, those whose retransmission the proxy answered itself.
    pub self_answers: u64,
    /// Of the others, retransmissions that the proxy held back until an ACK of the far end answered them.
    pub kept_back: u64,
    /// Packets dropped in place of a virtual loss.
    pub dropped: u64,
    /// Episodes of echoes from far ends for marks of served senders.
    pub episodes: u64,
    /// Marks on packets for served ends.
    pub marks: u64,
}

impl ProxySums {
    fn add(&mut self, proxies: &[EcnProxyCounters]) {
        self.seeds_with_virtual_losses +=
            u64::from(proxies.iter().any(|proxy| proxy.virtual_losses > 0));
        for proxy in proxies {
            self.served += proxy.proxied;
            self.virtual_losses += proxy.virtual_losses;
            self.self_answers += proxy.self_answers;
            self.kept_back += proxy.kept_back;
            self.dropped += proxy.dropped;
            self.episodes += proxy.episodes;
            self.marks += proxy.ce;
        }
    }

    fn merge(&mut self, other: &ProxySums) {
        self.served += other.served;
        self.seeds_with_virtual_losses += other.seeds_with_virtual_losses;
        self.virtual_losses += other.virtual_losses;
        self.self_answers += other.self_answers;
        self.kept_back += other.kept_back;
        self.dropped += other.dropped;
        self.episodes += other.episodes;
        self.marks += other.marks;
    }
}

impl fmt::Display for ProxySums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "ECN proxies: {} connections served; {} seeds with virtual losses, {} of these ({} answered \
             by the proxy, {} kept back), {} packets dropped instead; {} echoes of marks for senders, {} marks for \
             receivers",
            self.served,
            self.seeds_with_virtual_losses,
            self.virtual_losses,
            self.self_answers,
            self.kept_back,
            self.dropped,
            self.episodes,
            self.marks
        )
    }
}

impl Summary {
    pub(crate) fn add(&mut self, result: Result<Report, Failure>) {
        self.seeds += 1;
        match result {
            Ok(report) => self.add_report(&report),
            Err(failure) => self.failures.push(failure),
        }
    }

    fn add_report(&mut self, report: &Report) {
        self.orderly += u64::from(report.endings == [Ending::Closed; 2]);
        let failed = report.endings.iter().filter(|ending| matches!(ending, Ending::Failed(_)));
        self.failed_ends += failed.count() as u64;
        self.packets += report.packets;
        self.bytes += report.bytes;
        self.window_probes += report.window_probes;
        self.accurate += u64::from(report.accurate);
        self.proxies.add(&report.proxies);
        self.lasted += report.lasted;
        self.digest = self.digest.wrapping_add(report.digest);
        for stats in &report.stats {
            self.timeouts += stats.timeouts;
            self.fast_retransmits += stats.fast_retransmits;
            self.ecn_cuts += stats.ecn_cuts;
            self.undone_cuts += stats.undone_cuts;
            self.frto_probes += stats.frto_probes;
        }
    }

    /// Both ranges together.
    pub(crate) fn merge(&mut self, other: Summary) {
        self.seeds += other.seeds;
        self.orderly += other.orderly;
        self.failed_ends += other.failed_ends;
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.timeouts += other.timeouts;
        self.fast_retransmits += other.fast_retransmits;
        self.window_probes += other.window_probes;
        self.ecn_cuts += other.ecn_cuts;
        self.accurate += other.accurate;
        self.undone_cuts += other.undone_cuts;
        self.frto_probes += other.frto_probes;
        self.proxies.merge(&other.proxies);
        self.lasted += other.lasted;
        self.digest = self.digest.wrapping_add(other.digest);
        self.failures.extend(other.failures);
        self.failures.sort_by_key(|failure| failure.seed);
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} seeds, {} broke an invariant", self.seeds, self.failures.len())?;
        writeln!(
            f,
            "{} ended orderly at both ends; {} ends failed for a reason",
            self.orderly, self.failed_ends
        )?;
        writeln!(
            f,
            "{} packets, {} bytes, {} of virtual time",
            self.packets, self.bytes, self.lasted
        )?;
        writeln!(
            f,
            "{} timeouts, {} fast retransmits, {} window probes, {} ECN cuts, {} cuts undone",
            self.timeouts,
            self.fast_retransmits,
            self.window_probes,
            self.ecn_cuts,
            self.undone_cuts
        )?;
        writeln!(f, "{} with AccECN at both ends", self.accurate)?;
        if self.proxies == ProxySums::default() { Ok(()) } else { self.proxies.fmt(f) }
    }
}
