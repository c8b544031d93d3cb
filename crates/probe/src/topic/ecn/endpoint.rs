//! ECN of one connection, as its client: stamps what leaves, and reads what arrives.

use super::codepoint::Codepoints;
use super::negotiation::{Ask, Mode, Negotiation};
use super::trial::{Feedback, Trial};
use crate::wire::Received;
use windlass_base::Ecn;
use windlass_tcp::accecn::Counters;
use windlass_tcp::accecn::negotiation::{ASK, ace, encode, flags_of};
use windlass_tcp::{AccEcnOption, Flags, Options, Segment, SeqNumber};

/// The packets with data that a trial sends as CE, by number from 1. The others are ECT(0).
const MARKED: std::ops::RangeInclusive<u32> = 2..=3;

/// ECN of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    ask: Ask,
    /// Sends ECT and marks for the server to count, and feeds back what arrives. Without, the caller of
    /// [`Endpoint::mark`] says what is fed back.
    probes: bool,
    syns: u32,
    trial: Option<Trial>,
    counters: Counters,
    /// The codepoint of the SYN-ACK that is still to be fed back.
    handshake: Option<Ecn>,
    option_due: bool,
    /// ECE is sent until CWR arrives (RFC 3168 section 6.1.3).
    echoes: bool,
    /// The next new data has CWR.
    reduced: bool,
    /// The end of the data sent, and of that sent as CE.
    sent_to: Option<SeqNumber>,
    marked_to: Option<SeqNumber>,
    /// ACK and sequence number of the packet whose feedback counts.
    latest: Option<(SeqNumber, SeqNumber)>,
}

impl Endpoint {
    pub(crate) fn new(ask: Ask, probes: bool) -> Endpoint {
        Endpoint {
            ask,
            probes,
            syns: 0,
            trial: None,
            counters: Counters::new(),
            handshake: None,
            option_due: true,
            echoes: false,
            reduced: false,
            sent_to: None,
            marked_to: None,
            latest: None,
        }
    }

    /// The feedback in use; `None` before the SYN-ACK.
    pub(crate) fn mode(&self) -> Mode {
        self.trial.as_ref().map_or(Mode::None, |trial| trial.negotiation.mode())
    }

    pub(crate) fn trial(&self) -> Option<&Trial> {
        self.trial.as_ref()
    }

    /// Packets with data that are still to leave as short ones, so that a short request makes several.
    pub(crate) fn short_packets_left(&self) -> u32 {
        let sent = self.trial.as_ref().map_or(0, |trial| trial.sent.ect_0 + trial.sent.ce);
        if self.sends_ect() { MARKED.end().saturating_sub(sent + 1) } else { 0 }
    }

    /// Whether the ACK of a SYN-ACK is due that has no data, so that it can feed back the codepoint (RFC 9768
    /// section 3.2.2.1).
    pub(crate) fn owes_handshake_ack(&self) -> bool {
        self.handshake.is_some()
    }

    /// Takes the SYN-ACK that completes the handshake.
    pub(crate) fn handle_syn_ack(&mut self, received: &Received<'_>) {
        let negotiation = Negotiation::of(self.ask, received, self.syns);
        if negotiation.mode() == Mode::Accurate {
            self.owe_handshake(received.ecn);
        }
        let option_on_syn_ack = received.segment.options.accecn.is_some();
        let feedback = Feedback { option_on_syn_ack, ..Feedback::default() };
        let (sent, arrived) = (Codepoints::default(), Codepoints::default());
        self.trial = Some(Trial { negotiation, sent, repeated: 0, feedback, arrived });
    }

    /// The codepoint of a SYN-ACK is to be fed back. CE counts once, of however many (RFC 9768 section 3.2.2.2).
    fn owe_handshake(&mut self, syn_ack: Ecn) {
        self.handshake = Some(syn_ack);
        if syn_ack == Ecn::Ce {
            self.counters.count_syn_ack();
        }
    }

