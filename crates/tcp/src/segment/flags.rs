bitflags::bitflags! {
    /// The control bits of a TCP header, as octet 13 and the last bit of octet 12 hold them (RFC 9293 §3.1, RFC 3168
    /// §6.1, RFC 9768 §7).
    #[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Flags: u16 {
        /// No more data from the sender.
        const FIN = 0x01;
        /// Synchronise sequence numbers.
        const SYN = 0x02;
        /// Reset the connection.
        const RST = 0x04;
        /// Deliver the data to the application without delay.
        const PSH = 0x08;
        /// The acknowledgment number is meaningful.
        const ACK = 0x10;
        /// The urgent pointer is meaningful; the engine never sends it and ignores it.
        const URG = 0x20;
        /// ECN echo.
        const ECE = 0x40;
        /// Congestion window reduced.
        const CWR = 0x80;
        /// Accurate ECN, once the nonce sum (NS). With CWR and ECE it makes up the ACE field of AccECN.
        const AE = 0x100;
    }
}
