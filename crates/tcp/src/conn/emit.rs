//! Fills in the segments to send and updates the connection's state for them. Each function writes
//! to the caller's [`Run`]: returning runs by value would copy each of them twice.

use super::transmit::Data;
use super::{Connection, Run, State};
use crate::recovery::Flight;
use crate::segment::{AccEcnOption, Flags, Options, SackBlocks, Segment, Timestamps};
use windlass_base::{Ecn, Time};

/// The timestamp clock: milliseconds (RFC 7323 §5.4).
pub(super) fn timestamp(now: Time) -> u32 {
    milliseconds(now) as u32
}

/// The timestamp clock without its wrap.
pub(super) fn milliseconds(now: Time) -> u64 {
    now.as_nanos() / 1_000_000
}

impl Connection {
    /// Fills in a SYN, or a SYN-ACK after the peer's SYN has arrived.
    #[cold]
    pub(super) fn fill_syn(&mut self, now: Time, run: &mut Run) {
        let with_ack = self.state == State::SynReceived;
        let (flags, accecn) = self.syn_flags(with_ack);
        *run = Run::bare(Segment {
            seq: self.tx.isn,
            ack: if with_ack { self.rx.isn.at(1) } else { Default::default() },
            flags,
            window: self.rx.window.syn_field(),
            options: Options { accecn, ..self.syn_options(now, with_ack) },
            payload_len: 0,
        });
        let first_time = self.tx.max == 0;
        (self.tx.nxt, self.tx.max) = (1, 1);
        if first_time {
            self.tx.timing.start(Flight::new(0..1, 1, now));
        }
        self.rx.last_ack_sent = u64::from(with_ack);
        self.arm_retransmit_timer(now);
    }

    /// The flags, and the option of AccECN.
    fn syn_flags(&mut self, with_ack: bool) -> (Flags, Option<AccEcnOption>) {
        // RFC 3168 §6.1.1: an ECN-setup SYN has ECE and CWR, an ECN-setup SYN-ACK ECE alone.
        let (ecn, option) = match with_ack {
            true if self.agreed.ecn => (Flags::ECE, None),
            true => self.accurate_syn_ack(),
            false => (self.flags_of_offer(), None),
        };
        let ack = if with_ack { Flags::ACK } else { Flags::empty() };
        (Flags::SYN | ack | ecn, option)
    }

    /// The options of a SYN, or of a SYN-ACK, which answers only the options that the SYN offered.
    fn syn_options(&self, now: Time, with_ack: bool) -> Options {
        let (config, agreed) = (&self.config, &self.agreed);
        let scaling =
            if with_ack { agreed.scaling.is_some() } else { config.extensions.window_scaling };
        let timestamps = if with_ack { agreed.timestamps } else { config.extensions.timestamps };
        Options {
            // The SYN-ACK is no longer than the SYN: a forged SYN gains no amplification.
            mss: (!with_ack || agreed.mss_announced).then_some(config.mss),
            window_scale: scaling.then(|| crate::receiver::shift_for(config.buffers.receive)),
            sack_permitted: if with_ack { agreed.sack } else { config.extensions.sack },
            timestamps: timestamps.then(|| self.timestamps(now)),
            ..Options::default()
        }
    }

    pub(super) fn timestamps(&self, now: Time) -> Timestamps {
        Timestamps { value: timestamp(now), echo_reply: self.rx.ts_recent.unwrap_or(0) }
    }

    /// As [`Connection::fill_ack`], for callers off the usual path.
    #[inline(never)]
    pub(super) fn fill_ack_apart(&mut self, now: Time, run: &mut Run) {
        self.fill_ack(now, run);
    }

    /// Fills in a pure ACK.
    #[inline(always)]
    pub(super) fn fill_ack(&mut self, now: Time, run: &mut Run) {
        let ack = self.fill_header(now, self.tx.bare_position(), run);
        if self.agreed.sack && self.rx.reassembly.has_sack_news() {
            self.add_sack_blocks(run);
        }
        if self.accurate.is_some() {
            self.complete_accurate_ack(run);
        }
        self.stats.acks_sent += 1;
        self.ack_sent(ack);
    }

