//! The receiver's counters (RFC 9768 §3.2), when they call for an ACK (§3.2.2.5.1), and the option that carries
//! them (§3.2.3.3).

use super::EcnCounts;
use crate::segment::{AccEcnOption, AccEcnOrder};
use windlass_base::Ecn;

/// The initial values, not zero so that zeroed fields are detected (§3.2.1).
pub(super) const CEP: u64 = 5;
pub(super) const E0B: u64 = 1;
pub(super) const E1B: u64 = 1;

/// CE packets after which an ACK is due, with and without data to acknowledge (§3.2.2.5.1).
const ACK_AFTER_WITH_DATA: u32 = 2;
const ACK_AFTER: u32 = 3;

bitflags::bitflags! {
    /// Byte counters.
    #[derive(Copy, Clone, Debug, PartialEq, Eq)]
    struct Fields: u8 {
        const ECT0 = 1;
        const CE = 2;
        const ECT1 = 4;
    }
}

/// The packets and bytes of the peer by the codepoint with which they arrived.
#[derive(Clone, Debug)]
pub struct Counters {
    /// r.cep: packets with CE.
    cep: u64,
    /// r.ceb: payload bytes with CE.
    ceb: u64,
    /// r.e0b: payload bytes with ECT(0).
    e0b: u64,
    /// r.e1b: payload bytes with ECT(1).
    e1b: u64,
    /// The largest payload of a single packet, in bytes.
    largest: u32,
    /// A SYN-ACK had CE.
    syn_ack_counted: bool,
    /// The last packet had CE.
    last_ce: bool,
    /// Packets with CE since the last ACK.
    since_ack: u32,
    /// Counters that have changed since the last option.
    since_option: Fields,
    /// Counters that have changed at all.
    ever: Fields,
    /// The option has every field that finds room, ECT(1) first ([`OptionUse::Always`](crate::config::OptionUse)).
    whole: bool,
}

impl Default for Counters {
    fn default() -> Counters {
        Counters::new()
    }
}

impl Counters {
    /// The counters at the beginning of a connection (§3.2.1).
    pub fn new() -> Counters {
        Counters {
            cep: CEP,
            ceb: 0,
            e0b: E0B,
            e1b: E1B,
            largest: 0,
            syn_ack_counted: false,
            last_ce: false,
            since_ack: 0,
            since_option: Fields::empty(),
            ever: Fields::empty(),
            whole: false,
        }
    }

    /// Whether options have every field that finds room, ECT(1) first.
    pub(crate) fn set_whole_options(&mut self, whole: bool) {
        self.whole = whole;
    }

    /// The counts without their initial values. A SYN-ACK with CE counts as a packet.
    pub(crate) fn counts(&self) -> EcnCounts {
        EcnCounts {
            ce_packets: self.cep - CEP,
            ce_bytes: self.ceb,
            ect0_bytes: self.e0b - E0B,
            ect1_bytes: self.e1b - E1B,
        }
    }

    /// Counts a SYN-ACK with CE, once (§3.2.2.2).
    pub fn count_syn_ack(&mut self) {
        if !core::mem::replace(&mut self.syn_ack_counted, true) {
            self.cep += 1;
        }
    }

    /// Counts an acceptable segment. With more than `mss` bytes of payload it is several packets of the same
    /// codepoint, which a carrier has coalesced. True if an ACK is due at once; `unacknowledged` says whether any
    /// data waits for one.
    pub fn count(&mut self, codepoint: Ecn, payload: u32, mss: u32, unacknowledged: bool) -> bool {
        let packets = self.packets_of(payload, mss);
        let (bytes, field) = match codepoint {
            Ecn::NotEct => {
                self.last_ce = false;
                return false;
            }
            Ecn::Ect0 => (&mut self.e0b, Fields::ECT0),
            Ecn::Ect1 => (&mut self.e1b, Fields::ECT1),
            Ecn::Ce => (&mut self.ceb, Fields::CE),
        };
        *bytes += u64::from(payload);
        if payload > 0 {
            self.since_option |= field;
            self.ever |= field;
        }
        let ce = codepoint == Ecn::Ce;
        let begins = ce && !core::mem::replace(&mut self.last_ce, ce);
        if !ce {
            self.last_ce = false;
            return false;
        }
        self.cep += u64::from(packets);
        self.since_ack += packets;
        let most = if unacknowledged { ACK_AFTER_WITH_DATA } else { ACK_AFTER };
        (begins && payload > 0) || self.since_ack >= most
    }

