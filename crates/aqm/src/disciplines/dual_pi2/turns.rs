//! The weighted round robin between DualPI2's two queues, as in Linux: RFC 9332 §4.2.2 asks that low-latency
//! traffic cannot starve the rest.

/// One of the two queues.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Low,
    Classic,
}

/// Decides which queue sends next, by a credit of the classic queue: bytes times a weight in thousandths.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    credit: i64,
    initial: i64,
    classic_weight: i64,
    low_weight: i64,
}

const WHOLE: i64 = 1000;

impl Turns {
    /// The classic queue has a share of at least `classic_share` while both wait.
    pub(super) fn new(classic_share: f64, mtu_bytes: u32) -> Turns {
        let classic_weight = libm::round(classic_share * WHOLE as f64) as i64;
        let low_weight = WHOLE - classic_weight;
        let initial = i64::from(mtu_bytes) * (classic_weight - low_weight);
        Turns { credit: initial, initial, classic_weight, low_weight }
    }

    /// The queue whose turn it is, if one of `waits`: low latency and classic.
    pub(super) fn next(&self, waits: (bool, bool)) -> Option<Lane> {
        match waits {
            (false, false) => None,
            (true, false) => Some(Lane::Low),
            (false, true) => Some(Lane::Classic),
            (true, true) if self.credit <= 0 => Some(Lane::Low),
            (true, true) => Some(Lane::Classic),
        }
    }

    /// How a packet that leaves changes the credit. It does not where the other queue has nothing to send.
    pub(super) fn change(&self, lane: Lane, waits: (bool, bool), bytes: u32) -> i64 {
        match (lane, waits) {
            (Lane::Low, (true, true)) => self.classic_weight * i64::from(bytes),
            (Lane::Classic, (true, true)) => -self.low_weight * i64::from(bytes),
            _ => 0,
        }
    }

    pub(super) fn add(&mut self, change: i64) {
        self.credit += change;
    }

    /// Both queues are empty.
    pub(super) fn reset(&mut self) {
        self.credit = self.initial;
    }
}
