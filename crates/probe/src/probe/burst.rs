//! A burst: packets that the server sends at once, because the receive window opens for as many of them.
//!
//! The first flight is the burst if the server's initial window is as large. Otherwise its congestion
//! window grows first, in flights that are smaller than the burst. Each is acknowledged segment by segment
//! when it has arrived, and the receive window limits the next one. Once the congestion window suffices, the
//! right edge of the receive window stands still: the server sends up to it, and no more. The last ACK
//! then opens the window for the burst.

use super::report::BurstRun;
use super::{Ending, LastAck, Phase, Probe, SETTLE_MAX, SETTLE_MIN};
use crate::arrivals::Packet;
use windlass_base::Time;
use windlass_tcp::SeqNumber;

/// The task of a burst.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct BurstOrder {
    /// Packets of the burst.
    pub packets: u32,
    /// Packets of the first window: as many as the burst if the server's first flight may be as large.
    pub first_packets: u32,
    /// Whether smaller flights fill the congestion window. Some stacks let it grow only then (RFC 7661).
    /// Otherwise these flights have at most half as many packets as the burst.
    pub fills: bool,
    /// The payload of a full packet, in bytes, as far as it is known.
    pub packet_bytes: u32,
}

/// Packets for which the window opens after a burst, so that their offsets show where the burst ended.
const PACKETS_AFTER: u32 = 2;
/// More flights than a burst takes: from one packet, doubling, to the largest size.
const FLIGHTS_MAX: u32 = 24;

impl BurstOrder {
    /// The receive window that a connection needs, in bytes.
    pub fn window(&self) -> u32 {
        (self.packets + PACKETS_AFTER + 1) * self.packet_bytes
    }

    /// The first window, in bytes.
    pub(super) fn first_window(&self) -> u32 {
        self.first_packets.min(self.packets) * self.packet_bytes
    }
}

/// The phase of a connection that measures a burst.
#[derive(Clone, Debug)]
pub(super) struct Burst {
    order: BurstOrder,
    step: Step,
    /// All segments below this offset are acknowledged.
    acked: u64,
    /// The offset at which the flight begins.
    from: u64,
    /// The end of the data when the window opened.
    heard: u64,
    /// The right edge of the receive window.
    edge: u64,
    /// Bytes beyond each ACK for which the window opens; 0: its right edge stands still.
    slide: u64,
    /// The time of the ACK that opened the window.
    opened: Time,
    /// Packets of the first flight.
    first: u32,
    /// Packets of the largest flight so far.
    largest: u32,
    /// The server's congestion window in packets, if each ACK adds a packet to the first flight.
    window: u32,
    /// Flights before this one.
    flights: u32,
    /// Packets that had arrived before the first retransmission.
    whole: Option<usize>,
}

#[derive(Clone, Debug)]
enum Step {
    /// The congestion window has to grow first.
    Grow,
    /// The burst is under way.
    Burst,
    /// The burst is over. Its last packets may be lost: the offset of the next data shows it.
    After {
        run: BurstRun,
        /// The right edge of the window during the burst, and the highest position that arrived of it.
        edge: u64,
        end: u64,
    },
}

impl Burst {
    pub(super) fn new(order: BurstOrder, tls: bool, now: Time) -> Burst {
        Burst {
            order,
            // With TLS the handshake comes first.
            step: if tls || order.first_packets < order.packets { Step::Grow } else { Step::Burst },
            acked: 0,
            from: 0,
            heard: 0,
            edge: u64::from(order.first_window()),
            slide: 0,
            opened: now,
            first: 0,
            largest: 0,
            window: 0,
            flights: 0,
            whole: None,
        }
    }

    pub(super) fn opened(&self) -> Time {
        self.opened
    }

    /// To be called when the last ACK of a flight leaves.
    pub(super) fn open(&mut self, now: Time) {
        self.opened = now;
    }

    /// To be called for a retransmission, with the number of packets that arrived before it. In a queue the
    /// burst is before it, so what follows is not part of the burst.
    pub(super) fn close(&mut self, packets: usize) {
        self.whole.get_or_insert(packets);
    }

    /// Takes the size of a flight.
    fn see_flight(&mut self, packets: u32) {
        self.largest = self.largest.max(packets);
        if self.flights == 0 {
            self.first = packets;
            self.window += packets;
        }
    }