    /// The packets of a segment: as large as the largest of the peer's that came alone, if it is coalesced.
    fn packets_of(&mut self, payload: u32, mss: u32) -> u32 {
        if payload <= mss {
            self.largest = self.largest.max(payload);
            return 1;
        }
        payload.div_ceil(if self.largest > 0 { self.largest } else { mss })
    }

    /// The ACE field of a segment that is sent now (§3.2.2.2).
    pub fn send_ace(&mut self) -> u8 {
        self.since_ack = 0;
        (self.cep % 8) as u8
    }

    /// The option of an ACK that has `room` bytes for it: with every counter that has ever changed, or if there
    /// is less room with those that have changed since the last option. `None` if no counter has, or if they do not
    /// fit (§3.2.3.3).
    pub(crate) fn send_option(&mut self, room: usize) -> Option<AccEcnOption> {
        if self.whole {
            return self.send_largest_option(room);
        }
        if self.since_option.is_empty() {
            return None;
        }
        let fits = |option: &AccEcnOption| option.padded_len() <= room;
        let option = [self.ever, self.since_option].map(|fields| self.option(fields));
        let option = option.into_iter().find(fits)?;
        self.since_option = Fields::empty();
        Some(option)
    }

    /// The option with as many fields as fit, if they are all that have changed since the last one.
    fn send_largest_option(&mut self, room: usize) -> Option<AccEcnOption> {
        let least = match self.since_option {
            fields if fields.contains(Fields::ECT0) => 3,
            fields if fields.contains(Fields::CE) => 2,
            _ => 1,
        };
        let fits = |option: &AccEcnOption| option.padded_len() <= room;
        let option = (least..=3).rev().map(|len| self.ect1_first(len)).find(fits)?;
        self.since_option = Fields::empty();
        Some(option)
    }

    fn ect1_first(&self, len: usize) -> AccEcnOption {
        AccEcnOption::new(AccEcnOrder::Ect1First, &[self.e1b, self.ceb, self.e0b][..len])
    }

    /// True if a counter of the option has changed since the last option.
    pub(crate) fn has_news(&self) -> bool {
        !self.since_option.is_empty()
    }

    /// The option with all counters, for the first segments of a connection (§3.2.3.2.1).
    pub fn send_whole_option(&mut self) -> AccEcnOption {
        self.since_option = Fields::empty();
        if self.whole {
            return self.ect1_first(3);
        }
        self.option(Fields::all())
    }

