//! Derives a crossing from a seed: the networks of two hosts, and the disturbances.

use std::fmt;
use windlass_base::{Rng, Span};
use windlass_nat::theory::{Access, Outcome, outcome, outcome_behind_one};
use windlass_nat::{Dependence, PortAllocation};

/// The network between a host and the Internet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum HostNetwork {
    /// A public address.
    Public,
    /// A NAT; with IPv6 a stateful firewall, which keeps addresses and ports.
    Nat { mapping: Dependence, filtering: Dependence, ports: PortAllocation },
    /// Two NATs in a row, both endpoint-independent with this filtering.
    Carrier { filtering: Dependence },
    /// Only TCP to port 443 passes.
    UdpBlocked,
    /// Nothing passes.
    Isolated,
}

impl HostNetwork {
    fn draw(rng: &mut Rng, ipv6: bool) -> HostNetwork {
        let dependence = |rng: &mut Rng| Dependence::ALL[rng.below(3) as usize];
        match rng.below(24) {
            0..3 => HostNetwork::Public,
            3..6 => HostNetwork::UdpBlocked,
            6 => HostNetwork::Isolated,
            7..9 if !ipv6 => HostNetwork::Carrier { filtering: dependence(rng) },
            _ => HostNetwork::Nat {
                mapping: if ipv6 { Dependence::Independent } else { dependence(rng) },
                filtering: dependence(rng),
                ports: match rng.below(3) {
                    0 => PortAllocation::Preserve,
                    1 => PortAllocation::Random,
                    _ => PortAllocation::Sequential,
                },
            },
        }
    }

    fn access(self) -> Access {
        let independent = Dependence::Independent;
        match self {
            HostNetwork::Public => Access::Udp { mapping: independent, filtering: independent },
            HostNetwork::Nat { mapping, filtering, .. } => Access::Udp { mapping, filtering },
            HostNetwork::Carrier { filtering } => Access::Udp { mapping: independent, filtering },
            HostNetwork::UdpBlocked => Access::Tcp443,
            HostNetwork::Isolated => Access::Nothing,
        }
    }
}

/// Something that happens to the networks.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Disturbance {
    /// The NATs of a host forget everything.
    Reboot { host: usize },
    /// The host gets another local address.
    Move { host: usize },
    /// The rendezvous forgets everything.
    RestartRendezvous,
    /// Nothing arrives anywhere for a while.
    Blackout { length: Span },
}

/// The setup of a run.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) ipv6: bool,
    pub(super) networks: [HostNetwork; 2],
    /// Both hosts are behind one NAT, that of the first network. The value: it hairpins.
    pub(super) together: Option<bool>,
    /// One-way delay between each host and the Internet.
    pub(super) delays: [Span; 2],
    /// Delay added at random, at most: the cause of reordering.
    pub(super) jitter: Span,
    /// The share of datagrams that each crossing of a host's network loses.
    pub(super) loss: f64,
    /// The share of datagrams in which a bit is changed, with a valid checksum.
    pub(super) tampering: f64,
    /// The hosts name another rendezvous first, which is dead.
    pub(super) dead_first: bool,
    /// The rendezvous lies.
    pub(super) lying: bool,
    pub(super) disturbances: Vec<(Span, Disturbance)>,
    /// Connections, and bytes that each carries in both directions.
    pub(super) connections: u32,
    pub(super) bytes: u64,
    /// Time between the openings of connections.
    pub(super) spacing: Span,
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = self.networks;
        let family = if self.ipv6 { "IPv6" } else { "IPv4" };
        writeln!(f, "{family}: {a:?} and {b:?}, theory: {:?}", self.outcome())?;
        if let Some(hairpin) = self.together {
            writeln!(f, "both behind the first, hairpin: {hairpin}")?;
        }
        let [to_a, to_b] = self.delays;
        writeln!(f, "delays {to_a} and {to_b}, jitter {}, loss {:.4}", self.jitter, self.loss)?;
        let (count, bytes) = (self.connections, self.bytes);
        writeln!(f, "{count} connections of {bytes} bytes, {} apart", self.spacing)?;
        if self.tampering > 0.0 {
            writeln!(f, "tampering {:.4}", self.tampering)?;
        }
        if self.dead_first {
            writeln!(f, "the first rendezvous is dead")?;
        }
        if self.lying {
            writeln!(f, "the rendezvous lies")?;
        }
        for (at, disturbance) in &self.disturbances {
            writeln!(f, "{at} after the start: {disturbance:?}")?;
        }
        Ok(())
    }
}

