use serde::Serialize;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FlowState {
    /// In its handshake.
    Handshake,
    /// The far host speaks ECN, the served host does not: the proxy stands between.
    Simulated,
    /// One end has sent a FIN.
    Closing,
}

/// A connection in the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Flow {
    /// The served host's end.
    pub host: SocketAddr,
    /// The far end.
    pub far: SocketAddr,
    /// Where it stands.
    pub state: FlowState,
    /// Since its last packet.
    pub idle: Duration,
}

/// What is known of a far host's ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum HostEcn {
    /// It has agreed to ECN.
    Capable,
    /// It has answered, without ECN.
    NotCapable,
    /// It, or the path to it, did not answer a SYN that asks for ECN: it is not asked for a while.
    Unreachable,
}

/// What is known of a far host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Host {
    /// Its address.
    pub address: IpAddr,
    /// Its ECN.
    pub ecn: HostEcn,
}
