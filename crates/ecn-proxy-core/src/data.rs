//! The C structs of `c/packet.h` and `c/flow.h`, field for field.

/// The largest number of SACK blocks in a packet.
pub const BLOCKS_MAX: usize = 4;

bitflags::bitflags! {
    /// The control bits of a TCP header's 14th octet.
    #[repr(transparent)]
    #[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
    pub struct Flags: u8 {
        /// The sender has no more data.
        const FIN = 0x01;
        /// Sequence numbers are being synchronised.
        const SYN = 0x02;
        /// The connection is reset.
        const RST = 0x04;
        /// The receiver should deliver the data now.
        const PSH = 0x08;
        /// The ACK number is valid.
        const ACK = 0x10;
        /// The urgent pointer is valid.
        const URG = 0x20;
        /// ECN echo: the receiver has seen CE (RFC 3168).
        const ECE = 0x40;
        /// Congestion window reduced (RFC 3168).
        const CWR = 0x80;
    }

    /// TCP options of a segment.
    #[repr(transparent)]
    #[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
    pub struct Options: u16 {
        /// Maximum segment size.
        const MSS = 0x001;
        /// Window scale.
        const WINDOW_SCALE = 0x002;
        /// SACK permitted.
        const SACK_PERMITTED = 0x004;
        /// SACK blocks.
        const SACK = 0x008;
        /// Timestamps (RFC 7323).
        const TIMESTAMPS = 0x010;
        /// TCP-MD5 (RFC 2385).
        const MD5 = 0x020;
        /// TCP-AO (RFC 5925).
        const AO = 0x040;
        /// Multipath TCP (RFC 8684).
        const MPTCP = 0x080;
        /// AccECN (RFC 9768).
        const ACCECN = 0x100;
        /// Any other kind.
        const OTHER = 0x200;
        /// Options that do not parse.
        const BROKEN = 0x400;
    }

    /// Changes to make to a packet; the fields of [`Edit`] hold the values.
    #[repr(transparent)]
    #[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
    pub struct Actions: u16 {
        /// The packet is dropped.
        const DROP = 0x001;
        /// Set the ECN codepoint.
        const CODEPOINT = 0x002;
        /// Clear and set TCP flags.
        const FLAGS = 0x004;
        /// Set the ACK number.
        const ACK = 0x008;
        /// Set the window.
        const WINDOW = 0x010;
        /// Set TSecr.
        const TSECR = 0x020;
        /// Replace the SACK blocks.
        const BLOCKS = 0x040;
        /// Send pure ACKs beside the packet.
        const CLONES = 0x080;
        /// Send [`Edit::reply`] back to the sender of the packet.
        const REPLY = 0x100;
    }

    /// Events to count: `enum ecn_event` of `c/flow.h`.
    #[repr(transparent)]
    #[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
    pub struct Events: u32 {
        /// The proxy made the served host's SYN request ECN.
        const UPGRADED = 0x000001;
        /// Handshake: both hosts use ECN.
        const BOTH = 0x000002;
        /// Handshake: only the client uses ECN.
        const CLIENT_ONLY = 0x000004;
        /// Handshake: only the server uses ECN.
        const SERVER_ONLY = 0x000008;
        /// Handshake: neither host uses ECN.
        const NEITHER = 0x000010;
        /// The proxy serves the connection from now on.
        const PROXIED = 0x000020;
        /// The proxy does not serve the connection, or stops.
        const BYPASS = 0x000040;
        /// A SYN passes without ECN because the first one was not answered.
        const FALLBACK = 0x000080;
        /// The far host answered the first SYN without ECN after one with ECN: ECN may be the cause.
        const DESTINATION_FAILED = 0x000100;
        /// A packet for the served host arrived with CE.
        const CE = 0x000200;
        /// The proxy set ECE on a packet of the served host.
        const ECHO = 0x000400;
        /// The proxy set ECT(0) on a packet of the served host.
        const ECT = 0x000800;
        /// The same, while an ECE is pending.
        const ECT_WAITING = 0x001000;
        /// The proxy set CWR on a packet of the served host.
        const CWR = 0x002000;
        /// The far host echoed a mark: an episode begins.
        const EPISODE = 0x004000;
        /// Answered by CWR alone: the sender's window is at its minimum of two segments.
        const ANSWERED_FLOOR = 0x008000;
        /// Answered: the sender has retransmitted a virtual loss.
        const ANSWERED_VIRTUAL_LOSS = 0x010000;
        /// Answered: the sender is repairing a real loss.
        const ANSWERED_LOSS = 0x020000;
        /// Answered: the sender has retransmitted a packet that the proxy dropped.
        const ANSWERED_DROP = 0x040000;
        /// The episode ends without an answer.
        const PASSED_OVER = 0x080000;
        /// A virtual loss opens.
        const VIRTUAL_LOSS = 0x100000;
        /// The proxy acknowledges the retransmission of a virtual loss itself.
        const SELF_ANSWER = 0x200000;
        /// A virtual loss ends.
        const RELEASED = 0x400000;
        /// New data goes out without ECT from now on.
        const ECT_WITHDRAWN = 0x800000;
        /// The connection was reset, or closed in both directions.
        const CLOSED = 0x1000000;
        /// A SYN without ECN in place of one that requests it was reset too: ECN is not the cause.
        const PLAIN_REFUSED = 0x2000000;
        /// The proxy absorbed the retransmission of a virtual loss; a later ACK of the far host answers it.
        const KEPT_BACK = 0x4000000;
        /// The SYN that requests ECN was reset: the port is closed, or ECN is the cause.
        const REFUSED = 0x8000000;
        /// The far host accepted a SYN without ECN in place of one that requests it.
        const PLAIN_ACCEPTED = 0x10000000;
        /// After a virtual loss or a drop the sender's flight has fallen.
        const FLIGHT_FELL = 0x20000000;
        /// After a virtual loss or a drop the sender's flight has not fallen.
        const FLIGHT_KEPT = 0x40000000;
    }
}

