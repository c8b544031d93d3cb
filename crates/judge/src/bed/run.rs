//! How time passes on a bed.

use super::{Bed, Fate, PAYLOAD, Packet, Traffic, link};
use windlass_base::{Span, Time};

/// One thing that happens next.
#[derive(Copy, Clone)]
enum Next {
    LeaveLink,
    Arrive,
    ArriveBack,
    Write,
    WakeSender,
    WakeReceiver,
}

impl Bed {
    /// Runs until the condition holds after an event, before the sender reacts by sending. A sender with timers of its
    /// own shows their expiry only by packets: it is looked at after those. False if it does not hold within `limit`.
    pub(crate) fn run_until(&mut self, limit: Span, mut holds: impl FnMut(&Bed) -> bool) -> bool {
        self.drive(limit, &mut holds)
    }

    /// Apart, so that the loop is not compiled anew for each condition.
    fn drive(&mut self, limit: Span, holds: &mut dyn FnMut(&Bed) -> bool) -> bool {
        let end = self.now + limit;
        // The program may have changed the application.
        self.transmit();
        loop {
            let next = self.next().map(|(at, _)| at).filter(|at| *at <= end);
            self.now = self.now.max(self.sender.wait(next.unwrap_or(end)));
            let worked = self.work(end);
            let found = worked && holds(self);
            let has_sent = self.transmit();
            if found || !worked && has_sent && holds(self) {
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

    /// The earliest; of those at one time the first of this list.
    fn next(&self) -> Option<(Time, Next)> {
        let writes = matches!(self.traffic, Traffic::PerMillisecond(_));
        [
            (self.link.free_at, Next::LeaveLink),
            (self.there.keys().next().map(|key| key.0), Next::Arrive),
            (self.back.keys().next().map(|key| key.0), Next::ArriveBack),
            (writes.then_some(self.next_write), Next::Write),
            (self.sender.wakes_at(), Next::WakeSender),
            (self.receiver.poll_timeout(), Next::WakeReceiver),
        ]
        .into_iter()
        .filter_map(|(at, next)| Some((at?, next)))
        .min_by_key(|(at, _)| *at)
    }

    /// Does one thing that is due by `end`; false if nothing is. In real time it may be due since a while: what follows
    /// from it on the path counts from `due`, so that the path is no slower than it should be. On a machine that is too
    /// slow for the path something is always due: `end` bounds what is done.
    fn work(&mut self, end: Time) -> bool {
        let now = self.now;
        let Some((at, next)) = self.next().filter(|(at, _)| *at <= now.min(end)) else {
            self.due = now;
            return false;
        };
        self.due = at;
        match next {
            Next::LeaveLink => self.leave_link(),
            Next::Arrive => self.arrive(),
            Next::ArriveBack => {
                if let Some((_, packet)) = self.back.pop_first() {
                    self.deliver_back(packet);
                }
            }
            Next::Write => self.write_regularly(),
            Next::WakeSender => self.sender.wake(now),
            Next::WakeReceiver => self.receiver.handle_timeout(now, &mut ()),
        }
        true
    }

    fn write_regularly(&mut self) {
        self.next_write = self.due + Span::from_millis(1);
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

    /// Returns whether the sender sent something.
    pub(super) fn transmit(&mut self) -> bool {
        if matches!(self.traffic, Traffic::Bulk) {
            self.top_up();
        }
        if !matches!(self.traffic, Traffic::PerMillisecond(_)) {
            self.next_write = self.now;
        }
        let mut packets = std::mem::take(&mut self.outgoing);
        self.sender.transmit(self.now, &mut packets);
        let has_sent = !packets.is_empty();
        for packet in packets.drain(..) {
            self.send(packet);
        }
        self.outgoing = packets;
        while let Some(run) = self.receiver.poll_transmit(self.now, 4, &mut ()) {
            run.segments().for_each(|segment| self.answer(Packet { segment, ecn: run.ecn }));
        }
        has_sent
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
        let Some((packet, late)) = self.link.leave(self.due, &self.path) else { return };
        let mut at = self.due + self.path.one_way() + late;
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
        let mut at = self.due + self.path.one_way();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Engine;
    use crate::bed::Path;
    use crate::subject::{Sender, Setup, Subject};
    use std::sync::Arc;
    use windlass_tcp::cc::NewReno;

    /// The engine on a machine on which each event takes a millisecond.
    struct Slow;

    #[derive(Debug)]
    struct SlowSender {
        engine: Box<dyn Sender>,
        clock: Time,
    }

    impl Subject for Slow {
        fn name(&self) -> String {
            "slow".to_owned()
        }

        fn controller(&self) -> String {
            "newreno".to_owned()
        }

        fn open(&self, setup: &Setup, now: Time) -> Result<Box<dyn Sender>, String> {
            let engine = Engine::new(Arc::new(NewReno)).open(setup, now)?;
            Ok(Box::new(SlowSender { engine, clock: now }))
        }
    }

    impl Sender for SlowSender {
        fn receive(&mut self, now: Time, packet: &Packet) {
            self.engine.receive(now, packet);
        }

        fn wake(&mut self, now: Time) {
            self.engine.wake(now);
        }

        fn wakes_at(&self) -> Option<Time> {
            self.engine.wakes_at()
        }

        fn transmit(&mut self, now: Time, packets: &mut Vec<Packet>) {
            self.engine.transmit(now, packets);
        }

        fn write(&mut self, bytes: u64) -> u64 {
            self.engine.write(bytes)
        }

        fn close(&mut self, now: Time) {
            self.engine.close(now);
        }

        fn wait(&mut self, until: Time) -> Time {
            self.clock = until.max(self.clock + Span::from_millis(1));
            self.clock
        }

        fn variable(&self, name: &str) -> Option<f64> {
            self.engine.variable(name)
        }
    }

    /// The path carries four packets in a millisecond.
    #[test]
    fn a_machine_that_is_too_slow_for_the_path_comes_to_an_end() {
        let path = Path { mbit_per_s: 48.0, rtt_ms: 20, queue_bdp: 4.0 };
        let mut bed = Bed::new(&Slow, Setup::DEFAULT, path, Traffic::Bulk).expect("opens");
        let end = bed.now + Span::from_secs(2);
        bed.run_for(Span::from_secs(2));
        assert!(bed.sent_packets() > 100, "{} packets", bed.sent_packets());
        assert!(bed.next().is_some_and(|(due, _)| due > end), "all that was due is done");
    }
}
