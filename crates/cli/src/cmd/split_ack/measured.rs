//! The results of a run of the command.

use serde::Serialize;
use windlass_split_ack::{Connection, Hook};

/// Results of one run of the command.
#[derive(Serialize)]
pub(super) struct Measured {
    pub(super) exit_status: u8,
    pub(super) connections: Vec<Connection>,
    /// Packets of connections that found no room in the table.
    pub(super) packets_missed: u64,
    #[serde(skip)]
    pub(super) interfaces: Vec<String>,
    #[serde(skip)]
    pub(super) hook: Hook,
    /// The signal that asked windlass to end during the run, as an exit status.
    #[serde(skip)]
    pub(super) asked: Option<u8>,
}
