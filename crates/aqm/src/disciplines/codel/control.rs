//! CoDel's decisions at dequeue (RFC 8289 §5), for the one queue of [`CoDel`](super::CoDel) and for
//! each flow of [`FqCoDel`](crate::FqCoDel).

use super::CoDelParams;
use crate::fifo::Fifo;
use crate::stamped::Stamped;
use crate::{DropReason, Packet, Stats};
use windlass_base::Time;

/// CoDel's state for one queue (RFC 8289 §5.2), of which FQ-CoDel has one for each flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Control {
    /// Drops or marks since the dropping state was entered; the next one is due after
    /// `interval / sqrt(count)`.
    count: u32,
    /// `count` as it was when the dropping state was last entered.
    last_count: u32,
    dropping: bool,
    drop_next: Time,
    /// When the waiting time, above target now, will have been so for an interval.
    first_above: Option<Time>,
}

/// A packet that left the queue, and whether CoDel may drop it.
struct Candidate<P> {
    packet: Stamped<P>,
    ok_to_drop: bool,
}

/// Where CoDel takes packets from and where it puts what it drops.
pub(crate) struct Source<'a, P, F> {
    pub(crate) params: &'a CoDelParams,
    pub(crate) fifo: &'a mut Fifo<Stamped<P>>,
    pub(crate) stats: &'a mut Stats,
    pub(crate) dropped: &'a mut F,
}

impl<P: Packet, F: FnMut(P, DropReason)> Source<'_, P, F> {
    fn mark(&mut self, packet: &mut Stamped<P>) -> bool {
        self.params.ecn && self.stats.try_mark(packet)
    }

    fn lose(&mut self, packet: Stamped<P>) {
        self.stats.lose(packet.packet, DropReason::Sojourn, self.dropped);
    }
}

impl Control {
    /// The next packet to send, after what CoDel drops on the way (RFC 8289 §5.5).
    pub(crate) fn dequeue<P: Packet, F: FnMut(P, DropReason)>(
        &mut self,
        now: Time,
        source: &mut Source<'_, P, F>,
    ) -> Option<P> {
        let first = self.take(now, source);
        let chosen = if self.dropping {
            self.go_on_dropping(now, first, source)
        } else {
            self.perhaps_start_dropping(now, first, source)
        };
        chosen.map(|candidate| candidate.packet.packet)
    }

    /// Takes the packet at the head and judges its waiting time (RFC 8289 §5.6).
    fn take<P: Packet, F>(
        &mut self,
        now: Time,
        source: &mut Source<'_, P, F>,
    ) -> Option<Candidate<P>> {
        let Some(packet) = source.fifo.pop() else {
            self.first_above = None;
            return None;
        };
        let params = source.params;
        let sojourn = now.saturating_since(packet.arrived);
        // RFC 8289 §5.6, dodequeue(): below target, or with no more than a packet behind, which the link
        // needs next (MAXPACKET), nothing is dropped.
        if sojourn < params.target || source.fifo.bytes() <= u64::from(params.max_packet_bytes) {
            self.first_above = None;
            return Some(Candidate { packet, ok_to_drop: false });
        }
        // RFC 8289 §5.6, dodequeue(): eligible once the sojourn time is above target for an interval.
        let due = *self.first_above.get_or_insert(now + params.interval);
        Some(Candidate { packet, ok_to_drop: now >= due })
    }

    fn go_on_dropping<P: Packet, F: FnMut(P, DropReason)>(
        &mut self,
        now: Time,
        first: Option<Candidate<P>>,
        source: &mut Source<'_, P, F>,
    ) -> Option<Candidate<P>> {
        let mut head = first;
        loop {
            match head {
                Some(mut candidate) if candidate.ok_to_drop => {
                    // RFC 8289 §5.5: a drop is due at drop_next only.
                    if now < self.drop_next {
                        return Some(candidate);
                    }
                    self.count = self.count.saturating_add(1);
                    // With ECN a mark takes the place of the drop.
                    if source.mark(&mut candidate.packet) {
                        self.drop_next = self.next_after(self.drop_next, source.params);
                        return Some(candidate);
                    }
                    source.lose(candidate.packet);
                    head = self.take(now, source);
                    // The control law sets the next drop while the delay persists (§5.5).
                    if head.as_ref().is_some_and(|next| next.ok_to_drop) {
                        self.drop_next = self.next_after(self.drop_next, source.params);
                    }
                }
                // RFC 8289 §5.5: the sojourn time has fallen below target, or nothing waits.
                other => {
                    self.dropping = false;
                    return other;
                }
            }
        }
    }

    fn perhaps_start_dropping<P: Packet, F: FnMut(P, DropReason)>(
        &mut self,
        now: Time,
        first: Option<Candidate<P>>,
        source: &mut Source<'_, P, F>,
    ) -> Option<Candidate<P>> {
        let mut candidate = match first {
            Some(candidate) if candidate.ok_to_drop => candidate,
            other => return other,
        };
        self.enter_dropping(now, source.params);
        if source.mark(&mut candidate.packet) {
            return Some(candidate);
        }
        source.lose(candidate.packet);
        self.take(now, source)
    }

    /// Starts where the last dropping state left off if that was not long ago (RFC 8289 §5.5).
    fn enter_dropping(&mut self, now: Time, params: &CoDelParams) {
        self.dropping = true;
        // RFC 8289 §5.5: count - lastcount, if that is above 1 and drop_next was within 16 intervals.
        let before = self.count.saturating_sub(self.last_count);
        let recently = now.saturating_since(self.drop_next) < params.interval * 16;
        self.count = if before > 1 && recently { before } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.next_after(now, params);
    }

    /// The control law (RFC 8289 §5.6): each further drop follows sooner.
    fn next_after(&self, time: Time, params: &CoDelParams) -> Time {
        let interval = params.interval.as_nanos() as f64;
        // control_law(): t + interval / sqrt(count).
        time + windlass_base::Span::from_nanos(
            (interval / libm::sqrt(f64::from(self.count))) as u64,
        )
    }
}