impl Events {
    /// The events that end an episode.
    pub const ENDS: Events = Events::ANSWERED_FLOOR
        .union(Events::ANSWERED_VIRTUAL_LOSS)
        .union(Events::ANSWERED_LOSS)
        .union(Events::ANSWERED_DROP)
        .union(Events::PASSED_OVER);
}

/// A SACK block.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Block {
    /// First sequence number of the block.
    pub start: u32,
    /// First sequence number after the block.
    pub end: u32,
}

/// A packet of one connection; a super-packet of GRO or GSO counts as one.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Packet {
    /// Time of a monotonic clock, in nanoseconds.
    pub now_ns: u64,
    /// TCP sequence number.
    pub seq: u32,
    /// TCP acknowledgment number.
    pub ack: u32,
    /// Payload of all segments of a super-packet together, in bytes.
    pub payload_bytes: u32,
    /// Payload of one segment, in bytes.
    pub segment_bytes: u32,
    /// TSval, valid with [`Options::TIMESTAMPS`].
    pub tsval: u32,
    /// TSecr, valid with [`Options::TIMESTAMPS`].
    pub tsecr: u32,
    /// As on the wire, before scaling.
    pub window: u16,
    /// The options present.
    pub options: Options,
    /// Maximum segment size in bytes, valid with [`Options::MSS`].
    pub mss: u16,
    /// The control bits.
    pub flags: Flags,
    /// 1 if AE is set (RFC 9768).
    pub ae: u8,
    /// The two ECN bits of the IP header.
    pub codepoint: u8,
    /// Window scale shift, valid with [`Options::WINDOW_SCALE`].
    pub window_scale: u8,
    /// Number of valid entries in `blocks`.
    pub block_count: u8,
    /// Padding; zero.
    pub reserved: u8,
    /// SACK blocks in the order of the option.
    pub blocks: [Block; BLOCKS_MAX],
}

