//! AccECN on a connection (RFC 9768): the handshake, segments that arrive, and those that leave. The counters and their decoding
//! are in [`crate::accecn`].

use super::trace::Signals;
use super::transmit::Data;
use super::{Connection, Error, Run, State};
use crate::accecn::negotiation::{
    ASK, Mode, ace, decode, encode, flags_of, mode_of_syn, mode_of_syn_ack,
};
use crate::accecn::{AccEcn, AccurateEcn, Feedback, NewMarks};
use crate::cc::Marks;
use crate::config::{EcnEcho, OptionUse};
use crate::segment::{AccEcnOption, Options};
use crate::{Flags, Segment};
use alloc::boxed::Box;
use windlass_base::{Ecn, Time};

/// The handshake.
impl Connection {
    /// The counters of AccECN; `None` if the connection does not use it.
    pub fn accurate_ecn(&self) -> Option<AccurateEcn> {
        let state = self.accurate.as_deref()?;
        Some(AccurateEcn {
            received: state.counters.counts(),
            reported: state.decoder.counts(),
            sends_ect: state.sends_ect,
        })
    }

    fn wants_accurate(&self) -> bool {
        self.config.ecn.enabled && self.config.ecn.echo == EcnEcho::Accurate
    }

    /// The flags by which a SYN asks for ECN. With fallback, AccECN asks once more than classic ECN does
    /// (RFC 9768 §3.1.4.1).
    pub(super) fn flags_of_offer(&self) -> Flags {
        let classic = Flags::ECE | Flags::CWR;
        match () {
            () if self.wants_accurate() && self.may_ask_again(1) => ASK,
            () if !self.wants_accurate() && self.offers_ecn() => classic,
            () => Flags::empty(),
        }
    }

    /// True after at most `timeouts` of the handshake, or without fallback.
    fn may_ask_again(&self, timeouts: u32) -> bool {
        self.timers.retries <= timeouts || !self.config.ecn.fallback
    }

    /// Agrees on the feedback of ECN by the peer's SYN or SYN-ACK, which arrived as `codepoint`; true if it is
    /// classic.
    pub(super) fn agree_on_feedback(&mut self, flags: Flags, codepoint: Ecn) -> bool {
        if !self.wants_accurate() {
            let setup = Flags::ECE | Flags::CWR;
            // A SYN offers ECN by both flags; a SYN-ACK accepts it by ECE alone (RFC 3168 §6.1.1).
            let wanted = if flags.contains(Flags::ACK) { Flags::ECE } else { setup };
            // The last SYN counts, whichever of them the peer has answered.
            return self.offers_ecn() && flags & setup == wanted;
        }
        // RFC 9768 §3.1.5: the first SYN or SYN-ACK decides.
        let answers = flags.contains(Flags::ACK);
        let mode = if answers { mode_of_syn_ack(flags) } else { mode_of_syn(flags) };
        let state = if answers { AccEcn::initiator } else { AccEcn::responder };
        let accurate = mode == Mode::Accurate;
        self.accurate = accurate.then(|| Box::new(state(codepoint, &self.config.accecn)));
        mode == Mode::Classic
    }

    /// Both ends have agreed on AccECN without a handshake.
    pub(super) fn assume_accurate(&mut self) -> bool {
        let accurate = self.wants_accurate();
        self.accurate = accurate.then(|| {
            let agreed = AccEcn::responder(Ecn::NotEct, &self.config.accecn);
            Box::new(AccEcn { owes_option: false, saw_option: true, ..agreed })
        });
        accurate
    }

    /// Judges the SYN-ACK that completes the handshake of an AccECN connection.
    pub(super) fn take_syn_ack_feedback(&mut self, segment: &Segment) {
        let Some(state) = &mut self.accurate else { return };
        state.take_first_option(segment.options.accecn.as_ref());
        let codepoint = decode(ace(segment.flags)).unwrap_or_default();
        if self.config.ecn.fallback {
            state.judge_handshake(codepoint);
        }
        self.respond_to_handshake(codepoint);
        // RFC 9768 §3.2.2.1: the ACK that feeds the codepoint back has no data.
        self.rx.acks.send_pure_ack_now();
    }

    /// The SYN or SYN-ACK had CE: the window begins as after a lost one (RFC 9768 §3.2.2.2).
    fn respond_to_handshake(&mut self, codepoint: Ecn) {
        if codepoint == Ecn::Ce {
            self.congestion.on_idle_restart(u64::from(self.agreed.mss));
        }
    }

    /// Takes the segment that acknowledges this end's SYN-ACK (RFC 9768 §3.2.2.1, table 4).
    pub(super) fn take_handshake_ack(&mut self, segment: &Segment) {
        let Some(state) = &mut self.accurate else { return };
        if segment.flags.contains(Flags::SYN) {
            return;
        }
        state.take_first_option(segment.options.accecn.as_ref());
        if !has_handshake_encoding(segment) {
            return;
        }
        let number = ace(segment.flags);
        if number == 0 {
            return state.give_up();
        }
        let Some(codepoint) = decode(number) else { return };
        if self.config.ecn.fallback {
            state.judge_handshake(codepoint);
        }
        if codepoint == Ecn::Ce {
            state.decoder.count_syn_ack();
        }
        self.respond_to_handshake(codepoint);
    }

