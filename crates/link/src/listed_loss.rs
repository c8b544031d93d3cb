//! Loss by ordinals, such as the third segment of a flow or its first retransmission.

use crate::config::ListedLossConfig;
use crate::frame::{Flow, Frame, TcpData};
use std::collections::HashMap;
use windlass_tcp::SeqNumber;

/// Bounds the memory: further flows are not counted and lose no packets.
const FLOWS_MAX: usize = 65_536;

/// Counts the data segments of each flow. A segment, of TCP or of TCP over UDP, is a retransmission if
/// all of its payload has been seen on this path before; pure ACKs, SYN and FIN without payload do
/// not count. Packets of other protocols are all first transmissions.
#[derive(Clone, Debug)]
pub(crate) struct ListedLoss {
    config: ListedLossConfig,
    flows: HashMap<Flow, Counts>,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    first: u64,
    again: u64,
    /// The highest sequence number of a TCP flow so far.
    seen_to: Option<SeqNumber>,
}

impl ListedLoss {
    pub(crate) fn new(config: ListedLossConfig) -> ListedLoss {
        ListedLoss { config, flows: HashMap::new() }
    }

    pub(crate) fn takes(&mut self, frame: &Frame) -> bool {
        let Some(flow) = frame.flow() else { return false };
        let carries_nothing = match frame.tcp_data() {
            Some(data) => data.len == 0,
            None => flow.is_tcp(),
        };
        if carries_nothing {
            return false;
        }
        if self.flows.len() >= FLOWS_MAX && !self.flows.contains_key(&flow) {
            return false;
        }
        let counts = self.flows.entry(flow).or_default();
        if counts.is_retransmission(frame.tcp_data()) {
            counts.again += 1;
            self.config.retransmissions.contains(&counts.again)
        } else {
            counts.first += 1;
            self.config.first.contains(&counts.first)
        }
    }
}

impl Counts {
    fn is_retransmission(&mut self, data: Option<TcpData>) -> bool {
        let Some(TcpData { seq, len }) = data else { return false };
        let end = SeqNumber(seq.0.wrapping_add(len));
        let advances = self.seen_to.is_none_or(|seen_to| seen_to.is_before(end));
        if advances {
            self.seen_to = Some(end);
        }
        !advances
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests::{tcp, tou, udp};

    fn losses(config: ListedLossConfig, frames: &[Frame]) -> Vec<bool> {
        let mut listed = ListedLoss::new(config);
        frames.iter().map(|frame| listed.takes(frame)).collect()
    }

    /// The same flow on the same path meets the same losses, whatever carries it.
    #[test]
    fn the_second_segment_and_its_first_retransmission_are_lost() {
        for segment in [tcp, tou] {
            let config = ListedLossConfig { first: vec![2], retransmissions: vec![1] };
            let frames = [
                segment(1, 1000, 0),
                segment(1, 1000, 100),
                segment(1, 1100, 100),
                segment(1, 1200, 100),
                segment(1, 1100, 100),
                segment(1, 1100, 100),
                segment(1, 1300, 100),
            ];
            let lost = [false, false, true, false, true, false, false];
            assert_eq!(losses(config, &frames), lost);
        }
    }

    #[test]
    fn each_flow_is_counted_by_itself_and_across_the_wrap() {
        let config = ListedLossConfig { first: vec![2], retransmissions: vec![] };
        let before_wrap = u32::MAX - 49;
        let frames = [
            tcp(1, before_wrap, 100),
            tcp(2, 0, 100),
            tcp(1, 50, 100),
            tcp(1, before_wrap, 100),
            tcp(2, 100, 100),
        ];
        assert_eq!(losses(config, &frames), [false, false, true, false, true]);
    }

    #[test]
    fn datagrams_are_first_transmissions() {
        let config = ListedLossConfig { first: vec![1, 3], retransmissions: vec![1] };
        let frames = [udp(7), udp(7), udp(7), udp(8)];
        assert_eq!(losses(config, &frames), [true, false, true, true]);
    }
}
