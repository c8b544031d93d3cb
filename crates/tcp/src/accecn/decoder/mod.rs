//! The sender's counters: decodes ACE and the option (RFC 9768 §3.2.2.2, §3.2.3.1, appendix A).

use crate::accecn::EcnCounts;
use crate::accecn::counters::{CEP, E0B, E1B};
use crate::segment::AccEcnOption;

/// ACE counts modulo 8, the fields of the option modulo 2^24.
const DIVACE: u64 = 8;
const DIVOPT: u64 = 1 << 24;

/// The packets and bytes of this end by the codepoint with which they arrived, as the peer reports them.
#[derive(Clone, Debug)]
pub(crate) struct Decoder {
    /// s.cep.
    cep: u64,
    /// s.ceb.
    ceb: u64,
    /// s.e0b.
    e0b: u64,
    /// s.e1b.
    e1b: u64,
    /// s.cep when the last option with ECEB arrived.
    cep_at_option: u64,
    /// Bytes reported as marked since then, by an estimate.
    estimated: u64,
    /// The newest timestamp of a peer's ACK.
    newest: Option<u32>,
    /// Options count: their fields were not zeroed (§3.2.3.2.4).
    takes_options: bool,
    /// Payload of the smallest data segment sent so far, in bytes.
    smallest: u32,
    /// Segments that an ACK acknowledges on average, if that decides whether ACE has wrapped.
    ack_ratio: Option<AckRatio>,
}

/// A moving average of the segments that one ACK acknowledges, in 64ths.
#[derive(Copy, Clone, Debug, Default)]
struct AckRatio(u32);

impl AckRatio {
    const ONE: u64 = 64;
    /// With more segments than this, an ACK of many is nothing unusual: no ACKs were lost before it (Linux:
    /// ACK_COMP_THRESH).
    const USUAL_MAX: u64 = 4;

    fn note(&mut self, segments: u64) {
        let new = segments.saturating_mul(Self::ONE);
        let average = match self.0 {
            0 => new,
            old => (u64::from(old) * 63 + new) / 64,
        };
        self.0 = average.min(u16::MAX.into()) as u32;
    }

    fn is_large(self) -> bool {
        u64::from(self.0) > Self::USUAL_MAX * Self::ONE
    }
}

/// The ECN feedback of one ACK, and what the ACK delivers.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Feedback<'a> {
    pub(crate) ace: u8,
    pub(crate) option: Option<&'a AccEcnOption>,
    /// Bytes acknowledged or SACKed for the first time.
    pub(crate) delivered: u64,
    /// Payload bytes of a full segment.
    pub(crate) mss: u32,
}

/// The marks that an ACK reports for the first time.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct NewMarks {
    /// Packets with CE.
    pub(crate) packets: u64,
    /// Bytes with CE.
    pub(crate) bytes: u64,
    /// `bytes` is the peer's count and no estimate, or no packet had CE.
    pub(crate) exact: bool,
    /// ACE and the option contradict each other (§3.2.3.2.5).
    pub(crate) contradicts: bool,
}

impl Decoder {
    /// The counters at the beginning of a connection. `by_ack_ratio`: the number of segments that an ACK usually
    /// acknowledges decides whether ACE has wrapped.
    pub(crate) fn new(by_ack_ratio: bool) -> Decoder {
        Decoder {
            cep: CEP,
            ceb: 0,
            e0b: E0B,
            e1b: E1B,
            cep_at_option: CEP,
            estimated: 0,
            newest: None,
            takes_options: true,
            smallest: u32::MAX,
            ack_ratio: by_ack_ratio.then(AckRatio::default),
        }
    }

    /// The counts without their initial values.
    pub(crate) fn counts(&self) -> EcnCounts {
        EcnCounts {
            ce_packets: self.cep - CEP,
            ce_bytes: self.ceb,
            ect0_bytes: self.e0b - E0B,
            ect1_bytes: self.e1b - E1B,
        }
    }

    /// The last ACK of the handshake says that the SYN-ACK had CE (§3.2.2.2).
    pub(crate) fn count_syn_ack(&mut self) {
        self.cep = CEP + 1;
        self.cep_at_option = self.cep;
    }

    /// Data of this size leaves.
    pub(crate) fn note_sent(&mut self, payload: u32) {
        self.smallest = self.smallest.min(payload);
    }

    /// The first option: zeroed fields show that the path changes options, which are ignored then (§3.2.3.2.4).
    pub(crate) fn judge_first_option(&mut self, option: Option<&AccEcnOption>) {
        let zeroed = |option: &AccEcnOption| option.ect0() == Some(0) || option.ect1() == Some(0);
        self.takes_options &= !option.is_some_and(zeroed);
    }