    /// Takes a packet of the connection.
    pub(crate) fn handle_segment(&mut self, received: &Received<'_>) {
        let mode = self.mode();
        let segment = &received.segment;
        if segment.flags.contains(Flags::SYN) {
            // The ACK of the first one was lost, or both crossed. The mode stays, whatever this one says
            // (RFC 9768 section 3.1.5), but only one that agrees has its codepoint fed back.
            let again = Negotiation::of(self.ask, received, self.syns);
            if mode == Mode::Accurate && again.mode() == Mode::Accurate {
                self.owe_handshake(received.ecn);
            }
            return;
        }
        let Some(trial) = self.trial.as_mut().filter(|_| self.probes) else { return };
        if segment.payload_len > 0 {
            trial.arrived.add(received.ecn, received.segment_lens().count() as u32);
        }
        match mode {
            Mode::Accurate => {
                self.count(received);
                self.option_due |= segment.payload_len > 0 && received.ecn.is_capable();
                self.read_counters(received);
            }
            Mode::Classic => self.read_flags(received),
            Mode::None => {}
        }
    }

    fn read_flags(&mut self, received: &Received<'_>) {
        let flags = received.segment.flags;
        // A packet may have both: reduced, and marked again.
        self.echoes &= !flags.contains(Flags::CWR);
        self.echoes |= received.ecn == Ecn::Ce && received.segment.payload_len > 0;
        if flags.contains(Flags::ECE)
            && let Some(trial) = &mut self.trial
        {
            trial.feedback.echoes += 1;
            self.reduced |= trial.feedback.echoes == 1;
        }
    }

    fn count(&mut self, received: &Received<'_>) {
        let lens = received.segment_lens();
        let pure = (received.segment.payload_len == 0).then_some(0);
        lens.chain(pure).for_each(|len| self.count_packet(received.ecn, len));
    }

    fn count_packet(&mut self, codepoint: Ecn, len: u32) {
        // Whether an ACK is due at once is not for the counters to say: the probe's tests time the ACKs.
        self.counters.count(codepoint, len, len, false);
    }

    fn read_counters(&mut self, received: &Received<'_>) {
        let segment = &received.segment;
        let Some(trial) = &mut self.trial else { return };
        let feedback = &mut trial.feedback;
        let ace = ace(segment.flags);
        feedback.ace_first.get_or_insert(ace);
        let overtaken = self
            .latest
            .is_some_and(|(ack, seq)| segment.ack.is_before(ack) || segment.seq.is_before(seq));
        if overtaken {
            return;
        }
        self.latest = Some((segment.ack, segment.seq));
        if self.marked_to.is_some_and(|end| !segment.ack.is_before(end)) {
            feedback.ace_last = Some(ace);
        }
        let fields = |option: AccEcnOption| [option.ect0(), option.ce(), option.ect1()];
        feedback.option = segment.options.accecn.map(fields).or(feedback.option);
    }

    /// Feeds back one more mark.
    pub(crate) fn mark(&mut self) {
        self.count_packet(Ecn::Ce, 0);
    }

    /// Completes a segment that leaves, and returns its codepoint.
    pub(crate) fn stamp(&mut self, segment: &mut Segment) -> Ecn {
        if segment.flags.contains(Flags::SYN) {
            self.syns += 1;
            segment.flags = (segment.flags - ASK) | self.ask.flags_of_syn(self.syns);
            return Ecn::NotEct;
        }
        let is_new = self.note_sent(segment);
        match self.mode() {
            Mode::Accurate => {
                segment.flags = (segment.flags - ASK) | flags_of(self.ace_for(segment));
                // RFC 9768 section 3.2.3.2.1: also on the first data.
                let first_data = segment.payload_len > 0 && self.has_sent_nothing();
                if self.probes && (self.option_due || first_data) {
                    self.add_option(&mut segment.options);
                }
            }
            Mode::Classic => {
                segment.flags.set(Flags::CWR, is_new && std::mem::take(&mut self.reduced));
                segment.flags |= if self.echoes { Flags::ECE } else { Flags::empty() };
            }
            Mode::None => {}
        }
        if is_new { self.codepoint(segment) } else { Ecn::NotEct }
    }

    /// Adds the counters of bytes, if they leave room for all SACK blocks.
    fn add_option(&mut self, options: &mut Options) {
        let option = self.counters.send_whole_option();
        if options.wire_len() + option.padded_len() <= Options::MAX_LEN {
            options.accecn = Some(option);
        }
        self.option_due = false;
    }

    fn ace_for(&mut self, segment: &Segment) -> u8 {
        let is_pure_ack = segment.sequence_len() == 0 && segment.options.sack.is_empty();
        match self.handshake.take_if(|_| is_pure_ack) {
            Some(syn_ack) => encode(syn_ack),
            None => self.counters.send_ace(),
        }
    }

