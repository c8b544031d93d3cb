//! FQ-CoDel (RFC 8290): deficit round robin over flows, new flows first, with CoDel in each.

use super::codel::{CoDelParams, Control, Source};
use crate::error::check_positive;
use crate::fifo::Fifo;
use crate::stamped::Stamped;
use crate::{ConfigError, DropReason, Packet, Queue, Stats};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use windlass_base::{Rng, Time};

/// The most buckets, as of Linux's fq_codel. They are in memory from the beginning.
const FLOWS_MAX: u32 = 65_536;

/// Settings of [`FqCoDel`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct FqCoDelConfig {
    /// The most packets that may wait in all flows together. Default: 10,240 (RFC 8290 §5.2.3).
    pub limit_packets: u32,
    /// The most bytes on the wire that may wait in all flows together. Default: 32 MiB, as Linux.
    pub limit_bytes: u64,
    /// Number of buckets that flows are hashed into. Default: 1024 (RFC 8290 §5.2.5).
    pub flows: u32,
    /// Bytes that a flow may send in its turn. Default: 1514 (RFC 8290 §5.2.4).
    pub quantum_bytes: u32,
    /// The most packets dropped at once above a limit; never more than half of the longest flow's bytes,
    /// rounded up to a packet. Default: 64 (RFC 8290 §4.1).
    pub drop_batch: u32,
    /// Changes which flows share a bucket. Default: 0; a host exposed to others draws it.
    pub perturbation: u64,
    /// CoDel's settings within each flow. Its guard of one packet looks at the flow's own bytes.
    pub codel: CoDelParams,
}

impl Default for FqCoDelConfig {
    fn default() -> Self {
        FqCoDelConfig {
            limit_packets: 10_240,
            limit_bytes: 32 << 20,
            flows: 1024,
            quantum_bytes: 1514,
            drop_batch: 64,
            perturbation: 0,
            codel: CoDelParams::default(),
        }
    }
}

impl FqCoDelConfig {
    /// Checks that limits, counts and spans are above zero.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.limit_packets == 0 || self.limit_bytes == 0 {
            return Err(ConfigError::ZeroLimit);
        }
        check_positive(f64::from(self.flows), "the number of flows")?;
        if self.flows > FLOWS_MAX {
            return Err(ConfigError::TooMany("the number of flows", FLOWS_MAX));
        }
        check_positive(f64::from(self.quantum_bytes), "the quantum")?;
        check_positive(f64::from(self.drop_batch), "the drop batch")?;
        self.codel.validate()
    }

    /// Whether it may mark ECN-capable packets.
    pub(crate) fn can_mark(&self) -> bool {
        self.codel.ecn
    }
}

/// The FQ-CoDel queue. Order is kept within a flow, not between flows.
#[derive(Clone, Debug)]
pub struct FqCoDel<P> {
    config: FqCoDelConfig,
    flows: Vec<Flow<P>>,
    /// Flows that became active recently; served before `old_flows`.
    new_flows: VecDeque<u32>,
    old_flows: VecDeque<u32>,
    packets: usize,
    bytes: u64,
    stats: Stats,
}

#[derive(Clone, Debug)]
struct Flow<P> {
    fifo: Fifo<Stamped<P>>,
    control: Control,
    /// Bytes that the flow may still send in its turn.
    deficit: i64,
    /// On one of the two lists; it may have become empty there.
    listed: bool,
}