    /// A SYN or SYN-ACK arrives again: the latest one is fed back (RFC 9768 §3.1.5).
    #[cold]
    pub(super) fn note_repeated_handshake(&mut self, segment: &Segment, codepoint: Ecn) {
        let Some(state) = &mut self.accurate else { return };
        if segment.seq != self.rx.isn {
            return;
        }
        let begins = self.state == State::SynReceived;
        if segment.opens() && begins {
            state.handshake = codepoint;
            // RFC 9768 §3.2.3.2.2: the option may be the reason why the SYN-ACK got no answer.
            state.owes_option = false;
            // RFC 9768 §3.1.5: the peer may not have entered AccECN mode.
            state.sends_ect &= ace(segment.flags) != 0;
        } else if segment.flags.contains(Flags::ACK) {
            // RFC 9768 §3.1.5: the flags of a SYN-ACK that comes late are ignored, its codepoint is fed back.
            // In a simultaneous open the peer may count ACE already, so the field stays a counter.
            state.owes_handshake = !begins && self.tx.una <= 1;
            state.take_syn_ack(codepoint);
        }
    }

    /// A peer that asks for classic ECN and for AccECN in one handshake gets a reset (RFC 9768 §3.1.5). True if
    /// the SYN `again` does so.
    pub(super) fn resets_mixed_offer(&mut self, again: &Segment) -> bool {
        let first = match (&self.accurate, self.agreed.ecn) {
            (Some(_), _) => Mode::Accurate,
            (None, true) => Mode::Classic,
            (None, false) => return false,
        };
        let mixed = match mode_of_syn(again.flags) {
            Mode::NotEcn => false,
            mode => mode != first,
        };
        if !mixed || !self.wants_accurate() {
            return false;
        }
        self.pending.reset = Some(Box::new(Segment {
            seq: self.tx.isn.at(1),
            ack: self.rx.isn.at(1),
            flags: Flags::RST | Flags::ACK,
            ..Segment::default()
        }));
        self.finish(Some(Error::Aborted));
        true
    }

    /// The ECN flags of a SYN-ACK, and its option. The first one has the option; after two timeouts it has no flag
    /// any more (RFC 9768 §3.1.2, §3.2.3.2.2).
    pub(super) fn accurate_syn_ack(&mut self) -> (Flags, Option<AccEcnOption>) {
        let may_ask = self.may_ask_again(1);
        let Some(state) = &mut self.accurate else { return (Flags::empty(), None) };
        if !may_ask {
            // RFC 9768 §3.1.5: the peer may not have entered AccECN mode.
            state.sends_ect = false;
            return (Flags::empty(), None);
        }
        let owes = core::mem::take(&mut state.owes_option) && state.option != OptionUse::Never;
        (flags_of(encode(state.handshake)), owes.then(|| state.counters.send_whole_option()))
    }
}

/// True if the ACE field of a segment that completes the handshake is a codepoint, no counter (§3.2.2.1).
fn has_handshake_encoding(segment: &Segment) -> bool {
    segment.sequence_len() == 0 && segment.options.sack.is_empty()
}

/// Segments that arrive.
impl Connection {
    /// Counts an acceptable segment by its codepoint (RFC 9768 §3.2), and schedules the ACK that the marks call
    /// for.
    pub(super) fn count_arrival(&mut self, segment: &Segment, codepoint: Ecn) {
        let payload = segment.payload_len;
        let unacknowledged = payload > 0 || self.rx.last_ack_sent < self.rx.reassembly.nxt();
        let Some(state) = &mut self.accurate else { return };
        state.saw_option |= segment.options.accecn.is_some();
        let before = state.counters.counts().ce_packets;
        let due = state.counters.count(codepoint, payload, self.config.mss.into(), unacknowledged);
        let ce = codepoint == Ecn::Ce;
        if ce {
            self.stats.ce_received += state.counters.counts().ce_packets - before;
            self.signals |= Signals::CE;
        }
        if due || (ce && payload > 0 && self.config.acks.marks_at_once) {
            self.rx.acks.send_ack_now();
        }
    }

    /// A segment repeats data: its ACK was lost, perhaps because it had an option.
    pub(super) fn note_repeated_data(&mut self) {
        if let Some(state) = &mut self.accurate {
            state.option_loss.note_repeated_data();
        }
    }

    /// A segment has new data.
    pub(super) fn note_new_data(&mut self, segment: &Segment) {
        if let Some(state) = &mut self.accurate {
            let echo = segment.options.timestamps.map(|timestamps| timestamps.echo_reply);
            state.option_loss.note_new_data(echo);
        }
    }