    /// The shortest option with these counters. Where both orders are as short, ECT(0) is first.
    fn option(&self, fields: Fields) -> AccEcnOption {
        let ect1_first = fields.contains(Fields::ECT1) && !fields.contains(Fields::ECT0);
        let (order, first, last, last_field) = if ect1_first {
            (AccEcnOrder::Ect1First, self.e1b, self.e0b, Fields::ECT0)
        } else {
            (AccEcnOrder::Ect0First, self.e0b, self.e1b, Fields::ECT1)
        };
        let len = match () {
            () if fields.contains(last_field) => 3,
            () if fields.contains(Fields::CE) => 2,
            () => 1,
        };
        AccEcnOption::new(order, &[first, self.ceb, last][..len])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Data of 1000 bytes.
    fn data(counters: &mut Counters, codepoint: Ecn) -> bool {
        counters.count(codepoint, 1000, 1000, true)
    }

    fn values(option: Option<AccEcnOption>) -> (AccEcnOrder, [Option<u32>; 3]) {
        let option = option.expect("an option");
        (option.order(), [option.ect0(), option.ce(), option.ect1()])
    }

    #[test]
    fn rfc9768_3_2_1_no_counter_that_is_echoed_begins_with_zero_but_ceb() {
        let mut counters = Counters::new();
        assert_eq!(counters.send_ace(), 5);
        let option = Some(counters.send_whole_option());
        assert_eq!(values(option), (AccEcnOrder::Ect0First, [Some(1), Some(0), Some(1)]));
    }

    #[test]
    fn rfc9768_3_2_2_5_1_an_ack_for_the_first_ce_and_for_every_second_one_with_data() {
        let mut counters = Counters::new();
        assert!(!data(&mut counters, Ecn::Ect0));
        assert!(data(&mut counters, Ecn::Ce), "change-triggered");
        counters.send_ace();
        assert!(!data(&mut counters, Ecn::Ce));
        assert!(data(&mut counters, Ecn::Ce), "increment-triggered");
        counters.send_ace();
        // Any packet counts as the previous one.
        counters.count(Ecn::NotEct, 0, 1000, false);
        assert!(data(&mut counters, Ecn::Ce));
    }

    #[test]
    fn rfc9768_3_2_2_5_1_three_ce_without_data_are_acknowledged() {
        let mut counters = Counters::new();
        let due: [bool; 4] = core::array::from_fn(|_| counters.count(Ecn::Ce, 0, 1000, false));
        assert_eq!(due, [false, false, true, true]);
        assert_eq!(counters.counts(), EcnCounts { ce_packets: 4, ..EcnCounts::default() });
    }

    #[test]
    fn a_coalesced_segment_counts_as_packets_of_the_size_that_comes_alone() {
        let packets = |alone: u32, payload: u32| {
            let mut counters = Counters::new();
            counters.count(Ecn::Ect0, alone, 1460, true);
            counters.count(Ecn::Ce, payload, 1460, true);
            counters.counts().ce_packets
        };
        assert_eq!(packets(1000, 1460), 1);
        assert_eq!(packets(1000, 5000), 5);
        assert_eq!(packets(1000, 5001), 6);
        assert_eq!(packets(0, 5000), 4);
    }

    #[test]
    fn rfc9768_3_2_3_3_the_option_has_the_counters_that_have_ever_changed() {
        let mut counters = Counters::new();
        assert_eq!(counters.send_option(28), None);
        data(&mut counters, Ecn::Ect0);
        let order = AccEcnOrder::Ect0First;
        assert_eq!(values(counters.send_option(28)), (order, [Some(1001), None, None]));
        assert_eq!(counters.send_option(28), None, "nothing has changed since");
        data(&mut counters, Ecn::Ce);
        assert_eq!(values(counters.send_option(28)), (order, [Some(1001), Some(1000), None]));
        data(&mut counters, Ecn::Ect0);
        assert_eq!(values(counters.send_option(28)), (order, [Some(2001), Some(1000), None]));
    }

    #[test]
    fn rfc9768_3_2_3_3_ect1_comes_first_where_there_is_no_ect0() {
        let mut counters = Counters::new();
        data(&mut counters, Ecn::Ect1);
        data(&mut counters, Ecn::Ce);
        let order = AccEcnOrder::Ect1First;
        assert_eq!(values(counters.send_option(8)), (order, [None, Some(1000), Some(1001)]));
    }

    #[test]
    fn rfc9768_3_2_3_3_with_little_room_it_has_those_that_have_changed_since_the_last_or_is_left_out()
     {
        let mut counters = Counters::new();
        data(&mut counters, Ecn::Ect0);
        data(&mut counters, Ecn::Ect1);
        assert_eq!(counters.send_option(8), None, "both changed, and both need three fields");
        assert!(counters.send_option(12).is_some());
        data(&mut counters, Ecn::Ect1);
        let order = AccEcnOrder::Ect1First;
        assert_eq!(values(counters.send_option(8)), (order, [None, None, Some(2001)]));
    }

    #[test]
    fn whole_options_have_ect1_first_and_shrink_to_what_has_changed() {
        let mut counters = Counters::new();
        counters.set_whole_options(true);
        let order = AccEcnOrder::Ect1First;
        assert_eq!(values(counters.send_option(12)), (order, [Some(1), Some(0), Some(1)]));
        data(&mut counters, Ecn::Ce);
        assert_eq!(values(counters.send_option(8)), (order, [None, Some(1000), Some(1)]));
        data(&mut counters, Ecn::Ect0);
        assert_eq!(counters.send_option(8), None, "the last field has changed");
        assert_eq!(values(counters.send_option(12)), (order, [Some(1001), Some(1000), Some(1)]));
    }

    #[test]
    fn rfc9768_3_2_2_2_ce_on_syn_acks_counts_once() {
        let mut counters = Counters::new();
        counters.count_syn_ack();
        counters.count_syn_ack();
        assert_eq!(counters.send_ace(), 6);
    }
}
