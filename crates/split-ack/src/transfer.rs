//! The course of a connection: rounds, duration, rate.

use crate::reader::Reader;
use serde::Serialize;

/// Rounds that are kept apart (`ROUNDS_MAX` of bpf/tables.h).
pub const ROUNDS_MAX: usize = 16;

/// `struct transfer`.
pub(crate) const TRANSFER_BYTES: usize = 64 + 24 * (ROUNDS_MAX + 1);

/// The course of a connection, of the last one if several had the same ends.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transfer {
    /// When its first segment passed, in nanoseconds of CLOCK_MONOTONIC.
    #[serde(skip)]
    pub began_ns: u64,
    /// From the first segment, which is the first SYN, to the last one with new data, in seconds.
    /// `None` if no data arrived.
    pub duration_s: Option<f64>,
    /// The data received, each byte once.
    pub bytes: u64,
    /// These bytes over the duration. `None` if no data arrived.
    pub bit_per_s: Option<f64>,
    /// The smallest round-trip time of segments that this end sent. `None` without a sample; then all
    /// data counts as the first round.
    pub rtt_ms: Option<f64>,
    /// The first [`ROUNDS_MAX`] rounds.
    pub rounds: Vec<Round>,
    /// The sum of all later rounds, if there are any.
    pub later_rounds: Option<LaterRounds>,
}

/// A round: the data that arrives from the first answer to the ACKs of the previous round until the first
/// answer to this round's own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Round {
    /// From the first segment of the connection to the first data of the round.
    pub at_ms: f64,
    /// Segments with data, new or not.
    pub packets: u32,
    /// The data in them, in bytes.
    pub bytes: u64,
    /// ACKs of new data sent in this round; each part of a split ACK counts.
    pub acks: u32,
}

/// The sum of the rounds that are not kept apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaterRounds {
    /// How many they are.
    pub count: u32,
    /// The sum of them; `at_ms` is that of the first.
    #[serde(flatten)]
    pub sum: Round,
}

impl Transfer {
    /// From `struct transfer`; `None` if it has another size.
    pub(crate) fn read(value: &[u8]) -> Option<Transfer> {
        let mut value = Reader::new(value, TRANSFER_BYTES)?;
        let (began_ns, last_ns, rtt_ns) = (value.u64()?, value.u64()?, value.u64()?);
        // The state of the programs.
        value.array::<16>()?;
        let bytes = value.u64()?;
        value.array::<12>()?;
        let count = value.u32()?;
        let kept = (count as usize).min(ROUNDS_MAX);
        let mut all = (0..=ROUNDS_MAX).map(|_| Round::read(&mut value, began_ns));
        let rounds = all.by_ref().take(ROUNDS_MAX).collect::<Option<Vec<Round>>>()?;
        let rest = all.next().flatten()?;
        let later = count.saturating_sub(kept as u32);
        let duration_s = (last_ns > 0).then(|| seconds(last_ns.saturating_sub(began_ns)));
        let bit_per_s = |duration_s| (duration_s > 0.0).then(|| bytes as f64 * 8.0 / duration_s);
        Some(Transfer {
            began_ns,
            duration_s,
            bytes,
            bit_per_s: duration_s.and_then(bit_per_s),
            rtt_ms: (rtt_ns > 0).then(|| seconds(rtt_ns) * 1e3),
            rounds: rounds.into_iter().take(kept).collect(),
            later_rounds: (later > 0).then_some(LaterRounds { count: later, sum: rest }),
        })
    }
}

impl Round {
    fn read(value: &mut Reader<'_>, connection_began_ns: u64) -> Option<Round> {
        let began_ns = value.u64()?;
        let bytes = value.u64()?;
        let (packets, acks) = (value.u32()?, value.u32()?);
        let at_ms = seconds(began_ns.saturating_sub(connection_began_ns)) * 1e3;
        Some(Round { at_ms, packets, bytes, acks })
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `struct transfer` with `count` rounds of 10, 11, ... bytes and 1, 2, ... packets.
    fn value(count: u32) -> Vec<u8> {
        let mut bytes: Vec<u8> = [1_000_000_000_u64, 3_000_000_000, 80_500_000, 0, 0, 250_000]
            .iter()
            .flat_map(|number| number.to_ne_bytes())
            .collect();
        bytes.extend([0_u32, 0, 1, count].iter().flat_map(|number| number.to_ne_bytes()));
        for i in 0..=ROUNDS_MAX as u64 {
            let began_ns = 1_000_000_000 + (i + 1) * 100_000_000;
            bytes.extend([began_ns, 10 + i].iter().flat_map(|number| number.to_ne_bytes()));
            bytes.extend([1 + i as u32, 7].iter().flat_map(|number| number.to_ne_bytes()));
        }
        bytes
    }

    #[test]
    fn a_transfer_has_its_duration_and_rate_and_the_rounds_so_far() {
        let transfer = Transfer::read(&value(2)).expect("whole");
        assert_eq!(transfer.duration_s, Some(2.0));
        assert_eq!(transfer.bit_per_s, Some(1_000_000.0));
        assert_eq!(transfer.rtt_ms, Some(80.5));
        let second = Round { at_ms: 200.0, packets: 2, bytes: 11, acks: 7 };
        assert_eq!((transfer.rounds.len(), &transfer.rounds[1]), (2, &second));
        assert_eq!(transfer.later_rounds, None);
        assert_eq!(Transfer::read(&value(2)[1..]), None);
    }

    #[test]
    fn rounds_beyond_the_last_one_kept_are_a_sum() {
        let transfer = Transfer::read(&value(40)).expect("whole");
        assert_eq!(transfer.rounds.len(), ROUNDS_MAX);
        let sum = Round { at_ms: 1700.0, packets: 17, bytes: 26, acks: 7 };
        assert_eq!(transfer.later_rounds, Some(LaterRounds { count: 24, sum }));
    }
}
