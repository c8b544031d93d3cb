//! The table of connections.

use crate::stdout;
use windlass_split_ack::Connection;

const HEADER: [&str; 9] = [
    "connection",
    "ACKs split",
    "ACKs sent",
    "left: SACK",
    "left: data",
    "data packets in",
    "late",
    "bytes",
    "MSS seen",
];

/// The table as text.
pub(super) fn text(connections: &[Connection], missed: u64) -> String {
    if connections.is_empty() {
        return "split-ack: the command had no TCP connection of its own".to_owned();
    }
    let mut text = stdout::table(&HEADER, connections.iter().map(row));
    if missed > 0 {
        text += &format!("\n{missed} packets of further connections were left alone: no room");
    }
    text
}

fn row(connection: &Connection) -> Vec<String> {
    let Connection { local, peer, .. } = connection;
    let numbers = [
        connection.acks_split,
        connection.acks_sent,
        connection.acks_with_sack,
        connection.acks_with_data,
        connection.data_segments,
        connection.late_segments,
        connection.acked_bytes,
        connection.mss_seen.into(),
    ];
    let ends = format!("{local} <- {peer}");
    std::iter::once(ends).chain(numbers.map(|number| number.to_string())).collect()
}
