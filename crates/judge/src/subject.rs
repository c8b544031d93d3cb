//! The subject of a judgement: a sender of TCP, whatever runs it.

use std::fmt;
use windlass_base::{Ecn as Codepoint, Time};
use windlass_tcp::Segment;
use windlass_tcp::config::AckPolicy;

/// Makes a sender for each case.
pub trait Subject {
    /// Its name in reports, as `cubic` or `Linux 6.18 cubic`.
    fn name(&self) -> String;

    /// The name of its congestion controller, by which [`Concerns`](crate::Concerns) chooses cases.
    fn controller(&self) -> String;

    /// Why it fails a case on purpose, if it does.
    fn explains(&self, _case: &str) -> Option<&'static str> {
        None
    }

    /// Opens a connection with these options; the SYN is its first packet.
    ///
    /// # Errors
    ///
    /// The reason for which it cannot have such options. The case is then not observable.
    fn open(&self, setup: &Setup, now: Time) -> Result<Box<dyn Sender>, String>;
}

/// A connection that sends.
pub trait Sender: fmt::Debug {
    /// Takes a packet from the network.
    fn receive(&mut self, now: Time, packet: &Packet);

    /// Does what is due at `now`.
    fn wake(&mut self, now: Time);

    /// When it wants to be woken; `None`: it has no timer, or a clock of its own.
    fn wakes_at(&self) -> Option<Time>;

    /// Appends the packets that it sends now.
    fn transmit(&mut self, now: Time, packets: &mut Vec<Packet>);

    /// Writes data of the application; returns how many bytes it takes.
    fn write(&mut self, bytes: u64) -> u64;

    /// Closes its direction: a FIN follows the data.
    fn close(&mut self, now: Time);

    /// Lets time pass until `until`, or until it has a packet to send; returns the time of then. In virtual time
    /// that is `until` at once.
    fn wait(&mut self, until: Time) -> Time {
        until
    }

    /// A variable of the sender, in bytes, seconds or bytes per second: `cwnd`, `ssthresh`, `srtt`, `rto`, the
    /// counters `timeouts`, `fast_retransmits` and `undone_cuts`, or one that its controller publishes. `None`
    /// where it hides it.
    fn variable(&self, name: &str) -> Option<f64>;
}

/// A packet of the connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The segment.
    pub segment: Segment,
    /// The codepoint in its IP header.
    pub ecn: Codepoint,
}

/// The options of a connection that a case asks for.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Setup {
    /// Which ECN the sender asks for.
    pub ecn: Ecn,
    /// How losses are found and repaired.
    pub repair: Repair,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Reactions to ECN echoes by RFC 8511 (ABE).
    pub abe: bool,
    /// Growth by draft-ietf-ccwg-ratelimited-increase.
    pub rate_limited: bool,
    /// Undo of needless reductions, by timestamps and DSACK, and F-RTO.
    pub undo: bool,
    /// The receiver's ACKs.
    pub acks: AckPolicy,
    /// The receiver's buffer in bytes, its largest window.
    pub receive_buffer: u64,
}

impl Setup {
    /// Without ECN; SACK, RACK-TLP and PRR; each segment acknowledged at once.
    pub const DEFAULT: Setup = Setup {
        ecn: Ecn::Off,
        repair: Repair::Rack,
        timestamps: true,
        abe: false,
        rate_limited: false,
        undo: false,
        acks: AckPolicy::Immediate,
        receive_buffer: 4 << 20,
    };
}

/// Which ECN a connection negotiates.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Without ECN.
    Off,
    /// RFC 3168's.
    Classic,
    /// Accurate ECN (RFC 9768).
    Accurate,
}

/// How a sender finds and repairs losses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    /// By duplicate ACKs and partial ACKs, without SACK (RFC 5681, RFC 6582).
    NewReno,
    /// By SACK (RFC 6675), without PRR.
    Sack,
    /// By SACK (RFC 6675), with PRR (RFC 9937).
    Prr,
    /// By RACK-TLP (RFC 8985), with PRR.
    Rack,
}