    /// True if an ACK is newer than all those whose feedback was taken: it delivers data, or has a newer
    /// timestamp than they (appendix A.1). `advances`: it acknowledges data for the first time.
    pub(crate) fn is_newer(&mut self, advances: bool, sacks: bool, timestamp: Option<u32>) -> bool {
        let age = self.newest.zip(timestamp).map(|(newest, this)| this.wrapping_sub(newest) as i32);
        let newer =
            advances || age.is_some_and(|age| age > 0) || (sacks && age.is_none_or(|age| age == 0));
        if newer && age.is_none_or(|age| age > 0) {
            self.newest = timestamp.or(self.newest);
        }
        newer
    }

    /// Takes the feedback of an ACK that [is newer](Decoder::is_newer) than the last one.
    pub(crate) fn take(&mut self, feedback: &Feedback<'_>) -> NewMarks {
        if let Some(ratio) = self.ack_ratio.as_mut().filter(|_| feedback.delivered > 0) {
            ratio.note(feedback.delivered.div_ceil(feedback.mss.into()));
        }
        let option = feedback.option.filter(|_| self.takes_options);
        if option.is_some_and(|option| self.is_behind(option)) {
            return NewMarks { exact: true, ..NewMarks::default() };
        }
        let unmarked = option.map_or(0, |option| self.take_unmarked(option));
        let step = (u64::from(feedback.ace) + DIVACE - self.cep % DIVACE) % DIVACE;
        match option.and_then(AccEcnOption::ce) {
            Some(field) => self.take_exact(step, field, feedback.mss),
            None => self.take_estimate(step, feedback, unmarked),
        }
    }

    /// True for an option with an older count than is known. Its ACK was overtaken, and is taken for newer because
    /// it has a SACK block that the later ones had no room for.
    fn is_behind(&self, option: &AccEcnOption) -> bool {
        let fields =
            [(self.e0b, option.ect0()), (self.ceb, option.ce()), (self.e1b, option.ect1())];
        fields.iter().any(|(count, field)| field.is_some_and(|field| is_behind(*count, field)))
    }

    /// The bytes with ECT that an option adds.
    fn take_unmarked(&mut self, option: &AccEcnOption) -> u64 {
        let ect0 = option.ect0().map_or(0, |field| advance(&mut self.e0b, field));
        let ect1 = option.ect1().map_or(0, |field| advance(&mut self.e1b, field));
        ect0 + ect1
    }

    /// With the count of marked bytes, the count of packets is the least that ACE allows for so many bytes. Where
    /// appendix A.2.2 finds that ACE has wrapped, this is exact for full segments, however often it did.
    fn take_exact(&mut self, step: u64, field: u32, mss: u32) -> NewMarks {
        let bytes = advance(&mut self.ceb, field);
        let since = self.cep - self.cep_at_option + step;
        let missing = bytes.div_ceil(u64::from(mss)).saturating_sub(since);
        let packets = step + missing.next_multiple_of(DIVACE);
        // RFC 9768 §3.2.3.2.5: fewer than eight packets had these bytes, so ACE must have counted them.
        let contradicts = bytes > 0 && since == 0 && bytes < DIVACE * u64::from(self.smallest);
        self.cep += packets;
        self.cep_at_option = self.cep;
        let estimated = core::mem::take(&mut self.estimated);
        NewMarks { packets, bytes: bytes.saturating_sub(estimated), exact: true, contradicts }
    }

    /// Without it, the most packets that ACE allows for the data delivered (appendix A.2.1), less what is known to
    /// be unmarked. ACE is right where it counts more than that (§3.2.2.5.2).
    fn take_estimate(&mut self, step: u64, feedback: &Feedback<'_>, unmarked: u64) -> NewMarks {
        let mss = u64::from(feedback.mss);
        let perhaps_marked = feedback.delivered.saturating_sub(unmarked).div_ceil(mss);
        let wraps = match self.ack_ratio {
            Some(ratio) if ratio.is_large() => 0,
            _ => perhaps_marked.saturating_sub(step) / DIVACE,
        };
        let packets = step + wraps * DIVACE;
        let bytes = (packets * mss).min(feedback.delivered);
        self.cep += packets;
        self.estimated += bytes;
        NewMarks { packets, bytes, exact: packets == 0, contradicts: false }
    }
}

/// Advances a counter to the next value whose low 24 bits are `field`; returns by how much.
fn advance(counter: &mut u64, field: u32) -> u64 {
    let step = (u64::from(field) + DIVOPT - *counter % DIVOPT) % DIVOPT;
    *counter += step;
    step
}

/// True if `field` is within the half of all values that lies before the counter.
fn is_behind(counter: u64, field: u32) -> bool {
    (u64::from(field) + DIVOPT - counter % DIVOPT) % DIVOPT >= DIVOPT / 2
}

#[cfg(test)]
mod tests;