    fn has_sent_nothing(&self) -> bool {
        self.trial.as_ref().is_some_and(|trial| trial.sent == Codepoints::default())
    }

    /// Whether the segment has data that was not sent before.
    fn note_sent(&mut self, segment: &Segment) -> bool {
        if segment.payload_len == 0 {
            return false;
        }
        let end = segment.seq.at(u64::from(segment.payload_len));
        let is_new = self.sent_to.is_none_or(|sent| sent.is_before(end));
        if is_new {
            self.sent_to = Some(end);
        } else if let Some(trial) = &mut self.trial {
            trial.repeated += 1;
        }
        is_new
    }

    /// ECT is for connections that agreed on ECN, unless the path changes codepoints (RFC 9768 sections 3.1.5
    /// and 3.2.2.3).
    fn sends_ect(&self) -> bool {
        let fit = |trial: &Trial| {
            trial.negotiation.mode() != Mode::None && !trial.negotiation.is_mangled()
        };
        self.probes && self.trial.as_ref().is_some_and(fit)
    }

    /// The codepoint of new data. Retransmissions are Not-ECT (RFC 3168 section 6.1.5).
    fn codepoint(&mut self, segment: &Segment) -> Ecn {
        let sends_ect = self.sends_ect();
        let Some(trial) = &mut self.trial else { return Ecn::NotEct };
        let number = trial.sent.ect_0 + trial.sent.ce + 1;
        let codepoint = match sends_ect {
            true if MARKED.contains(&number) => Ecn::Ce,
            true => Ecn::Ect0,
            false => Ecn::NotEct,
        };
        trial.sent.add(codepoint, 1);
        if codepoint == Ecn::Ce {
            self.marked_to = Some(segment.seq.at(u64::from(segment.payload_len)));
        }
        codepoint
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn received(flags: Flags, payload_len: u32, ip: Ecn) -> Received<'static> {
        Received {
            segment: Segment { flags, payload_len, ..Segment::default() },
            payload: &[],
            hop_limit: 64,
            segment_bytes: None,
            ecn: ip,
        }
    }

    /// The ACE field of the next pure ACK.
    fn ack(endpoint: &mut Endpoint) -> u8 {
        let mut segment = Segment { flags: Flags::ACK, ..Segment::default() };
        endpoint.stamp(&mut segment);
        ace(segment.flags)
    }

    #[test]
    fn a_classic_receiver_echoes_a_mark_until_the_sender_answers() {
        let mut endpoint = Endpoint::new(Ask::Classic, true);
        let flags = Flags::SYN | Flags::ACK | Flags::ECE;
        endpoint.handle_syn_ack(&received(flags, 0, Ecn::NotEct));
        let mut after = |flags, ip| {
            endpoint.handle_segment(&received(flags, 1000, ip));
            ack(&mut endpoint)
        };
        assert_eq!(after(Flags::ACK, Ecn::Ect0), 0);
        assert_eq!(after(Flags::ACK, Ecn::Ce), 0b001);
        assert_eq!(after(Flags::ACK, Ecn::Ect0), 0b001);
        // The packet that answers is marked itself.
        assert_eq!(after(Flags::ACK | Flags::CWR, Ecn::Ce), 0b001);
        assert_eq!(after(Flags::ACK | Flags::CWR, Ecn::Ect0), 0);
    }

    #[test]
    fn only_a_repeated_syn_ack_that_agrees_is_fed_back_as_the_first_was() {
        let mut endpoint = Endpoint::new(Ask::Accurate, true);
        let agrees = Flags::SYN | Flags::ACK | Flags::CWR;
        endpoint.handle_syn_ack(&received(agrees, 0, Ecn::NotEct));
        assert_eq!([ack(&mut endpoint), ack(&mut endpoint)], [0b010, 5]);
        endpoint.handle_segment(&received(agrees, 0, Ecn::Ce));
        assert_eq!([ack(&mut endpoint), ack(&mut endpoint)], [0b110, 6]);
        // Counted once, however often it comes.
        endpoint.handle_segment(&received(agrees, 0, Ecn::Ce));
        assert_eq!([ack(&mut endpoint), ack(&mut endpoint)], [0b110, 6]);
        endpoint.handle_segment(&received(Flags::SYN | Flags::ACK, 0, Ecn::NotEct));
        assert_eq!(ack(&mut endpoint), 6);
    }
}
