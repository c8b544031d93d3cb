use super::nanoseconds;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Whom an interface faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The served hosts: packets from them come in, packets to them go out.
    ClientSide,
    /// The network, on a machine that serves itself: packets from the served host go out.
    NetworkSide,
}

/// How a served sender is told of a mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// By ACKs that speak of a segment lost that was not.
    #[default]
    VirtualLoss,
    /// By one packet dropped.
    Drop,
    /// Not at all: what it sends is not marked, as it gets no ECT.
    NoEct,
}

/// What is settled when the programs are loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// A folder in a BPF file system: tables and links are pinned there, and outlive the process.
    /// The next `load` with the same folder takes them over.
    pub pin: Option<PathBuf>,
    /// Connections that need work, at once. The room is taken as they come.
    pub flows_max: u32,
    /// Handshakes at once; the oldest go when there are more. The room is taken at once.
    pub handshakes_max: u32,
    /// Far hosts remembered; those not seen for longest go when there are more.
    pub hosts_max: u32,
    /// One bit of the packet mark: it keeps the proxy's own clones from being looked at again, and
    /// is cleared after.
    pub mark: u32,
    /// The policy at first.
    pub policy: Policy,
    /// For how long a far host that did not answer SYNs with ECN, three connections in a row, is not
    /// asked for it again.
    pub fallback_memory: Duration,
    /// A SYN that is sent again goes without ECN (RFC 3168 section 6.1.1.1); else it asks again.
    pub fallback: bool,
    /// Virtual loss for senders without SACK too, which so far come out too fast; else what they
    /// send gets no ECT.
    pub without_sack: bool,
    /// The programs pass everything untouched if `expire` was not called for this long: so a
    /// filter left by a killed process does nothing. `None`, and always with `pin`: no end.
    pub lease: Option<Duration>,
    /// Filters of clsact even where the kernel has TCX.
    pub clsact: bool,
    /// Bytes (a power of 2, at least 4096) of a ring of what the state machine was told and what it
    /// answered, for tests; `None`: no such ring.
    pub decisions_bytes: Option<u32>,
    /// Parts of a virtual loss to go without (enum ecn_part of the machine), for tests that show
    /// what each is there for.
    pub parts_left_out: u32,
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
        }
    }
}

/// What the programs are told now: `struct settings` of bpf/tables.h.
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

/// After what time without a packet a connection goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeouts {
    /// An open one.
    pub idle: Duration,
    /// One that has a FIN in one direction.
    pub closing: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        // RFC 5382 section 5: no less than 2 hours 4 minutes, and 4 minutes.
        Timeouts { idle: Duration::from_secs(7_440), closing: Duration::from_secs(240) }
    }
}
