//! The settings with which the programs are loaded, and those of the table `settings`, which may change while they
//! run.

use super::nanoseconds;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// The side that an interface faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The served hosts: their packets arrive here.
    ClientSide,
    /// The network, on a served host itself: its packets leave here.
    NetworkSide,
}

/// How the proxy signals a mark to a served sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// By ACKs that simulate the loss of a segment.
    #[default]
    VirtualLoss,
    /// By dropping one packet.
    Drop,
    /// Not needed: its data stays Not-ECT, so it is never marked.
    NoEct,
}

/// Settings fixed when the programs are loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// A folder in a BPF file system: tables and links are pinned there, and outlive the process.
    /// The next `load` with the same folder takes them over.
    pub pin: Option<PathBuf>,
    /// Largest number of served connections. Memory is allocated as they arrive.
    pub flows_max: u32,
    /// Largest number of simultaneous handshakes; the oldest are evicted. Memory is allocated at load time.
    pub handshakes_max: u32,
    /// Largest number of remembered far hosts; the least recently seen are evicted.
    pub hosts_max: u32,
    /// One bit of the packet mark. It marks the proxy's own clones until they have passed the programs
    /// again, which then clear it.
    pub mark: u32,
    /// The initial policy.
    pub policy: Policy,
    /// Time for which the proxy does not request ECN from a far host after three connections in a row
    /// whose ECN SYN was not answered.
    pub fallback_memory: Duration,
    /// Whether a retransmitted SYN goes out without ECN (RFC 3168 section 6.1.1.1).
    pub fallback: bool,
    /// Whether senders without SACK get ECT and virtual losses too. They then reduce too little.
    pub without_sack: bool,
    /// The programs stop editing if `expire` was not called for this long, so that a filter left by a
    /// killed process does nothing. `None` is no limit; there is none with `pin` either.
    pub lease: Option<Duration>,
    /// Whether to use clsact filters even if the kernel has TCX.
    pub clsact: bool,
    /// Size in bytes (a power of 2, at least 4096) of a ring buffer that records inputs and outputs of
    /// the state machine, for tests. `None` is no ring buffer.
    pub decisions_bytes: Option<u32>,
    /// Parts of a virtual loss to leave out (`enum ecn_part`), for tests that show the purpose of each.
    pub parts_left_out: u32,
    /// Whether to treat lists of GRO as on kernels that cannot edit them whole (before Linux 6.12), for
    /// tests.
    pub keep_lists: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            pin: None,
            flows_max: 1 << 18,
            handshakes_max: 1 << 16,
            hosts_max: 1 << 16,
            mark: 1 << 27,
            policy: Policy::VirtualLoss,
            fallback_memory: Duration::from_secs(600),
            fallback: true,
            without_sack: false,
            lease: Some(Duration::from_secs(60)),
            clsact: false,
            decisions_bytes: None,
            parts_left_out: 0,
            keep_lists: false,
        }
    }
}

/// The current settings: `struct settings` of bpf/tables.h.
#[derive(Clone, Copy, Debug)]
pub(super) struct InForce {
    pub(super) enabled: bool,
    pub(super) draining: bool,
    pub(super) policy: Policy,
    pub(super) lists: u8,
    without_sack: bool,
    fallback: bool,
    lease: Option<Duration>,
    fallback_memory: Duration,
    mark: u32,
    flows_max: u32,
}

impl InForce {
    pub(super) fn new(settings: &Settings) -> InForce {
        InForce {
            enabled: true,
            draining: false,
            policy: settings.policy,
            lists: 0,
            without_sack: settings.without_sack,
            fallback: settings.fallback,
            lease: settings.lease.filter(|_| settings.pin.is_none()),
            fallback_memory: settings.fallback_memory,
            mark: settings.mark,
            flows_max: settings.flows_max,
        }
    }

    pub(super) fn to_bytes(self, now_ns: u64) -> Vec<u8> {
        let lease_until = self.lease.map_or(0, |lease| now_ns.saturating_add(nanoseconds(lease)));
        // enum ecn_sender_policy
        let sender = match self.policy {
            Policy::VirtualLoss => 0,
            Policy::Drop => 1,
            Policy::NoEct => 2,
        };
        let off = u8::from(!self.enabled);
        let (draining, without_sack) = (u8::from(self.draining), u8::from(self.without_sack));
        let mut bytes = lease_until.to_ne_bytes().to_vec();
        bytes.extend(nanoseconds(self.fallback_memory).to_ne_bytes());
        bytes.extend(self.mark.to_ne_bytes());
        bytes.extend(self.flows_max.to_ne_bytes());
        let keeps_asking = u8::from(!self.fallback);
        bytes.extend([sender, off, draining, without_sack, keeps_asking, self.lists, 0, 0]);
        bytes
    }
}

/// Idle times after which a connection is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeouts {
    /// For an open connection.
    pub idle: Duration,
    /// For a connection with a FIN in one direction.
    pub closing: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        // RFC 5382 section 5: no less than 2 hours 4 minutes, and 4 minutes.
        Timeouts { idle: Duration::from_secs(7_440), closing: Duration::from_secs(240) }
    }
}
