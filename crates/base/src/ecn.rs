/// The ECN field of an IP header (RFC 3168 §5), with its two bits as on the wire.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable transport: a congested queue drops.
    #[default]
    NotEct = 0b00,
    /// ECT(1): for queues of low latency (RFC 9331); Prague sends it.
    Ect1 = 0b01,
    /// ECT(0): ECN-capable transport.
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// The codepoint in the two low bits of `bits` (of an IPv4 TOS or IPv6 traffic class octet).
    pub const fn from_bits(bits: u8) -> Ecn {
        match bits & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// The two bits as in the IP header.
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// True if a queue may mark instead of dropping (RFC 3168 §5: CE packets are ECN-capable too).
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
}
