//! A burst: packets that the server sends at once, because the receive window opens for as many of them.
//!
//! The first flight is the burst if the server's initial window is as large. Otherwise its congestion
//! window grows first, in flights that are smaller than the burst. Each is acknowledged segment by segment
//! when it has arrived, and the receive window limits the next one. Once the congestion window suffices, the
//! right edge of the receive window stands still: the server sends up to it, and no more. The last ACK
//! then opens the window for the burst.

use super::order::{BurstOrder, PACKETS_AFTER};
use super::report::BurstRun;
use crate::topic::channel::{Arrival, Channel, LastAck, Packet, SETTLE_MAX, SETTLE_MIN};
use crate::topic::run::{Next, Run, Setup};
use crate::topic::{Ending, Report};
use windlass_base::Time;
use windlass_tcp::Segment;

/// More flights than a burst takes: from one packet, doubling, to the largest size.
const FLIGHTS_MAX: u32 = 24;

#[derive(Debug)]
pub(crate) struct Burst {
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
    /// Packets that had arrived before the first retransmission. In a queue the burst is before it, so what
    /// follows is not part of the burst.
    whole: Option<usize>,
    found: Option<BurstRun>,
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
    pub(crate) fn new(order: BurstOrder) -> Burst {
        Burst {
            order,
            step: Step::Grow,
            acked: 0,
            from: 0,
            heard: 0,
            edge: u64::from(order.first_window()),
            slide: 0,
            opened: Time::ZERO,
            first: 0,
            largest: 0,
            window: 0,
            flights: 0,
            whole: None,
            found: None,
        }
    }

