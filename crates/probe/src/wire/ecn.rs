//! Fields of ECN in a packet beside the flags ECE and CWR.

use windlass_base::Ecn;
use windlass_tcp::Flags;
use windlass_tcp::segment::wire::{MAX_HEADER_LEN, MIN_HEADER_LEN};

/// The octet of a TCP header with the data offset and AE.
const OFFSET_OCTET: usize = 12;
/// RFC 9768 section 3.2.3.
const KIND_ORDER_0: u8 = 172;
const KIND_ORDER_1: u8 = 174;
/// RFC 9293 section 3.1.
const KIND_END: u8 = 0;
const KIND_NOP: u8 = 1;

/// The ECN fields of a packet that the probe reads and writes beside the engine's segment.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct EcnFields {
    /// The ECN field of the IP header.
    pub ip: Ecn,
    /// AE, the third flag of AccECN (RFC 9768 section 3.1), once the nonce sum (RFC 3540).
    pub ae: bool,
    /// The AccECN option.
    pub option: Option<AccEcnOption>,
}

/// The fields of an AccECN option (RFC 9768 section 3.2.3): the low 24 bits of byte counters. A sender may
/// leave fields out at the end.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct AccEcnOption {
    /// EE0B: payload that arrived as ECT(0), in bytes.
    pub ect0: Option<u32>,
    /// ECEB: payload that arrived as CE, in bytes.
    pub ce: Option<u32>,
    /// EE1B: payload that arrived as ECT(1), in bytes.
    pub ect1: Option<u32>,
}

impl EcnFields {
    /// The fields of a packet with this ECN field and this TCP header, options included. A malformed list of
    /// options ends with the last good one.
    pub(super) fn read(ip: Ecn, header: &[u8]) -> EcnFields {
        EcnFields {
            ip,
            ae: header.get(OFFSET_OCTET).is_some_and(|octet| octet & 1 == 1),
            option: AccEcnOption::find(header.get(MIN_HEADER_LEN..).unwrap_or_default()),
        }
    }

    /// Adds AE and the option to a TCP header. The option is left out if it does not fit beside the others.
    pub(super) fn write(&self, header: &mut Vec<u8>) {
        let option = self.option.map(|option| option.bytes()).unwrap_or_default();
        if header.len() + option.len() <= MAX_HEADER_LEN {
            header.extend(option);
        }
        // RFC 9293 section 3.1: the data offset counts words of 32 bits.
        let words = (header.len() / 4) as u8;
        if let Some(octet) = header.get_mut(OFFSET_OCTET) {
            *octet = (words << 4) | (*octet & 1) | u8::from(self.ae);
        }
    }

    /// The three flags as a number: the ACE field without SYN (RFC 9768 section 3.2.2), and the answer of a
    /// SYN-ACK (section 3.1.2).
    pub fn ace(&self, flags: Flags) -> u8 {
        (u8::from(self.ae) << 2)
            | (u8::from(flags.contains(Flags::CWR)) << 1)
            | u8::from(flags.contains(Flags::ECE))
    }

    /// Sets the three flags.
    pub fn set_ace(&mut self, flags: &mut Flags, ace: u8) {
        self.ae = ace & 0b100 != 0;
        flags.set(Flags::CWR, ace & 0b010 != 0);
        flags.set(Flags::ECE, ace & 0b001 != 0);
    }
}

impl AccEcnOption {
    fn find(mut rest: &[u8]) -> Option<AccEcnOption> {
        let mut found = None;
        while let [kind, tail @ ..] = rest {
            if *kind == KIND_NOP {
                rest = tail;
                continue;
            }
            // RFC 9293 section 3.1: the length counts the octets of kind and length too.
            let len = tail.first().copied().map_or(0, usize::from);
            let Some(body) = rest.get(2..len).filter(|_| *kind != KIND_END) else { break };
            found = AccEcnOption::parse(*kind, body).or(found);
            rest = &rest[len..];
        }
        found
    }

