//! The C structs, field for field; `c/packet.h` and `c/flow.h` say what each means.

/// The most SACK blocks of a packet.
pub const BLOCKS_MAX: usize = 4;

bitflags::bitflags! {
    /// The control bits of a TCP header's 14th octet.
    #[repr(transparent)]
    #[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
    pub struct Flags: u8 {
        /// No more data.
        const FIN = 0x01;
        /// Synchronise sequence numbers.
        const SYN = 0x02;
        /// Reset.
        const RST = 0x04;
        /// Push.
        const PSH = 0x08;
        /// The ACK number counts.
        const ACK = 0x10;
        /// Urgent.
        const URG = 0x20;
        /// ECN echo.
        const ECE = 0x40;
        /// Congestion window reduced.
        const CWR = 0x80;
    }

    /// Which options a segment carries.
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
        /// Timestamps.
        const TIMESTAMPS = 0x010;
        /// TCP-MD5 (RFC 2385).
        const MD5 = 0x020;
        /// TCP-AO (RFC 5925).
        const AO = 0x040;
        /// Multipath TCP.
        const MPTCP = 0x080;
        /// AccECN (RFC 9768).
        const ACCECN = 0x100;
        /// A kind that is not above.
        const OTHER = 0x200;
        /// Options that do not parse.
        const BROKEN = 0x400;
    }

    /// What is to be done with a packet.
    #[repr(transparent)]
    #[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
    pub struct Actions: u16 {
        /// It goes no further.
        const DROP = 0x001;
        /// Its codepoint changes.
        const CODEPOINT = 0x002;
        /// Its flags change.
        const FLAGS = 0x004;
        /// Its ACK number changes.
        const ACK = 0x008;
        /// Its window changes.
        const WINDOW = 0x010;
        /// Its TSecr changes.
        const TSECR = 0x020;
        /// Its SACK blocks change.
        const BLOCKS = 0x040;
        /// Pure ACKs follow it.
        const CLONES = 0x080;
        /// An ACK goes back.
        const REPLY = 0x100;
    }

    /// What is to be counted: `enum ecn_event` of `c/flow.h`.
    #[repr(transparent)]
    #[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
    pub struct Events: u32 {
        /// The served host's SYN asks for ECN now.
        const UPGRADED = 0x000001;
        /// Handshake: both hosts have ECN.
        const BOTH = 0x000002;
        /// Handshake: the client alone.
        const CLIENT_ONLY = 0x000004;
        /// Handshake: the server alone.
        const SERVER_ONLY = 0x000008;
        /// Handshake: neither.
        const NEITHER = 0x000010;
        /// The connection is served from here on.
        const PROXIED = 0x000020;
        /// It is not, or no more.
        const BYPASS = 0x000040;
        /// A SYN passes without ECN because the first was not answered.
        const FALLBACK = 0x000080;
        /// The destination is to be remembered as one that fails.
        const DESTINATION_FAILED = 0x000100;
        /// A packet for the served host came with CE.
        const CE = 0x000200;
        /// A packet of the served host got ECE.
        const ECHO = 0x000400;
        /// A packet of the served host got ECT(0).
        const ECT = 0x000800;
        /// The same, while an ECE waits for its answer.
        const ECT_WAITING = 0x001000;
        /// A packet of the served host got CWR.
        const CWR = 0x002000;
        /// The far host told of a mark: an episode begins.
        const EPISODE = 0x004000;
        /// Answered: the sender's window is as small as a reduction would make it.
        const ANSWERED_FLOOR = 0x008000;
        /// Answered: the sender has repaired a virtual loss.
        const ANSWERED_VIRTUAL_LOSS = 0x010000;
        /// Answered: the sender repairs a real loss.
        const ANSWERED_LOSS = 0x020000;
        /// Answered: the sender has repaired a dropped packet.
        const ANSWERED_DROP = 0x040000;
        /// Nobody answers the episode.
        const PASSED_OVER = 0x080000;
        /// A virtual loss opens.
        const VIRTUAL_LOSS = 0x100000;
        /// The proxy answers a virtual loss's retransmission itself.
        const SELF_ANSWER = 0x200000;
        /// A virtual loss is over.
        const RELEASED = 0x400000;
        /// New data goes without ECT from here on.
        const ECT_WITHDRAWN = 0x800000;
        /// The connection is over.
        const CLOSED = 0x1000000;
        /// A destination that was to fail refuses a SYN without ECN too.
        const PLAIN_REFUSED = 0x2000000;
        /// A virtual loss's retransmission goes no further: an ACK of the far host's own will answer it.
        const KEPT_BACK = 0x4000000;
    }
}

impl Events {
    /// Those that end an episode.
    pub const ENDS: Events = Events::ANSWERED_FLOOR
        .union(Events::ANSWERED_VIRTUAL_LOSS)
        .union(Events::ANSWERED_LOSS)
        .union(Events::ANSWERED_DROP)
        .union(Events::PASSED_OVER);
}

/// A SACK block: its first number, and the first one after it.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Block {
    /// Its first number.
    pub start: u32,
    /// The first number after it.
    pub end: u32,
}