impl Packet {
    /// The sequence number after the packet, with SYN and FIN counted.
    pub fn end(&self) -> u32 {
        let flag = |flag| u32::from(self.flags.contains(flag));
        self.seq
            .wrapping_add(self.payload_bytes)
            .wrapping_add(flag(Flags::SYN))
            .wrapping_add(flag(Flags::FIN))
    }

    /// The valid SACK blocks.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..usize::from(self.block_count).min(BLOCKS_MAX)]
    }
}

/// A pure ACK that the proxy sends in the name of the far host.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Reply {
    /// TCP sequence number.
    pub seq: u32,
    /// TCP acknowledgment number.
    pub ack: u32,
    /// TSval, valid if `timestamps` is 1.
    pub tsval: u32,
    /// TSecr, valid if `timestamps` is 1.
    pub tsecr: u32,
    /// As on the wire, before scaling.
    pub window: u16,
    /// 1: the ACK has timestamps.
    pub timestamps: u8,
    /// Padding; zero.
    pub reserved: u8,
}

/// The changes to a packet. The default leaves it untouched.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Edit {
    /// The changes to make.
    pub actions: Actions,
    /// The new window.
    pub window: u16,
    /// The new ACK number.
    pub ack: u32,
    /// The new TSecr.
    pub tsecr: u32,
    /// The new codepoint.
    pub codepoint: u8,
    /// Flags to clear, before `flags_set` applies.
    pub flags_clear: Flags,
    /// Flags to set.
    pub flags_set: Flags,
    /// 1: clear AE.
    pub clear_ae: u8,
    /// Number of pure ACKs to send beside the packet.
    pub clones: u8,
    /// Number of valid entries in `blocks`.
    pub block_count: u8,
    /// `enum ecn_reason`; see [`Edit::reason`].
    pub reason: u8,
    /// Padding; zero.
    pub reserved: u8,
    /// The events to count.
    pub events: Events,
    /// The new SACK blocks.
    pub blocks: [Block; BLOCKS_MAX],
    /// The ACK to send back, with [`Actions::REPLY`].
    pub reply: Reply,
}

impl Edit {
    /// Why the proxy bypasses the connection, passes over the episode or withdraws ECT.
    pub fn reason(&self) -> Reason {
        Reason::from_number(self.reason)
    }

    /// The valid new SACK blocks.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..usize::from(self.block_count).min(BLOCKS_MAX)]
    }
}

/// The settings of the proxy.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Policy {
    /// How the proxy signals a mark to a served sender.
    pub sender: SenderPolicy,
    /// The kill switch: the proxy edits nothing but still tracks connections.
    pub off: bool,
    /// The proxy takes on no new connection.
    pub draining: bool,
    /// Senders without SACK get ECT and virtual losses too.
    pub without_sack: bool,
    /// A retransmitted SYN requests ECN again. Otherwise it goes out without ECN (RFC 3168 section
    /// 6.1.1.1).
    pub keeps_asking: bool,
}

/// The proxy's response to an ECE that is meant for the served sender.
#[repr(u8)]
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum SenderPolicy {
    /// Simulate the loss of one segment in rewritten ACKs.
    #[default]
    VirtualLoss = 0,
    /// Drop one packet of the sender.
    Drop = 1,
    /// Leave the data of the sender Not-ECT.
    NoEct = 2,
}

/// The phase of a connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No packet has been seen.
    None,
    /// The served host has sent a SYN.
    HostOpens,
    /// The far host has sent a SYN.
    FarOpens,
    /// The proxy serves the connection.
    Proxied,
    /// The proxy does not edit the connection, or no longer.
    Bypass,
    /// Reset, or closed in both directions.
    Closed,
}