    /// Notes the size of a flight.
    fn note_flight(&mut self, packets: u32) {
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

    /// Whether data up to `end` leaves no room for another full packet in the window.
    fn reaches(&self, end: u64, channel: &Channel) -> bool {
        end + u64::from(channel.arrivals.longest()) > self.edge
    }

    /// Acknowledges the first segment of a flight at once. A server that leaves slow start as the
    /// round-trip time rises (HyStart, RFC 9406) takes the least of a flight. The rest is acknowledged
    /// together later, which is no train of ACKs at the rate of the bottleneck.
    fn acknowledge_first(&mut self, channel: &mut Channel) {
        let first = channel.arrivals.segment_ends(self.from, 1).pop();
        let is_due = self.flights > 0 && self.acked == self.from;
        if let Some(first) = first.filter(|_| is_due) {
            self.acknowledge_to(first, channel);
        }
    }

    /// Acknowledges a flight, for growth or for the burst.
    fn grow(&mut self, channel: &mut Channel, together: u64, full: bool) -> Next {
        // Without a gap, the next data would be a retransmission.
        if together < channel.arrivals.end() || self.heard == channel.arrivals.end() {
            return Next::End(Ending::LostBefore);
        }
        if self.flights >= FLIGHTS_MAX {
            return Next::End(Ending::NotReached);
        }
        let packets = self.flight(channel.arrivals.packets()).count() as u32;
        self.note_flight(packets);
        let (wanted, begun) = (self.order.packets, channel.application.answer_has_begun());
        // Linux lets its window grow to twice the largest flight (`tcp_is_cwnd_limited`).
        let edge = if !begun || self.window.min(2 * self.largest) < wanted {
            let most = if self.order.fills { wanted } else { wanted.div_ceil(2) };
            let next = most.min(2 * self.largest).max(1);
            self.slide = u64::from(next * self.order.packet_bytes);
            0
        } else {
            self.slide = 0;
            self.step = if full { Step::Burst } else { Step::Grow };
            let burst = together + u64::from(wanted * self.order.packet_bytes);
            if full { burst } else { self.edge }
        };
        self.acknowledge(channel, together, edge);
        Next::Wait
    }

    /// Acknowledges all segments up to `together`. The last ACK opens the window up to `edge`, or as far as
    /// the others.
    fn acknowledge(&mut self, channel: &mut Channel, together: u64, edge: u64) {
        let mut ends = channel.arrivals.segment_ends(self.acked, usize::MAX);
        ends.pop();
        for end in ends {
            self.acknowledge_to(end, channel);
        }
        self.edge = self.edge.max(edge).max(together + self.slide);
        let (ack, edge) = (channel.seq(together), Some(channel.seq(self.edge)));
        channel.last_ack = Some(LastAck { ack, edge, at: None });
        self.window += u32::from(self.slide > 0);
        self.flights += 1;
        (self.acked, self.from) = (together, together);
        self.heard = channel.arrivals.end();
    }

    /// Acknowledges a segment that ends at `end`.
    fn acknowledge_to(&mut self, end: u64, channel: &mut Channel) {
        self.edge = self.edge.max(end + self.slide);
        let edge = channel.seq(self.edge);
        channel.gate.release_to([channel.seq(end)], edge);
        // Without new packets in flight, not every window grows (RFC 7661).
        self.window += u32::from(self.slide > 0);
        self.acked = end;
    }

    /// Counts the burst. If its last packets did not arrive, the window opens for a few more.
    fn end_burst(&mut self, channel: &mut Channel) -> Next {
        let Some(run) = self.count(channel) else {
            return Next::End(Ending::NotReached);
        };
        let end = self.flight(channel.arrivals.packets()).map(Packet::end).max().unwrap_or(0);
        let is_known = self.reaches(end, channel);
        if is_known || self.whole.is_some() {
            return self.measured(BurstRun { end_known: is_known, ..run });
        }
        let together = channel.arrivals.contiguous_end(self.from);
        let edge = self.edge + u64::from(PACKETS_AFTER * self.order.packet_bytes);
        self.note_flight(run.arrived);
        self.slide = 0;
        self.step = Step::After { run, edge: self.edge, end: channel.arrivals.end() };
        self.acknowledge(channel, together, edge);
        Next::Wait
    }

    /// Counts the packets that are missing at the end of the burst, or goes on with growth if the server
    /// did not send as many as the window took.
    fn end_after(&mut self, channel: &Channel, run: BurstRun, edge: u64, end: u64) -> Next {
        let longest = u64::from(channel.arrivals.longest());
        let next = channel.arrivals.first_from(end, channel.reordering());
        match next.filter(|_| self.whole.is_none()) {
            Some(next) if next + longest > edge => {
                let missing = (next - end).div_ceil(longest.max(1));
                let lost = run.lost + u32::try_from(missing).unwrap_or(u32::MAX);
                self.measured(BurstRun { lost, end_known: true, ..run })
            }
            // No packet is missing: the server sent no more.
            Some(next) if next == end && self.acked == end => {
                self.step = Step::Grow;
                Next::Wait
            }
            Some(_) => Next::End(Ending::LostBefore),
            None => self.measured(run),
        }
    }

    fn measured(&mut self, run: BurstRun) -> Next {
        self.found = Some(run);
        Next::End(Ending::Measured)
    }

    /// The burst as far as its packets show it; `None` without a packet.
    fn count(&self, channel: &Channel) -> Option<BurstRun> {
        let packets: Vec<&Packet> = self.flight(channel.arrivals.packets()).collect();
        let (first, last) = (packets.first()?, packets.last()?);
        let bytes: u64 = packets.iter().map(|packet| u64::from(packet.len)).sum();
        let end = packets.iter().map(|packet| packet.end()).max().unwrap_or(0);
        let missing = (end - self.from).saturating_sub(bytes);
        let longest = u64::from(channel.arrivals.longest().max(1));
        // The request opens the first window.
        let opened = channel.asked.filter(|_| self.flights == 0).unwrap_or(self.opened);
        let since = |at: Time| at.saturating_since(opened).as_millis_f64();
        Some(BurstRun {
            packets: self.order.packets,
            packet_bytes: longest as u32,
            flights_before: self.flights,
            first_window: self.order.first_packets.min(self.order.packets),
            first_flight: if self.flights == 0 { packets.len() as u32 } else { self.first },
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

impl Run for Burst {
    fn setup(&self) -> Setup {
        Setup { first_window: Some(self.order.first_window()), ..Setup::default() }
    }

    fn begin(&mut self, now: Time, channel: &mut Channel, _: &Segment) -> Next {
        // With TLS the handshake comes first.
        if channel.order.tls.is_none() && self.order.first_packets >= self.order.packets {
            self.step = Step::Burst;
        }
        self.opened = now;
        channel.gate.open_to(channel.seq(self.edge));
        Next::Wait
    }

    fn take(&mut self, packet: Packet, channel: &mut Channel) -> Arrival {
        let arrivals = &channel.arrivals;
        let (packets, retransmissions) = (arrivals.packets().len(), arrivals.retransmissions);
        let arrival = channel.take(packet);
        if channel.arrivals.retransmissions > retransmissions {
            self.whole.get_or_insert(packets);
        }
        arrival
    }

    fn handle_last_ack(&mut self, now: Time) {
        self.opened = now;
    }

    fn advance(&mut self, now: Time, channel: &mut Channel) -> Next {
        if channel.last_ack.is_some() {
            return Next::Wait;
        }
        let quiet = self.poll_timeout(channel).is_some_and(|at| now >= at);
        let together = channel.arrivals.contiguous_end(self.from);
        let full = self.reaches(together, channel);
        let lost = self.whole.is_some();
        match self.step.clone() {
            Step::Grow if lost => Next::End(Ending::LostBefore),
            Step::Grow if full || quiet => self.grow(channel, together, full),
            Step::Burst if full || quiet || lost => self.end_burst(channel),
            Step::After { run, edge, end } if quiet || lost => {
                self.end_after(channel, run, edge, end)
            }
            _ if channel.answer_has_ended() => Next::End(channel.answered(Ending::TooShort)),
            Step::Grow => {
                self.acknowledge_first(channel);
                Next::Wait
            }
            _ => Next::Wait,
        }
    }

    /// The time at which the flight counts as complete; `None` before its first packet.
    fn poll_timeout(&self, channel: &Channel) -> Option<Time> {
        if channel.last_ack.is_some() {
            return None;
        }
        let rtt = channel.rtt_or(SETTLE_MAX);
        let settle = (rtt / 2).clamp(SETTLE_MIN, SETTLE_MAX);
        if channel.arrivals.end() > self.heard {
            return channel.arrivals.last_new().map(|at| at.max(self.opened) + settle);
        }
        let is_answered = self.flights > 0 && channel.application.answer_has_begun();
        is_answered.then(|| self.opened + rtt + rtt / 2 + SETTLE_MAX)
    }

    fn deadline(&self, channel: &Channel) -> Time {
        self.opened + channel.order.patience
    }

    fn ending_at_deadline(&self, channel: &Channel) -> Option<Ending> {
        channel.application.answer_has_begun().then_some(Ending::NotReached)
    }

    fn fill(&mut self, _: &Channel, report: &mut Report) {
        report.packets_asked = Some(self.order.packets);
        report.burst = self.found.take();
    }
}