impl Setup {
    pub(super) fn draw(seed: u64) -> Setup {
        let rng = &mut Rng::fork(seed, 1);
        let ipv6 = rng.chance(0.25);
        let networks = [HostNetwork::draw(rng, ipv6), HostNetwork::draw(rng, ipv6)];
        let one_nat = !ipv6 && matches!(networks[0], HostNetwork::Nat { .. }) && rng.chance(0.15);
        let together = one_nat.then(|| rng.chance(0.5));
        let delay = |rng: &mut Rng| Span::from_micros(rng.between(500, 150_000));
        let count = if rng.chance(0.5) { rng.between(1, 4) } else { 0 };
        let mut disturbances: Vec<_> = (0..count)
            .map(|_| (Span::from_millis(rng.between(0, 40_000)), draw_disturbance(rng)))
            .collect();
        disturbances.sort_by_key(|(at, _)| *at);
        Setup {
            ipv6,
            networks,
            together,
            delays: [delay(rng), delay(rng)],
            jitter: Span::from_micros(if rng.chance(0.5) { rng.below(20_000) } else { 0 }),
            loss: if rng.chance(0.6) { rng.uniform() * 0.05 } else { 0.0 },
            tampering: if rng.chance(0.1) { rng.uniform() * 0.02 } else { 0.0 },
            disturbances,
            connections: rng.between(1, 4) as u32,
            bytes: rng.between(1, 60_000),
            spacing: Span::from_millis(rng.below(10_000)),
            lying: rng.chance(0.05),
            // Drawn apart, so that the other seeds stand for what they did.
            dead_first: Rng::fork(seed, 3).chance(0.25),
        }
    }

    /// The number of the rendezvous that works.
    pub(super) fn live(&self) -> usize {
        usize::from(self.dead_first)
    }

    /// A network without losses and disturbances, in which a connection is opened at once.
    #[cfg(test)]
    pub(super) fn quiet(networks: [HostNetwork; 2], delays: [Span; 2]) -> Setup {
        Setup {
            ipv6: false,
            networks,
            together: None,
            delays,
            jitter: Span::ZERO,
            loss: 0.0,
            tampering: 0.0,
            lying: false,
            dead_first: false,
            disturbances: Vec::new(),
            connections: 1,
            bytes: 1000,
            spacing: Span::ZERO,
        }
    }

    /// The best path that the theory of NATs predicts for the two hosts.
    pub(super) fn outcome(&self) -> Outcome {
        match self.together {
            Some(hairpin) => outcome_behind_one(self.networks[0].access(), hairpin),
            None => outcome(self.networks[0].access(), self.networks[1].access()),
        }
    }

    /// The time after the start from which on nothing disturbs the networks any more.
    pub(super) fn last_disturbance(&self) -> Span {
        let ends = self.disturbances.iter().map(|(at, disturbance)| match disturbance {
            Disturbance::Blackout { length } => *at + *length,
            _ => *at,
        });
        ends.max().unwrap_or(Span::ZERO)
    }
}

fn draw_disturbance(rng: &mut Rng) -> Disturbance {
    let host = rng.below(2) as usize;
    match rng.below(4) {
        0 => Disturbance::Reboot { host },
        1 => Disturbance::Move { host },
        2 => Disturbance::RestartRendezvous,
        _ => Disturbance::Blackout { length: Span::from_millis(rng.between(100, 15_000)) },
    }
}