/// A packet of one connection; a super-packet of GRO or GSO counts as one.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Packet {
    /// A monotonic clock, in nanoseconds.
    pub now_ns: u64,
    /// Sequence number.
    pub seq: u32,
    /// ACK number.
    pub ack: u32,
    /// Payload in bytes, of all segments together.
    pub payload_bytes: u32,
    /// Payload of one segment in bytes.
    pub segment_bytes: u32,
    /// With [`Options::TIMESTAMPS`].
    pub tsval: u32,
    /// With [`Options::TIMESTAMPS`].
    pub tsecr: u32,
    /// As on the wire, before scaling.
    pub window: u16,
    /// Which options it carries.
    pub options: Options,
    /// With [`Options::MSS`], in bytes.
    pub mss: u16,
    /// Control bits.
    pub flags: Flags,
    /// 1 if AE is set (RFC 9768).
    pub ae: u8,
    /// The two ECN bits of the IP header.
    pub codepoint: u8,
    /// With [`Options::WINDOW_SCALE`]: the shift.
    pub window_scale: u8,
    /// How many of `blocks` count.
    pub block_count: u8,
    /// Zero.
    pub reserved: u8,
    /// SACK blocks, in the option's order.
    pub blocks: [Block; BLOCKS_MAX],
}

impl Packet {
    /// The first number after what the packet occupies in sequence space.
    pub fn end(&self) -> u32 {
        let flag = |flag| u32::from(self.flags.contains(flag));
        self.seq
            .wrapping_add(self.payload_bytes)
            .wrapping_add(flag(Flags::SYN))
            .wrapping_add(flag(Flags::FIN))
    }

    /// The blocks that count.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..usize::from(self.block_count).min(BLOCKS_MAX)]
    }
}

/// A pure ACK of the proxy's own, in the far host's name.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Reply {
    /// Sequence number.
    pub seq: u32,
    /// ACK number.
    pub ack: u32,
    /// With `timestamps`.
    pub tsval: u32,
    /// With `timestamps`.
    pub tsecr: u32,
    /// As on the wire, before scaling.
    pub window: u16,
    /// 1: with timestamps.
    pub timestamps: u8,
    /// Zero.
    pub reserved: u8,
}

/// What becomes of a packet; by default it passes untouched.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Edit {
    /// Which of the fields count.
    pub actions: Actions,
    /// The new window.
    pub window: u16,
    /// The new ACK number.
    pub ack: u32,
    /// The new TSecr.
    pub tsecr: u32,
    /// The new codepoint.
    pub codepoint: u8,
    /// Flags that go, first.
    pub flags_clear: Flags,
    /// Flags that come, then.
    pub flags_set: Flags,
    /// 1: AE goes.
    pub clear_ae: u8,
    /// How many pure ACKs follow.
    pub clones: u8,
    /// How many of `blocks` count.
    pub block_count: u8,
    /// `enum ecn_reason`; see [`Edit::reason`].
    pub reason: u8,
    /// Zero.
    pub reserved: u8,
    /// What to count.
    pub events: Events,
    /// The new SACK blocks.
    pub blocks: [Block; BLOCKS_MAX],
    /// The ACK that goes back.
    pub reply: Reply,
}

impl Edit {
    /// Why a connection is bypassed, an episode passed over or ECT withdrawn.
    pub fn reason(&self) -> Reason {
        Reason::from_number(self.reason)
    }

    /// The new blocks that count.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..usize::from(self.block_count).min(BLOCKS_MAX)]
    }
}

/// What the proxy is told to do.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Policy {
    /// How a served sender is told of marks.
    pub sender: SenderPolicy,
    /// Nothing is edited, but connections are followed.
    pub off: bool,
    /// No new connection is taken on.
    pub draining: bool,
    /// Virtual loss for senders without SACK as well.
    pub without_sack: bool,
    /// A SYN that is sent again asks for ECN again, instead of going without (RFC 3168 section
    /// 6.1.1.1).
    pub keeps_asking: bool,
}

/// What becomes of an ECE that is meant for the served sender.
#[repr(u8)]
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum SenderPolicy {
    /// The sender is shown a virtual loss that is not there.
    #[default]
    VirtualLoss = 0,
    /// One packet of the sender is dropped.
    Drop = 1,
    /// What the sender sends stays Not-ECT.
    NoEct = 2,
}

/// How far a connection has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Unknown.
    None,
    /// The served host's SYN has passed.
    HostOpens,
    /// The far host's SYN has passed.
    FarOpens,
    /// Served.
    Proxied,
    /// Left alone.
    Bypass,
    /// Over.
    Closed,
}

/// How far the answer to an ECE has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No ECE waits.
    Idle,
    /// An ECE waits.
    Armed,
    /// A virtual loss is open.
    VirtualLoss,
    /// The virtual loss was sent again.
    Retransmitted,
    /// A segment was dropped and not sent again yet.
    Dropped,
}

/// Why a connection is bypassed, an episode passed over, or ECT withheld.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// None given.
    None,
    /// The served host has ECN itself.
    HostHasEcn,
    /// The far host wants none.
    FarWithoutEcn,
    /// Flags without a meaning in the handshake.
    StrangeHandshake,
    /// AE or AccECN's option where RFC 3168 was negotiated.
    AccEcn,
    /// TCP-MD5.
    Md5,
    /// TCP-AO.
    Ao,
    /// Multipath TCP.
    Mptcp,
    /// Options that do not parse.
    BrokenOptions,
    /// The destination is known to fail, or did not answer.
    Fallback,
    /// Options in ACKs that a virtual loss might contradict.
    UnknownOption,
    /// A sender without SACK.
    NoSack,
    /// The policy is no-ect.
    Policy,
    /// FIN or RST came before the answer.
    Closing,
    /// The switch is off.
    Off,
    /// An ECE waits too long.
    Waits,
    /// A new connection under the same addresses.
    Reopened,
}

impl Reason {
    /// Every reason, by its number.
    pub const ALL: [Reason; 17] = [
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
    ];

    pub(crate) fn from_number(number: u8) -> Reason {
        Reason::ALL.get(usize::from(number)).copied().unwrap_or(Reason::None)
    }
}