    #[inline(never)]
    fn add_sack_blocks(&mut self, run: &mut Run) {
        // Three blocks fit beside timestamps, four without (RFC 2018 §3).
        let max = if self.agreed.timestamps { SackBlocks::MAX - 1 } else { SackBlocks::MAX };
        run.first.options.sack = self.rx.reassembly.sack_blocks(self.rx.isn, max);
    }

    /// Fills in a segment without payload, with the header fields common to all segments of a
    /// synchronised connection. Returns the position that it acknowledges.
    #[inline(always)]
    pub(super) fn fill_header(&mut self, now: Time, position: u64, run: &mut Run) -> u64 {
        let nxt = self.rx.reassembly.nxt();
        let ack = self.rx.acks.next_ack(self.rx.last_ack_sent, nxt);
        let read = self.rx.reassembly.read_position();
        let window = self.rx.window.field(ack, read, self.agreed.mss);
        let echo = if self.rx.echo.take() { Flags::ECE } else { Flags::empty() };
        *run = Run::bare(Segment {
            seq: self.tx.isn.at(position),
            ack: self.rx.isn.at(ack),
            flags: Flags::ACK | echo,
            window,
            options: Options {
                timestamps: self.agreed.timestamps.then(|| self.timestamps(now)),
                ..Options::default()
            },
            payload_len: 0,
        });
        if self.accurate.is_some() {
            self.stamp_ace(run);
        }
        ack
    }

    /// Records that the segment just filled in acknowledges everything before `ack`.
    fn ack_sent(&mut self, ack: u64) {
        self.rx.last_ack_sent = ack;
        self.rx.acks.sent(ack, self.rx.reassembly.nxt());
    }

    /// As [`Connection::fill_data`], for callers off the usual path.
    #[inline(never)]
    pub(super) fn fill_data_apart(&mut self, now: Time, data: Data, run: &mut Run) {
        self.fill_data(now, data, run);
    }

    /// Fills in data, or a bare FIN, at the position that `data` gives.
    #[inline(always)]
    pub(super) fn fill_data(&mut self, now: Time, mut data: Data, run: &mut Run) {
        // An echo for each CE must not be repeated by further segments of the run.
        if self.rx.echo.is_for_one() {
            data.count = 1;
        }
        let ack = self.fill_header(now, data.from, run);
        if self.accurate.is_some() {
            self.add_option_to_data(&mut data, run);
        }
        let first = &mut run.first;
        first.payload_len = data.segment;
        let data_end = data.from + u64::from(data.segment) * u64::from(data.count);
        if data_end == self.tx.written {
            first.flags |= Flags::PSH;
            if self.tx.closed && (data.segment == 0 || data_end < self.tx.edge) {
                first.flags |= Flags::FIN;
            }
        }
        if data.segment == 0 {
            first.flags -= Flags::PSH;
        }
        let retransmission = data.from < self.tx.max;
        // The peer evaluates CWR only on segments with data.
        first.flags |= self.congestion_flags(retransmission || data.segment == 0);
        let end = data_end + u64::from(first.flags.contains(Flags::FIN));
        if self.options.nagle_spares_first && data.segment > 0 {
            self.note_small(data, &run.first);
        }
        self.account_data(now, data, end, retransmission);
        if self.options.push_when_held_back && !retransmission && self.is_held_back_by_cwnd() {
            run.first.flags |= Flags::PSH;
        }
        self.rx.acks.data_out(now);
        self.ack_sent(ack);
        run.count = data.count;
        if data.segment > 0 {
            run.ecn = self.data_codepoint(retransmission);
        }
        run.stream_offset = data.from - 1;
        run.retransmission = retransmission;
    }

    #[cold]
    fn note_usage(&mut self) {
        let full = self.window_in_force() < self.pipe() + u64::from(self.agreed.mss);
        let (flight, una, max) = (self.in_flight(), self.tx.una, self.tx.max);
        self.tx.usage.note(flight, full, una, max);
    }

