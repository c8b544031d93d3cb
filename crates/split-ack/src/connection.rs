//! Reads the table of connections of bpf/tables.h. A test of splitter.rs compares the sizes with those of
//! the programs.

use crate::Transfer;
use crate::reader::Reader;
use serde::Serialize;
use std::net::SocketAddr;

/// `struct flow_key`.
pub(crate) const FLOW_KEY_BYTES: usize = 36;
/// `struct flow`.
pub(crate) const FLOW_BYTES: usize = 128;

/// The counts of a connection, or of successive connections with the same addresses and ports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Connection {
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub peer: SocketAddr,
    /// The kernel's ACKs that were split.
    pub acks_split: u64,
    /// Parts of these ACKs that an interface accepted.
    pub acks_sent: u64,
    /// Parts that no interface accepted.
    pub acks_lost: u64,
    /// ACKs of new data that were not split because of a SACK option.
    pub acks_with_sack: u64,
    /// ACKs of new data that were not split because they carry data or a FIN.
    pub acks_with_data: u64,
    /// Segments received, pure ACKs included.
    pub segments: u64,
    /// Packets received: GRO and the sender's kernel may merge several segments into one.
    pub packets: u64,
    /// Segments received with data, new or not.
    pub data_segments: u64,
    /// Data segments that begin below the highest byte received: retransmitted or reordered.
    pub late_segments: u64,
    /// The data in all of them, in bytes.
    pub bytes: u64,
    /// Bytes acknowledged, each counted once.
    pub acked_bytes: u64,
    /// The largest segment's data in bytes.
    pub mss_seen: u32,
    /// Connections with these addresses and ports.
    pub connections: u32,
    /// The rounds and the duration, with [`Settings::rounds`](crate::Settings::rounds).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Transfer>,
}

impl Connection {
    /// From `struct flow_key` and `struct flow`; `None` if they have other sizes.
    pub(crate) fn read(key: &[u8], value: &[u8], transfer: Option<Transfer>) -> Option<Connection> {
        let mut key = Reader::new(key, FLOW_KEY_BYTES)?;
        let (local, peer) = (key.address()?, key.address()?);
        let mut value = Reader::new(value, FLOW_BYTES)?;
        // The lock and the state of the programs: all before `mss`.
        value.array::<28>()?;
        let (mss_seen, connections, _reserved) = (value.u32()?, value.u32()?, value.u32()?);
        Some(Connection {
            local: SocketAddr::new(local, key.port()?),
            peer: SocketAddr::new(peer, key.port()?),
            acks_split: value.u64()?,
            acks_sent: value.u64()?,
            acks_lost: value.u64()?,
            acks_with_sack: value.u64()?,
            acks_with_data: value.u64()?,
            segments: value.u64()?,
            packets: value.u64()?,
            data_segments: value.u64()?,
            late_segments: value.u64()?,
            bytes: value.u64()?,
            acked_bytes: value.u64()?,
            mss_seen,
            connections,
            transfer,
        })
    }
}