/// The state of the answer to an ECE.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No ECE is pending.
    Idle,
    /// An ECE is pending.
    Armed,
    /// A virtual loss is open and not yet retransmitted.
    VirtualLoss,
    /// The served host has retransmitted the virtual loss; the far host has not confirmed it.
    Retransmitted,
    /// The proxy dropped a segment that is not yet retransmitted.
    Dropped,
}

/// Why the proxy bypasses a connection, passes over an episode or withholds ECT.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// There is no reason to report.
    None,
    /// The served host uses ECN itself.
    HostHasEcn,
    /// The far host does not use ECN.
    FarWithoutEcn,
    /// ECN flags in the handshake that no RFC defines.
    StrangeHandshake,
    /// AE or an AccECN option on a connection that negotiated RFC 3168.
    AccEcn,
    /// TCP-MD5 signs the header (RFC 2385).
    Md5,
    /// TCP-AO signs the header (RFC 5925).
    Ao,
    /// Multipath TCP (RFC 8684).
    Mptcp,
    /// Options that do not parse.
    BrokenOptions,
    /// ECN SYNs to the destination get lost, or this one was not answered.
    Fallback,
    /// The far host's ACKs carry options that a virtual loss might contradict.
    UnknownOption,
    /// The sender does not use SACK.
    NoSack,
    /// The policy is `no-ect`.
    Policy,
    /// A FIN or RST arrived before the answer.
    Closing,
    /// The proxy is switched off.
    Off,
    /// An ECE has been pending for too long.
    Waits,
    /// The hosts opened a new connection under the same addresses.
    Reopened,
    /// The served host has sent data, but no answer to its SYN has passed the proxy.
    UnderWay,
    /// After virtual losses or drops the sender's flight does not fall.
    NoResponse,
}

impl Reason {
    /// Every reason, in the order of its number.
    pub const ALL: [Reason; 19] = [
        Reason::None,
        Reason::HostHasEcn,
        Reason::FarWithoutEcn,
        Reason::StrangeHandshake,
        Reason::AccEcn,
        Reason::Md5,
        Reason::Ao,
        Reason::Mptcp,
        Reason::BrokenOptions,
        Reason::Fallback,
        Reason::UnknownOption,
        Reason::NoSack,
        Reason::Policy,
        Reason::Closing,
        Reason::Off,
        Reason::Waits,
        Reason::Reopened,
        Reason::UnderWay,
        Reason::NoResponse,
    ];

    pub(crate) fn from_number(number: u8) -> Reason {
        Reason::ALL.get(usize::from(number)).copied().unwrap_or(Reason::None)
    }
}

/// `struct ecn_flow`.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct RawFlow {
    pub(crate) isn: u32,
    pub(crate) shown_una: u32,
    pub(crate) far_una: u32,
    snd_max: u32,
    round_end: u32,
    virtual_loss: u32,
    virtual_loss_end: u32,
    last_virtual_loss: u32,
    recover: u32,
    ts_floor: u32,
    sacked_to: u32,
    far_tsval: u32,
    /// `answered_at`, or `far_fin`.
    answered_at: u32,
    pub(crate) host_ack: u32,
    shown_tsecr: u32,
    min_rtt: u32,
    virtual_loss_tsval: u32,
    newest_tsval: u32,
    maybe_lost_below: u32,
    pub(crate) far_window: u16,
    shown_window: u16,
    segment_bytes: u16,
    average_segment_bytes: u16,
    flight_max: u16,
    previous_flight_max: u16,
    pub(crate) notes: u16,
    pub(crate) phase: u8,
    pub(crate) reason: u8,
    /// `syn_triple`, or `rounds_since`.
    rounds_since: u8,
    pub(crate) answer: u8,
    window_scale: u8,
    duplicates: u8,
    rewritten_acks: u8,
    /// `rounds`, or `retransmits`.
    rounds: u8,
    pub(crate) held_acks: u8,
    simultaneous: u8,
    plain_syns: u8,
    response_due: u8,
    unheeded: u8,
    pub(crate) surplus: u8,
}
