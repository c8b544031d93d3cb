//! Which connection of the baseline corresponds to which of the measured run, and their ratios.

use serde::Serialize;
use windlass_split_ack::{Connection, Transfer};

/// Two connections that correspond to each other.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Pair {
    /// The place in the baseline's list of connections.
    pub baseline: usize,
    /// The place in the measured run's list.
    pub split: usize,
    /// The measured duration over the baseline's. `None` if one of them received no data.
    pub duration_ratio: Option<f64>,
    /// The measured rate over the baseline's.
    pub rate_ratio: Option<f64>,
}

/// Ways in which connections correspond, the best first: the same server; a server of the same service, as
/// a name may have several addresses; the same service of the command.
const ALIKE: [fn(&Connection, &Connection) -> bool; 3] =
    [|a, b| a.peer == b.peer, |a, b| a.peer.port() == b.peer.port(), |a, b| a.local == b.local];

/// Pairs connections that are alike, each in the order in which they began.
pub(super) fn pairs(baseline: &[Connection], split: &[Connection]) -> Vec<Pair> {
    let (mut before, mut after) = (in_order(baseline), in_order(split));
    let mut found = Vec::new();
    for alike in ALIKE {
        after.retain(|&i| {
            let position = before.iter().position(|&j| alike(&baseline[j], &split[i]));
            let partner = position.map(|position| before.remove(position));
            found.extend(partner.map(|j| (j, i)));
            partner.is_none()
        });
    }
    found.sort_by_key(|(_, i)| began_ns(&split[*i]));
    found.into_iter().map(|(j, i)| pair(baseline, split, j, i)).collect()
}

fn in_order(connections: &[Connection]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..connections.len()).collect();
    places.sort_by_key(|i| began_ns(&connections[*i]));
    places
}

fn began_ns(connection: &Connection) -> Option<u64> {
    connection.transfer.as_ref().map(|transfer| transfer.began_ns)
}

fn pair(baseline: &[Connection], split: &[Connection], j: usize, i: usize) -> Pair {
    let (before, after) = (&baseline[j].transfer, &split[i].transfer);
    let over = |figure: fn(&Transfer) -> Option<f64>| {
        ratio(after.as_ref().and_then(figure)?, before.as_ref().and_then(figure)?)
    };
    Pair {
        baseline: j,
        split: i,
        duration_ratio: over(|transfer| transfer.duration_s),
        rate_ratio: over(|transfer| transfer.bit_per_s),
    }
}

/// `after / before`, if that is a number.
pub(super) fn ratio(after: f64, before: f64) -> Option<f64> {
    (before > 0.0).then(|| after / before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    fn connection(local: &str, peer: &str, began_ns: u64) -> Connection {
        let end = |text: &str| text.parse::<SocketAddr>().expect("an address and a port");
        let transfer = Transfer {
            began_ns,
            duration_s: Some(began_ns as f64),
            bytes: 0,
            bit_per_s: None,
            rtt_ms: None,
            rounds: Vec::new(),
            later_rounds: None,
        };
        Connection {
            local: end(local),
            peer: end(peer),
            acks_split: 0,
            acks_sent: 0,
            acks_lost: 0,
            acks_with_sack: 0,
            acks_with_data: 0,
            segments: 0,
            packets: 0,
            data_segments: 0,
            late_segments: 0,
            bytes: 0,
            acked_bytes: 0,
            mss_seen: 0,
            connections: 1,
            transfer: Some(transfer),
        }
    }

    #[test]
    fn connections_to_a_server_pair_in_the_order_in_which_they_began() {
        let baseline = [
            connection("10.0.0.1:9", "10.0.0.2:80", 10),
            connection("10.0.0.1:8", "10.0.0.2:80", 20),
            connection("10.0.0.1:7", "10.0.0.3:80", 5),
        ];
        let split = [
            connection("10.0.0.1:1", "10.0.0.2:80", 40),
            connection("10.0.0.1:2", "10.0.0.2:80", 30),
        ];
        let pairs = pairs(&baseline, &split);
        let places: Vec<_> = pairs.iter().map(|pair| (pair.baseline, pair.split)).collect();
        assert_eq!(places, [(0, 1), (1, 0)]);
        assert_eq!((pairs[0].duration_ratio, pairs[0].rate_ratio), (Some(3.0), None));
    }

    #[test]
    fn another_address_of_the_service_and_another_client_of_the_command_pair_too() {
        let baseline = [
            connection("10.0.0.1:443", "10.0.0.7:5000", 1),
            connection("10.0.0.1:9", "10.0.0.2:80", 2),
        ];
        let split = [
            connection("10.0.0.1:443", "10.0.0.7:5001", 3),
            connection("10.0.0.1:8", "10.0.0.3:80", 4),
            connection("10.0.0.1:7", "10.0.0.3:25", 5),
        ];
        let places: Vec<_> =
            pairs(&baseline, &split).iter().map(|pair| (pair.baseline, pair.split)).collect();
        assert_eq!(places, [(0, 0), (1, 1)]);
    }
}