    /// The packets of the flight.
    fn flight<'a>(&self, packets: &'a [Packet]) -> impl Iterator<Item = &'a Packet> {
        let until = self.whole.unwrap_or(packets.len());
        let (from, edge) = (self.from, self.edge);
        let is_inside = move |packet: &&Packet| packet.start >= from && packet.start < edge;
        packets[..until].iter().filter(is_inside)
    }
}

impl Probe {
    /// The time at which the flight counts as complete; `None` before its first packet.
    pub(super) fn burst_quiet_at(&self) -> Option<Time> {
        let Phase::Burst(burst) = &self.phase else { return None };
        if self.last_ack.is_some() {
            return None;
        }
        let rtt = self.rtt_or(SETTLE_MAX);
        let settle = (rtt / 2).clamp(SETTLE_MIN, SETTLE_MAX);
        if self.arrivals.end() > burst.heard {
            return self.arrivals.last_new().map(|at| at.max(burst.opened) + settle);
        }
        let is_answered = burst.flights > 0 && self.application.answer_has_begun();
        is_answered.then(|| burst.opened + rtt + rtt / 2 + SETTLE_MAX)
    }

    pub(super) fn advance_burst(&mut self, now: Time) {
        let Phase::Burst(burst) = &self.phase else { return };
        if self.last_ack.is_some() {
            return;
        }
        let burst = burst.clone();
        let quiet = self.burst_quiet_at().is_some_and(|at| now >= at);
        let together = self.arrivals.contiguous_end(burst.from);
        let full = self.reaches(together, &burst);
        match burst.step.clone() {
            Step::Grow if burst.whole.is_some() => self.finish(Ending::LostBefore),
            Step::Grow if full || quiet => self.grow(burst, together, full),
            Step::Burst if full || quiet || burst.whole.is_some() => self.end_burst(burst),
            Step::After { run, edge, end } if quiet || burst.whole.is_some() => {
                self.end_after(burst, run, edge, end);
            }
            _ if self.answer_has_ended() => {
                let nothing = self.application.answer_bytes() == 0;
                self.finish(if nothing { Ending::NoAnswer } else { Ending::TooShort });
            }
            Step::Grow => self.acknowledge_first(burst),
            _ => {}
        }
    }

    /// Whether data up to `end` leaves no room for another full packet in the window.
    fn reaches(&self, end: u64, burst: &Burst) -> bool {
        end + u64::from(self.arrivals.longest()) > burst.edge
    }

    fn seq(&self, offset: u64) -> SeqNumber {
        self.first_byte().at(offset)
    }

    /// Acknowledges the first segment of a flight at once. A server that leaves slow start as the
    /// round-trip time rises (HyStart, RFC 9406) takes the least of a flight. The rest is acknowledged
    /// together later, which is no train of ACKs at the rate of the bottleneck.
    fn acknowledge_first(&mut self, mut burst: Burst) {
        let first = self.arrivals.segment_ends(burst.from, 1).pop();
        let is_due = burst.flights > 0 && burst.acked == burst.from;
        if let Some(first) = first.filter(|_| is_due) {
            self.acknowledge_to(&mut burst, first);
            self.phase = Phase::Burst(burst);
        }
    }

    /// Acknowledges a flight, for growth or for the burst.
    fn grow(&mut self, mut burst: Burst, together: u64, full: bool) {
        // Without a gap, the next data would be a retransmission.
        if together < self.arrivals.end() || burst.heard == self.arrivals.end() {
            return self.finish(Ending::LostBefore);
        }
        if burst.flights >= FLIGHTS_MAX {
            return self.finish(Ending::NotReached);
        }
        let packets = burst.flight(self.arrivals.packets()).count() as u32;
        burst.see_flight(packets);
        let (wanted, begun) = (burst.order.packets, self.application.answer_has_begun());
        // Linux lets its window grow to twice the largest flight (`tcp_is_cwnd_limited`).
        if !begun || burst.window.min(2 * burst.largest) < wanted {
            let most = if burst.order.fills { wanted } else { wanted.div_ceil(2) };
            let next = most.min(2 * burst.largest).max(1);
            burst.slide = u64::from(next * burst.order.packet_bytes);
            return self.acknowledge(burst, together, 0);
        }
        burst.slide = 0;
        let edge = match full {
            true => together + u64::from(wanted * burst.order.packet_bytes),
            false => burst.edge,
        };
        burst.step = if full { Step::Burst } else { Step::Grow };
        self.acknowledge(burst, together, edge);
    }