    /// Takes the feedback of an ACK, before SND.UNA moves; true if it reports new marks.
    pub(super) fn take_feedback(
        &mut self,
        now: Time,
        segment: &Segment,
        ack: u64,
        newly_sacked: u64,
    ) -> bool {
        let delivered = self.delivered_by(ack, newly_sacked);
        let Some(state) = &mut self.accurate else { return false };
        if segment.flags.contains(Flags::SYN) {
            return false;
        }
        // The last ACK of the handshake, or a copy of it: it acknowledges the SYN and nothing else.
        if ack <= 1 && has_handshake_encoding(segment) {
            return false;
        }
        let number = ace(segment.flags);
        if !core::mem::replace(&mut state.has_feedback, true) && number == 0 {
            state.give_up();
        }
        let timestamp = segment.options.timestamps.map(|timestamps| timestamps.value);
        let newer = state.decoder.is_newer(ack > self.tx.una, newly_sacked > 0, timestamp);
        if ack == 0 || !newer || ack < self.tx.una {
            return false;
        }
        let option = segment.options.accecn.as_ref();
        let mss = self.agreed.mss;
        // A controller that counts marks grows by what is delivered without one, also where none can be reported.
        let marks = match state.responds {
            true => state.decoder.take(&Feedback { ace: number, option, delivered, mss }),
            false => NewMarks::default(),
        };
        // RFC 9768 §3.2.3.2.5.
        state.sends_ect &= !marks.contradicts;
        if self.congestion.counts_marks() && (delivered > 0 || marks.bytes > 0) {
            self.congestion.on_marks(&Marks {
                now,
                delivered,
                marked: marks.bytes,
                exact: marks.exact,
                acked_total: ack - 1,
                sent_total: self.tx.max - 1,
            });
        }
        marks.packets > 0 || marks.bytes > 0
    }
}

/// Segments that leave.
impl Connection {
    /// Whether data may be ECT.
    pub(super) fn may_send_ect(&self) -> bool {
        self.agreed.ecn || self.accurate.as_ref().is_some_and(|state| state.sends_ect)
    }

    /// True if this end has asked for AccECN and the peer has classic ECN alone. RFC 9331 §4.2: no data is ECT(1) then.
    pub(super) fn lacks_accurate_ecn(&self) -> bool {
        self.accurate.is_none() && self.config.ecn.echo == EcnEcho::Accurate
    }

    /// Sets the ACE field of a segment with ACK, and the codepoint of one without data.
    #[cold]
    pub(super) fn stamp_ace(&mut self, run: &mut Run) {
        let ect = self.is_ect_throughout().then(|| self.congestion.ecn_codepoint());
        if let Some(state) = &mut self.accurate {
            run.first.flags |= flags_of(state.counters.send_ace());
            run.has_ace = true;
            run.ecn = ect.unwrap_or_default();
        }
    }

    /// True if segments without data and retransmissions are ECT like data.
    pub(super) fn is_ect_throughout(&self) -> bool {
        self.config.accecn.ect_on_all && self.accurate.as_ref().is_some_and(|state| state.sends_ect)
    }

    /// Completes a pure ACK: the codepoint of the SYN-ACK in place of the counter, if it is due, and the option, if
    /// it finds room beside the SACK blocks.
    #[cold]
    pub(super) fn complete_accurate_ack(&mut self, run: &mut Run) {
        let Some(state) = &mut self.accurate else { return };
        let first = &mut run.first;
        if first.options.sack.is_empty() && core::mem::take(&mut state.owes_handshake) {
            first.flags = (first.flags - ASK) | flags_of(encode(state.handshake));
        }
        // SACK blocks make room for counters that have changed, and for no others.
        let beside = match state.counters.has_news() {
            true => first.options.len_beside_accecn(),
            false => first.options.wire_len(),
        };
        let owed = core::mem::take(&mut state.owes_option);
        first.options.accecn = state.next_option(Options::MAX_LEN - beside, owed);
        state.note_option(&first.options);
        let fitting = first.options.sack_that_fits().len();
        first.options.sack.truncate(fitting);
    }

    /// Adds the option to new data. The payload becomes smaller by its length where the segment would become too
    /// long. Retransmissions have none, in case the option is why they are lost (RFC 9768 §3.2.3.2.2), unless all
    /// segments do.
    #[cold]
    pub(super) fn add_option_to_data(&mut self, data: &mut Data, run: &mut Run) {
        let retransmission = data.from < self.tx.max;
        let Some(state) = &mut self.accurate else { return };
        if data.segment > 0 {
            state.decoder.note_sent(data.segment);
        }
        if !retransmission || state.repeats_option() {
            let owed = data.segment > 0 && core::mem::take(&mut state.first_data);
            let room = Options::MAX_LEN - run.first.options.len_beside_accecn();
            run.first.options.accecn = state.next_option(room, owed);
        }
        state.note_option(&run.first.options);
        if let Some(option) = &run.first.options.accecn {
            let len = option.padded_len() as u32;
            data.segment = data.segment.min(self.agreed.mss - len);
            data.count = 1;
            if data.segment > 0 {
                state.decoder.note_sent(data.segment);
            }
        }
    }
}