    /// Whole fields of three bytes count, and a rest is padding (RFC 9768 section 3.2.3).
    fn parse(kind: u8, body: &[u8]) -> Option<AccEcnOption> {
        let mut fields = body
            .chunks_exact(3)
            .map(|field| field.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte)));
        let (first, ce, last) = (fields.next(), fields.next(), fields.next());
        match kind {
            KIND_ORDER_0 => Some(AccEcnOption { ect0: first, ce, ect1: last }),
            KIND_ORDER_1 => Some(AccEcnOption { ect1: first, ce, ect0: last }),
            _ => None,
        }
    }

    /// The option in order 0, up to the first field that is missing, behind padding to whole words.
    fn bytes(&self) -> Vec<u8> {
        let present = [self.ect0, self.ce, self.ect1].into_iter().map_while(|field| field);
        let fields: Vec<u8> = present.flat_map(|field| field.to_be_bytes()[1..].to_vec()).collect();
        let len = 2 + fields.len();
        let mut bytes = vec![KIND_NOP; len.next_multiple_of(4) - len];
        bytes.extend([KIND_ORDER_0, len as u8]);
        bytes.extend(fields);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(ect0: u32, ce: Option<u32>, ect1: Option<u32>) -> AccEcnOption {
        AccEcnOption { ect0: Some(ect0), ce, ect1 }
    }

    fn header() -> Vec<u8> {
        let mut header = vec![0; MIN_HEADER_LEN];
        header[OFFSET_OCTET] = 5 << 4;
        header
    }

    #[test]
    fn what_is_written_is_read() {
        let full = option(1, Some(0xff_fffe), Some(3));
        for option in
            [None, Some(full), Some(option(7, Some(1), None)), Some(option(7, None, None))]
        {
            let fields = EcnFields { ip: Ecn::Ect0, ae: true, option };
            let mut header = header();
            fields.write(&mut header);
            assert_eq!(header.len() % 4, 0);
            assert_eq!(usize::from(header[OFFSET_OCTET] >> 4) * 4, header.len());
            assert_eq!(EcnFields::read(Ecn::Ect0, &header), fields);
        }
    }

    #[test]
    fn an_option_that_does_not_fit_is_left_out() {
        let fields =
            EcnFields { option: Some(option(1, Some(0), Some(1))), ..EcnFields::default() };
        let mut full = vec![KIND_NOP; MAX_HEADER_LEN - 8];
        fields.write(&mut full);
        assert_eq!((full.len(), full[OFFSET_OCTET]), (52, 13 << 4));
    }

    #[test]
    fn both_orders_any_length_and_impossible_lengths_are_read() {
        let read = |options: &[u8]| {
            let mut header = header();
            header.extend(options);
            EcnFields::read(Ecn::NotEct, &header).option
        };
        let order_1 = AccEcnOption { ect1: Some(1), ce: Some(2), ect0: Some(3) };
        assert_eq!(read(&[1, 174, 11, 0, 0, 1, 0, 0, 2, 0, 0, 3]), Some(order_1));
        // Five bytes are a field and a rest.
        assert_eq!(read(&[172, 7, 0, 1, 0, 9, 9, 0]), Some(option(256, None, None)));
        assert_eq!(read(&[172, 2, 0, 0]), Some(AccEcnOption::default()));
        assert_eq!(read(&[2, 4, 5, 0xb4, 172, 9, 0, 0]), None);
        assert_eq!(read(&[0, 172, 2, 0]), None);
        assert_eq!(read(&[172, 1, 0, 0]), None);
        assert_eq!(read(&[172]), None);
    }

    #[test]
    fn the_three_flags_are_a_number() {
        for ace in 0..8 {
            let (mut fields, mut flags) = (EcnFields::default(), Flags::ACK | Flags::ECE);
            fields.set_ace(&mut flags, ace);
            assert_eq!(fields.ace(flags), ace);
            assert!(flags.contains(Flags::ACK));
        }
    }
}