    /// Acknowledges all segments up to `together`. The last ACK opens the window up to `edge`, or as far as
    /// the others.
    fn acknowledge(&mut self, mut burst: Burst, together: u64, edge: u64) {
        let mut ends = self.arrivals.segment_ends(burst.acked, usize::MAX);
        ends.pop();
        for end in ends {
            self.acknowledge_to(&mut burst, end);
        }
        burst.edge = burst.edge.max(edge).max(together + burst.slide);
        let edge = self.seq(burst.edge);
        self.last_ack = Some(LastAck { ack: self.seq(together), edge: Some(edge), at: None });
        burst.window += u32::from(burst.slide > 0);
        burst.flights += 1;
        (burst.acked, burst.from) = (together, together);
        burst.heard = self.arrivals.end();
        self.phase = Phase::Burst(burst);
    }

    /// Acknowledges a segment that ends at `end`.
    fn acknowledge_to(&mut self, burst: &mut Burst, end: u64) {
        burst.edge = burst.edge.max(end + burst.slide);
        self.gate.release_to([self.seq(end)], self.seq(burst.edge));
        // Without new packets in flight, not every window grows (RFC 7661).
        burst.window += u32::from(burst.slide > 0);
        burst.acked = end;
    }

    /// Counts the burst. If its last packets did not arrive, the window opens for a few more.
    fn end_burst(&mut self, mut burst: Burst) {
        let Some(run) = self.burst_run(&burst) else {
            return self.finish(Ending::NotReached);
        };
        let end = burst.flight(self.arrivals.packets()).map(Packet::end).max().unwrap_or(0);
        let is_known = self.reaches(end, &burst);
        if is_known || burst.whole.is_some() {
            self.burst = Some(BurstRun { end_known: is_known, ..run });
            return self.finish(Ending::Measured);
        }
        let together = self.arrivals.contiguous_end(burst.from);
        let edge = burst.edge + u64::from(PACKETS_AFTER * burst.order.packet_bytes);
        burst.see_flight(run.arrived);
        burst.slide = 0;
        burst.step = Step::After { run, edge: burst.edge, end: self.arrivals.end() };
        self.acknowledge(burst, together, edge);
    }

    /// Counts the packets that are missing at the end of the burst, or goes on with growth if the server
    /// did not send as many as the window took.
    fn end_after(&mut self, mut burst: Burst, run: BurstRun, edge: u64, end: u64) {
        let longest = u64::from(self.arrivals.longest());
        let next = self.arrivals.first_from(end, self.reordering());
        match next.filter(|_| burst.whole.is_none()) {
            Some(next) if next + longest > edge => {
                let missing = (next - end).div_ceil(longest.max(1));
                let lost = run.lost + u32::try_from(missing).unwrap_or(u32::MAX);
                self.burst = Some(BurstRun { lost, end_known: true, ..run });
                self.finish(Ending::Measured);
            }
            // No packet is missing: the server sent no more.
            Some(next) if next == end && burst.acked == end => {
                burst.step = Step::Grow;
                self.phase = Phase::Burst(burst);
            }
            Some(_) => self.finish(Ending::LostBefore),
            None => {
                self.burst = Some(run);
                self.finish(Ending::Measured);
            }
        }
    }

    /// The run as far as its packets show it; `None` without a packet.
    fn burst_run(&self, burst: &Burst) -> Option<BurstRun> {
        let packets: Vec<&Packet> = burst.flight(self.arrivals.packets()).collect();
        let (first, last) = (packets.first()?, packets.last()?);
        let bytes: u64 = packets.iter().map(|packet| u64::from(packet.len)).sum();
        let end = packets.iter().map(|packet| packet.end()).max().unwrap_or(0);
        let missing = (end - burst.from).saturating_sub(bytes);
        let longest = u64::from(self.arrivals.longest().max(1));
        // The request opens the first window.
        let opened = self.asked.filter(|_| burst.flights == 0).unwrap_or(burst.opened);
        let since = |at: Time| at.saturating_since(opened).as_millis_f64();
        Some(BurstRun {
            packets: burst.order.packets,
            packet_bytes: longest as u32,
            flights_before: burst.flights,
            first_window: burst.order.first_packets.min(burst.order.packets),
            first_flight: if burst.flights == 0 { packets.len() as u32 } else { burst.first },
            arrived: packets.len() as u32,
            lost: u32::try_from(missing.div_ceil(longest)).unwrap_or(u32::MAX),
            end_known: false,
            bytes,
            first_bytes: first.len,
            rtt_first_ms: since(first.at),
            rtt_last_ms: since(last.at),
        })
    }
}
