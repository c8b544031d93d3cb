//! Payload and FIN of a segment: RFC 9293 §3.10.7.4 steps 7 and 8.

use super::trace::Signals;
use super::{Accepted, Connection, Event, State};
use crate::receiver::Arrival;
use crate::{Flags, Segment};
use windlass_base::{Ecn, Time};

impl Connection {
    pub(super) fn deliver(
        &mut self,
        now: Time,
        segment: &Segment,
        start: u64,
        ecn: Ecn,
    ) -> Accepted {
        if segment.payload_len == 0 && !segment.flags.intersects(Flags::SYN | Flags::FIN) {
            return Accepted::default();
        }
        // RFC 3168 §6.1.4: packets without data are Not-ECT, so a mark on one has no echo.
        if segment.payload_len > 0 {
            self.note_ecn(segment, ecn);
        }
        if !self.state.can_receive() {
            // Data after the peer's FIN, or a repeated FIN: acknowledged and discarded.
            self.rx.acks.send_pure_ack_now();
            self.stats.duplicates_received += 1;
            return Accepted::default();
        }
        let accepted = self.take_payload(now, segment, start);
        if segment.flags.contains(Flags::FIN) {
            self.note_fin(start + u64::from(segment.payload_len));
        }
        if self.rx.reassembly.take_fin() {
            self.peer_has_closed(now);
        }
        accepted
    }

    fn note_ecn(&mut self, segment: &Segment, ecn: Ecn) {
        if !self.agreed.ecn {
            return;
        }
        let ce = ecn == Ecn::Ce;
        let cwr = segment.flags.contains(Flags::CWR);
        if !self.rx.echo.is_changed_by(ce, cwr) {
            return;
        }
        if ce {
            self.stats.ce_received += 1;
            self.signals |= Signals::CE;
        }
        if self.rx.echo.changes_with(ce) {
            self.acknowledge_what_came_before();
        }
        let begins = ce && (cwr || !self.rx.echo.lasts());
        self.rx.echo.data(ce, cwr);
        if self.config.acks.marks_at_once {
            self.acknowledge_mark(ce, cwr, begins);
        }
    }

    /// The ACKs that follow CE, which `begins` an echo or not, and CWR.
    fn acknowledge_mark(&mut self, ce: bool, cwr: bool, begins: bool) {
        if begins {
            self.rx.acks.mark();
        }
        if cwr || (ce && !self.rx.acks.follows_marks()) {
            self.rx.acks.send_ack_now();
        }
    }

    /// RFC 8257 §3.2: data before a change of DCTCP.CE is acknowledged with the old state. The data that changes it
    /// is acknowledged at once, too, as in Linux.
    fn acknowledge_what_came_before(&mut self) {
        let nxt = self.rx.reassembly.nxt();
        if self.rx.last_ack_sent < nxt {
            self.rx.acks.acknowledge_first(nxt);
            self.rx.echo.keep_for_one();
        } else {
            self.rx.acks.send_ack_now();
        }
    }

    fn take_payload(&mut self, now: Time, segment: &Segment, start: u64) -> Accepted {
        if self.has_fast_paths()
            && let Some(accepted) = self.take_next_data(now, segment, start)
        {
            return accepted;
        }
        self.take_any_data(now, segment, start)
    }

    /// Takes data at RCV.NXT that lies within the window, while there is neither a gap nor a FIN: all that
    /// [`Connection::take_any_data`] does for it. `None` for other data.
    #[inline(always)]
    pub(super) fn take_next_data(
        &mut self,
        now: Time,
        segment: &Segment,
        start: u64,
    ) -> Option<Accepted> {
        let len = segment.payload_len;
        let end = start + u64::from(len);
        let reassembly = &mut self.rx.reassembly;
        if reassembly.fin().is_some()
            || end > self.rx.window.edge()
            || !reassembly.append(start..end)
        {
            return None;
        }
        let push = segment.flags.contains(Flags::PSH);
        self.rx.acks.data_in_order(now, len, self.agreed.mss, push);
        self.notify_readable();
        self.note_new_data(segment);
        Some(Accepted { stream_offset: start - 1, skip: 0, len })
    }

    #[inline(never)]
    fn take_any_data(&mut self, now: Time, segment: &Segment, start: u64) -> Accepted {
        // RFC 9293 §3.10.7.4: the payload is trimmed to the window.
        let limit = self.rx.reassembly.fin().unwrap_or(u64::MAX).min(self.rx.window.edge());
        let end = (start + u64::from(segment.payload_len)).min(limit);
        let from = start.max(1);
        if from >= end {
            return Accepted::default();
        }
        let before = self.rx.reassembly.nxt();
        let arrival = self.rx.reassembly.insert(from..end);
        let push = segment.flags.contains(Flags::PSH);
        self.schedule_ack(now, arrival, (end - from) as u32, push);
        if self.rx.reassembly.nxt() > before {
            self.notify_readable();
            self.note_new_data(segment);
        }
        match arrival {
            Arrival::Duplicate => {
                self.note_repeated_data();
                self.stats.duplicates_received += 1;
                Accepted::default()
            }
            Arrival::Refused => Accepted::default(),
            _ => {
                // Bytes below RCV.NXT were stored before, and the application may have read them.
                let kept = from.max(before.min(end));
                Accepted {
                    stream_offset: kept - 1,
                    skip: (kept - start) as u32,
                    len: (end - kept) as u32,
                }
            }
        }
    }

    #[inline(always)]
    fn notify_readable(&mut self) {
        if self.rx.discards {
            self.read_available(u64::MAX);
        } else {
            self.events.push(Event::Readable);
        }
    }

    /// Schedules the ACK of a segment. For data in order it may wait; any other data is
    /// acknowledged at once (RFC 5681 §4.2). Duplicate ACKs must be pure ACKs, because the peer
    /// counts them.
    fn schedule_ack(&mut self, now: Time, arrival: Arrival, len: u32, push: bool) {
        match arrival {
            Arrival::InOrder => self.rx.acks.data_in_order(now, len, self.agreed.mss, push),
            Arrival::FilledGap if self.rx.reassembly.has_gap() => self.rx.acks.send_pure_ack_now(),
            Arrival::FilledGap => self.rx.acks.send_ack_now(),
            Arrival::Duplicate => self.rx.acks.duplicate(),
            Arrival::OutOfOrder | Arrival::Refused => self.rx.acks.send_pure_ack_now(),
        }
    }

    fn note_fin(&mut self, position: u64) {
        // A FIN beyond a gap, or beyond data outside the window, waits like data out of order.
        if !self.rx.reassembly.set_fin(position) || position > self.rx.reassembly.nxt() {
            self.rx.acks.send_pure_ack_now();
        }
    }

    fn peer_has_closed(&mut self, now: Time) {
        if self.config.acks.delays_fin && self.state == State::Established {
            self.rx.acks.fin(now);
        } else {
            self.rx.acks.send_ack_now();
        }
        self.events.push(Event::Readable);
        self.events.push(Event::PeerClosed);
        // RFC 9293 §3.10.7.4, eighth: the transitions by the peer's FIN.
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now),
            _ => {}
        }
    }
}
