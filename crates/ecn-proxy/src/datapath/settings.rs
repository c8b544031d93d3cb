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
    /// The programs pass everything untouched if `expire` was not called for this long: so a
    /// filter left by a killed process does nothing. `None`, and always with `pin`: no end.
    pub lease: Option<Duration>,
    /// Bytes (a power of 2, at least 4096) of a ring of what the state machine was told and what it
    /// answered, for tests; `None`: no such ring.
    pub decisions_bytes: Option<u32>,
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
            lease: Some(Duration::from_secs(60)),
            decisions_bytes: None,
        }
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