    /// Records a small segment for Nagle's algorithm. An AccECN option makes a full one smaller.
    #[cold]
    fn note_small(&mut self, data: Data, first: &Segment) {
        let option = first.options.accecn.map_or(0, |option| option.padded_len() as u32);
        if data.segment + option < self.agreed.mss && data.from >= self.tx.max {
            self.tx.small_end = data.from + u64::from(data.segment);
        }
    }

    fn data_codepoint(&self, retransmission: bool) -> Ecn {
        let capable = self.may_send_ect() && !self.pending.ect_unconfirmed;
        // RFC 3168 §6.1.5: a lost retransmission must be seen as a loss.
        let barred = retransmission && !self.config.ecn.on_retransmit && !self.is_ect_throughout();
        if !capable || barred {
            return Ecn::NotEct;
        }
        match self.congestion.ecn_codepoint() {
            Ecn::Ect1 if self.lacks_accurate_ecn() => Ecn::NotEct,
            codepoint => codepoint,
        }
    }

    fn congestion_flags(&mut self, retransmission: bool) -> Flags {
        let mut flags = Flags::empty();
        if self.pending.cwr && (!retransmission || self.config.ecn.on_retransmit) {
            self.pending.cwr = false;
            flags |= Flags::CWR;
        }
        flags
    }

    #[inline(always)]
    fn account_data(&mut self, now: Time, data: Data, end: u64, retransmission: bool) {
        if self.congestion.needs_rates() {
            self.report_sent(now, data.from..end, retransmission);
        }
        if data.segment > 0 {
            self.stats.data_segments_sent += u64::from(data.count);
            let again = if retransmission { data.count } else { 0 };
            self.stats.retransmitted_segments += u64::from(again);
        }
        if retransmission {
            if self.has_rack() && data.from == self.tx.una {
                // RFC 6675 §6 leaves open whether a retransmission restarts the timer; in Linux it
                // does.
                self.extend_retransmit_timer(now);
            }
            self.note_sent_again(now, data.from..end);
            self.note_copy(now, data.from..end);
        } else {
            self.tx.timing.start(Flight::new(data.from..end, data.segment.max(1), now));
        }
        if data.from == self.tx.nxt {
            self.tx.nxt = end;
        }
        self.tx.max = self.tx.max.max(end);
        self.tx.last_sent = now;
        if self.options.validates_by_round {
            self.note_usage();
        }
        // RFC 6298 §5.1: data that is sent starts the timer.
        if !self.timers.retransmit.is_set() {
            self.arm_retransmit_timer(now);
        }
        if self.options.tail_loss_probe {
            self.arm_tail_probe(now);
        }
    }

    /// Fills in a window probe: one byte beyond the window, or the FIN (RFC 9293 §3.8.6.1). The
    /// byte counts as sent, since the peer may accept it, but not as in flight. Into a window that
    /// is small but not closed the sender sends the bytes that fit (the override timeout of
    /// §3.8.6.2.1).
    #[cold]
    pub(super) fn fill_window_probe(&mut self, now: Time, run: &mut Run) {
        let position = self.tx.nxt;
        let unsent = self.tx.written - position;
        let small = unsent.min(self.tx.window_left()).min(u64::from(self.agreed.mss)) as u32;
        if small > 0 {
            return self.fill_data_apart(now, Data::one(position, small), run);
        }
        let fin = unsent == 0;
        // RFC 9293 §3.8.6.1: the probe is an octet of new data, or the FIN.
        let ack = self.fill_header(now, position, run);
        run.first.payload_len = u32::from(!fin);
        if fin {
            run.first.flags |= Flags::FIN;
        }
        self.tx.max = self.tx.max.max(position + 1);
        self.ack_sent(ack);
        self.update_persist_timer(now);
        run.stream_offset = position - 1;
    }

    /// Fills in a keep-alive probe. The peer must answer it, because its sequence number is already
    /// acknowledged (RFC 9293 §3.8.4).
    #[cold]
    pub(super) fn fill_keep_alive(&mut self, now: Time, run: &mut Run) {
        self.fill_header(now, self.tx.una - 1, run);
    }
}