impl<P: Packet> FqCoDel<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn new(config: FqCoDelConfig) -> Result<FqCoDel<P>, ConfigError> {
        config.validate()?;
        let flow =
            || Flow { fifo: Fifo::new(), control: Control::default(), deficit: 0, listed: false };
        Ok(FqCoDel {
            config,
            flows: (0..config.flows).map(|_| flow()).collect(),
            new_flows: VecDeque::new(),
            old_flows: VecDeque::new(),
            packets: 0,
            bytes: 0,
            stats: Stats::default(),
        })
    }

    fn bucket(&self, packet: &P) -> u32 {
        // RFC 8290 §4.1: the flow's hash chooses its queue.
        let hash = spread(packet.flow_hash() ^ spread(self.config.perturbation));
        ((u128::from(hash) * u128::from(self.config.flows)) >> 64) as u32
    }

    fn is_over_limit(&self) -> bool {
        self.packets > self.config.limit_packets as usize || self.bytes > self.config.limit_bytes
    }

    /// Drops from the head of the flow with the most waiting bytes (RFC 8290 §4.1).
    fn shed(&mut self, dropped: &mut impl FnMut(P, DropReason)) {
        // `max_by_key` takes the last of equals: reversed, ties go to the first bucket.
        let weight = |flow: &&mut Flow<P>| (flow.fifo.bytes(), flow.fifo.len());
        let Some(fattest) = self.flows.iter_mut().rev().max_by_key(weight) else { return };
        // RFC 8290 §4.1: up to half of its bytes, in a batch.
        let keep = fattest.fifo.bytes() / 2;
        for _ in 0..self.config.drop_batch {
            let Some(victim) = fattest.fifo.pop() else { break };
            self.packets -= 1;
            self.bytes -= u64::from(victim.wire_bytes());
            self.stats.lose(victim.packet, DropReason::Full, dropped);
            if fattest.fifo.bytes() <= keep {
                break;
            }
        }
    }

    /// The list whose turn it is and its first flow.
    fn next_in_turn(&self) -> Option<(u32, bool)> {
        let new = self.new_flows.front().map(|&index| (index, true));
        new.or_else(|| self.old_flows.front().map(|&index| (index, false)))
    }

    fn take_off_list(&mut self, was_new: bool) {
        if was_new {
            self.new_flows.pop_front();
        } else {
            self.old_flows.pop_front();
        }
    }

    fn take_from(
        &mut self,
        index: u32,
        now: Time,
        dropped: &mut impl FnMut(P, DropReason),
    ) -> Option<P> {
        let flow = &mut self.flows[index as usize];
        let (packets, bytes) = (flow.fifo.len(), flow.fifo.bytes());
        let mut source = Source {
            params: &self.config.codel,
            fifo: &mut flow.fifo,
            stats: &mut self.stats,
            dropped,
        };
        let packet = flow.control.dequeue(now, &mut source);
        self.packets -= packets - flow.fifo.len();
        self.bytes -= bytes - flow.fifo.bytes();
        // RFC 8290 §4.2: the queue's credits fall by the bytes of the packet.
        if let Some(packet) = &packet {
            flow.deficit -= i64::from(packet.wire_bytes());
        }
        packet
    }
}

/// Spreads a hash over all its bits (the finaliser of SplitMix64).
fn spread(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

impl<P: Packet> Queue<P> for FqCoDel<P> {
    fn enqueue(
        &mut self,
        now: Time,
        packet: P,
        _rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) {
        self.stats.offer(&packet);
        let index = self.bucket(&packet);
        self.packets += 1;
        self.bytes += u64::from(packet.wire_bytes());
        let flow = &mut self.flows[index as usize];
        flow.fifo.push(Stamped { packet, arrived: now });
        // RFC 8290 §4.1: a queue that becomes active joins the new ones, with a quantum.
        if !flow.listed {
            flow.listed = true;
            flow.deficit = i64::from(self.config.quantum_bytes);
            self.new_flows.push_back(index);
        }
        while self.is_over_limit() {
            self.shed(dropped);
        }
    }

    fn dequeue(
        &mut self,
        now: Time,
        _rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) -> Option<P> {
        loop {
            let (index, is_new) = self.next_in_turn()?;
            let flow = &mut self.flows[index as usize];
            // RFC 8290 §4.2: a queue whose quantum is used up goes to the end of the old ones.
            if flow.deficit <= 0 {
                flow.deficit += i64::from(self.config.quantum_bytes);
                self.take_off_list(is_new);
                self.old_flows.push_back(index);
            } else if let Some(packet) = self.take_from(index, now, dropped) {
                self.stats.dequeue(&packet);
                return Some(packet);
            } else {
                // A new flow that ran empty goes through the old flows once, or it could starve
                // them by coming back at once (RFC 8290 §4.2).
                self.take_off_list(is_new);
                if is_new {
                    self.old_flows.push_back(index);
                } else {
                    self.flows[index as usize].listed = false;
                }
            }
        }
    }

    fn len_packets(&self) -> usize {
        self.packets
    }

    fn len_bytes(&self) -> u64 {
        self.bytes
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }
}
