//! How time passes on a bed.

use super::{Bed, Fate, PAYLOAD, Packet, Traffic, link};
use windlass_base::{Span, Time};

impl Bed {
    /// Runs until the condition holds after an event, before the sender reacts by sending. False if it does not hold
    /// within `limit`.
    pub(crate) fn run_until(&mut self, limit: Span, mut holds: impl FnMut(&Bed) -> bool) -> bool {
        let end = self.now + limit;
        // The program may have changed the application.
        self.transmit();
        loop {
            let next = self.next_time().filter(|next| *next <= end);
            self.now = self.now.max(self.sender.wait(next.unwrap_or(end)));
            let worked = self.work();
            let found = worked && holds(self);
            self.transmit();
            if found {
                return true;
            }
            if !worked && self.now >= end {
                return false;
            }
        }
    }

    pub(crate) fn run_for(&mut self, span: Span) {
        self.run_until(span, |_| false);
    }

    fn next_time(&self) -> Option<Time> {
        let writes = matches!(self.traffic, Traffic::PerMillisecond(_));
        [
            self.link.free_at,
            self.there.keys().next().map(|key| key.0),
            self.back.keys().next().map(|key| key.0),
            self.sender.wakes_at(),
            self.receiver.poll_timeout(),
            writes.then_some(self.next_write),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Does one thing that is due; false if nothing is.
    fn work(&mut self) -> bool {
        let now = self.now;
        let is_due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        if is_due(self.link.free_at) {
            self.leave_link();
        } else if is_due(self.there.keys().next().map(|key| key.0)) {
            self.arrive();
        } else if is_due(self.back.keys().next().map(|key| key.0)) {
            if let Some((_, packet)) = self.back.pop_first() {
                self.deliver_back(packet);
            }
        } else if matches!(self.traffic, Traffic::PerMillisecond(_)) && self.next_write <= now {
            self.write_regularly();
        } else if is_due(self.sender.wakes_at()) {
            self.sender.wake(now);
        } else if is_due(self.receiver.poll_timeout()) {
            self.receiver.handle_timeout(now, &mut ());
        } else {
            return false;
        }
        true
    }

    fn write_regularly(&mut self) {
        self.next_write = self.next_write.max(self.now) + Span::from_millis(1);
        if let Traffic::PerMillisecond(bytes) = self.traffic {
            self.written += self.sender.write(bytes);
        }
    }

    /// More than the window can admit at once waits.
    fn top_up(&mut self) {
        let waits = self.written.saturating_sub(self.wire.sent());
        let enough = (self.path.goodput() * 0.012) as u64 + 20 * PAYLOAD + self.wire.flight();
        if waits < enough {
            self.written += self.sender.write(enough - waits);
        }
    }

    pub(super) fn transmit(&mut self) {
        if matches!(self.traffic, Traffic::Bulk) {
            self.top_up();
        }
        let mut packets = std::mem::take(&mut self.outgoing);
        self.sender.transmit(self.now, &mut packets);
        for packet in packets.drain(..) {
            self.send(packet);
        }
        self.outgoing = packets;
        while let Some(run) = self.receiver.poll_transmit(self.now, 4, &mut ()) {
            run.segments().for_each(|segment| self.answer(Packet { segment, ecn: run.ecn }));
        }
    }

    fn send(&mut self, mut packet: Packet) {
        self.sent_packets += 1;
        let again = self.wire.is_resent(&packet);
        self.wire.note_sent(self.now, &packet, self.sender.variable("cwnd"));
        let rule = self.on_data.as_mut().filter(|_| packet.segment.payload_len > 0);
        let fate = rule.map_or(Fate::Pass, |rule| rule(&packet, again));
        let mut late = Span::ZERO;
        match fate {
            Fate::Pass => {}
            Fate::Drop => {
                self.link.dropped += 1;
                return;
            }
            Fate::Mark => link::mark(&mut packet),
            Fate::Late(by) => late = by,
            Fate::Twice => self.link.enter(self.now, (packet, late), &self.path),
        }
        self.link.enter(self.now, (packet, late), &self.path);
    }

    fn leave_link(&mut self) {
        let Some((packet, late)) = self.link.leave(self.now, &self.path) else { return };
        let mut at = self.now + self.path.one_way() + late;
        if self.late.0 > 0 {
            self.late.0 -= 1;
            at += self.late.1;
        }
        self.order += 1;
        self.there.insert((at, self.order), packet);
    }

    fn arrive(&mut self) {
        if let Some((_, packet)) = self.there.pop_first() {
            self.receiver.handle_segment(self.now, &packet.segment, packet.ecn, &mut ());
        }
    }

    fn answer(&mut self, mut packet: Packet) {
        let fate = self.on_acks.as_mut().map_or(Fate::Pass, |rule| rule(&mut packet));
        let mut at = self.now + self.path.one_way();
        if let Some(slot) = self.ack_slot {
            at = Time::from_nanos(at.as_nanos().next_multiple_of(slot.as_nanos()));
        }
        match fate {
            Fate::Pass => {}
            Fate::Drop => return,
            Fate::Mark => link::mark(&mut packet),
            Fate::Late(by) => at += by,
            Fate::Twice => self.send_back(at, packet),
        }
        self.send_back(at, packet);
    }

    fn send_back(&mut self, at: Time, packet: Packet) {
        self.order += 1;
        self.back.insert((at, self.order), packet);
    }

    pub(super) fn deliver_back(&mut self, packet: Packet) {
        self.sender.receive(self.now, &packet);
        self.wire.note_arrived(self.now, &packet, self.sender.variable("cwnd"));
    }
}
