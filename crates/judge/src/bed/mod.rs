//! A connection over one bottleneck, which a program may change between any two events.

mod link;
mod run;
mod script;
mod window;
mod wire;

pub(crate) use script::{AT_ONCE, Burst};
pub(crate) use window::Cut;
pub use wire::{Event, EventKind, Wire};

use crate::subject::{Ecn, Packet, Repair, Sender, Setup, Subject};
use crate::verdict::Fault;
use link::{Link, Policer};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use windlass_base::{Span, Time};
use windlass_tcp::cc::NewReno;
use windlass_tcp::config::EcnEcho;
use windlass_tcp::{Connection, Profile, SeqNumber};

/// Payload bytes of a full segment, with timestamps.
pub const PAYLOAD: u64 = 1448;
/// Payload of a full segment without options, in bytes.
pub(crate) const MSS: u16 = 1460;
/// Bytes of its packet on the link.
pub const PACKET: u64 = 1500;

/// The path, as data.
#[derive(Copy, Clone, Debug)]
pub struct Path {
    /// Rate of the bottleneck.
    pub mbit_per_s: f64,
    /// Round-trip time without a queue.
    pub rtt_ms: u64,
    /// Room of its queue, in bandwidth-delay products of the rate above; at least two packets.
    pub queue_bdp: f64,
}

impl Path {
    /// Payload bytes per second that the bottleneck carries.
    pub fn goodput(&self) -> f64 {
        self.mbit_per_s * 1e6 / 8.0 * PAYLOAD as f64 / PACKET as f64
    }

    /// The bandwidth-delay product in bytes on the link.
    pub fn bdp(&self) -> f64 {
        self.mbit_per_s * 1e6 / 8.0 * self.rtt_ms as f64 / 1e3
    }

    fn queue_bytes(&self) -> u64 {
        (self.bdp() * self.queue_bdp) as u64
    }

    fn one_way(&self) -> Span {
        Span::from_millis(self.rtt_ms) / 2
    }
}

/// The application.
#[derive(Copy, Clone, Debug)]
pub enum Traffic {
    /// Always has data.
    Bulk,
    /// Writes so many bytes in each millisecond.
    PerMillisecond(u64),
    /// Writes nothing but what the program does with [`Bed::write`].
    Pause,
}

/// The fate of a packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It passes.
    Pass,
    /// It is lost before the queue.
    Drop,
    /// It gets CE, if its sender understands marks.
    Mark,
    /// It arrives so much later, and others overtake it.
    Late(Span),
    /// It arrives twice.
    Twice,
}

/// A comparison of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// When it was made.
    pub at: Time,
    /// The quantity, with its unit.
    pub what: &'static str,
    /// The value that was seen.
    pub seen: f64,
    /// The values that are expected.
    pub expected: RangeInclusive<f64>,
}

impl Check {
    /// When, in seconds since the case began.
    pub fn seconds(&self) -> f64 {
        seconds(self.at)
    }

    /// Both as a text: `cwnd in bytes: 2896, expected 14480 to 15928`.
    fn text(&self) -> String {
        let expected = match (self.expected.start(), self.expected.end()) {
            (least, most) if most.is_infinite() => format!("at least {least}"),
            (least, most) if least.is_infinite() => format!("at most {most}"),
            (least, most) if least == most => format!("{least}"),
            (least, most) => format!("{least} to {most}"),
        };
        let seen = format!("{:.6}", self.seen);
        let seen = seen.trim_end_matches('0').trim_end_matches('.');
        format!("{}: {seen}, expected {expected}", self.what)
    }

    /// Whether it is as expected.
    pub fn holds(&self) -> bool {
        self.expected.contains(&self.seen)
    }
}

/// When every case begins.
fn begin() -> Time {
    Time::ZERO + Span::from_secs(1)
}

/// Seconds since the case began.
pub(crate) fn seconds(at: Time) -> f64 {
    at.saturating_since(begin()).as_secs_f64()
}

/// Decides what becomes of a data packet. It sees the packet, and whether its data was sent before.
type DataRule = Box<dyn FnMut(&Packet, bool) -> Fate>;
/// Decides what becomes of an ACK, and may change it.
type AckRule = Box<dyn FnMut(&mut Packet) -> Fate>;

/// Packets that arrive at an end, by time and order.
type Arriving = BTreeMap<(Time, u64), Packet>;

/// A sender, a receiver and the path between them.
pub struct Bed {
    pub(crate) now: Time,
    /// When the latest event was due: `now`, or earlier in real time.
    due: Time,
    sender: Box<dyn Sender>,
    receiver: Connection,
    pub(crate) path: Path,
    pub(crate) traffic: Traffic,
    /// ACKs arrive together, at multiples of this.
    pub(crate) ack_slot: Option<Span>,
    link: Link,
    wire: Wire,
    /// So many packets that leave the queue are still to be late, by this.
    late: (u32, Span),
    on_data: Option<DataRule>,
    on_acks: Option<AckRule>,
    there: Arriving,
    back: Arriving,
    order: u64,
    next_write: Time,
    written: u64,
    sent_packets: u64,
    checks: Vec<Check>,
    /// Kept for its memory.
    outgoing: Vec<Packet>,
}

impl Bed {
    /// The sender opens its connection at once.
    ///
    /// # Errors
    ///
    /// The subject cannot have these options; its reason.
    pub(crate) fn new(
        subject: &dyn Subject,
        setup: Setup,
        path: Path,
        traffic: Traffic,
    ) -> Result<Bed, String> {
        let now = begin();
        let sender = subject.open(&setup, now)?;
        let mut bed = Bed {
            now,
            due: now,
            sender,
            receiver: receiver(&setup),
            path,
            traffic,
            ack_slot: None,
            link: Link::new(&path),
            wire: Wire::default(),
            late: (0, Span::ZERO),
            on_data: None,
            on_acks: None,
            there: Arriving::new(),
            back: Arriving::new(),
            order: 0,
            next_write: now,
            written: 0,
            sent_packets: 0,
            checks: Vec::new(),
            outgoing: Vec::new(),
        };
        bed.transmit();
        Ok(bed)
    }

    pub(crate) fn into_records(self) -> (Vec<Check>, Wire) {
        (self.checks, self.wire)
    }
}

/// The view of a program.
impl Bed {
    /// A variable of the sender; not a number where it hides it.
    pub(crate) fn get(&self, name: &str) -> f64 {
        self.sender.variable(name).unwrap_or(f64::NAN)
    }

    /// The packets at the sender's end so far.
    pub(crate) fn wire(&self) -> &Wire {
        &self.wire
    }

    /// FlightSize in bytes, by the packets.
    pub(crate) fn flight(&self) -> f64 {
        self.wire.flight() as f64
    }

    /// FlightSize in full segments.
    pub(crate) fn flight_segments(&self) -> f64 {
        self.flight() / PAYLOAD as f64
    }

    /// Bytes acknowledged so far.
    pub(crate) fn delivered(&self) -> f64 {
        self.wire.acked() as f64
    }

    /// Bytes that wait in the queue.
    pub(crate) fn queued(&self) -> u64 {
        self.link.queued()
    }

    /// Packets lost so far, of data.
    pub(crate) fn dropped(&self) -> u64 {
        self.link.dropped
    }

    /// Packets that the sender sent so far.
    pub(crate) fn sent_packets(&self) -> u64 {
        self.sent_packets
    }

    /// Seconds since the case began.
    pub(crate) fn seconds(&self) -> f64 {
        seconds(self.now)
    }

    pub(crate) fn seconds_since(&self, begin: Time) -> f64 {
        self.now.saturating_since(begin).as_secs_f64()
    }

    /// Compares, notes it for the report, and fails where the value is outside.
    pub(crate) fn expect(
        &mut self,
        what: &'static str,
        seen: f64,
        expected: RangeInclusive<f64>,
    ) -> Result<(), Fault> {
        let check = Check { at: self.now, what, seen, expected };
        let verdict = if check.holds() { Ok(()) } else { Err(Fault::Failed(check.text())) };
        self.checks.push(check);
        verdict
    }
}

/// The means of a program.
impl Bed {
    /// Changes the rate; the queue's room in bytes stays.
    pub(crate) fn set_rate(&mut self, mbit_per_s: f64) {
        self.path.mbit_per_s = mbit_per_s;
    }

    /// Gives the queue the room that its BDPs have at the rate of now.
    pub(crate) fn set_queue_bdp(&mut self, queue_bdp: f64) {
        self.path.queue_bdp = queue_bdp;
        self.link.set_room(&self.path);
    }

    /// Loses packets behind the queue, with this probability.
    pub(crate) fn set_loss(&mut self, probability: f64) {
        self.link.loss = probability;
    }

    /// Marks packets that come while more bytes than this wait.
    pub(crate) fn mark_above(&mut self, bytes: Option<u64>) {
        self.link.mark_above = bytes;
    }

    /// The next packets that leave the queue arrive later than those behind them.
    pub(crate) fn delay_next(&mut self, packets: u32, by: Span) {
        self.late = (packets, by);
    }

    /// Drops what exceeds a rate, from now on.
    pub(crate) fn police(&mut self, mbit_per_s: f64, burst: u64) {
        self.link.policer = Some(Policer::new(self.now, mbit_per_s, burst));
    }

    /// Asks the rule about each packet with data that the sender sends from now on; the second argument says
    /// whether its data was sent before.
    pub(crate) fn on_data(&mut self, rule: impl FnMut(&Packet, bool) -> Fate + 'static) {
        self.on_data = Some(Box::new(rule));
    }

    /// Asks the rule about each packet that the receiver sends from now on.
    pub(crate) fn on_acks(&mut self, rule: impl FnMut(&mut Packet) -> Fate + 'static) {
        self.on_acks = Some(Box::new(rule));
    }

    /// Nothing more happens to packets.
    pub(crate) fn leave_alone(&mut self) {
        (self.on_data, self.on_acks) = (None, None);
    }

    /// Gives the next so many packets with data this fate.
    pub(crate) fn next_data(&mut self, mut packets: u32, fate: Fate) {
        self.on_data(move |_, _| {
            let is_due = packets > 0;
            packets = packets.saturating_sub(1);
            if is_due { fate } else { Fate::Pass }
        });
    }

    /// The application writes so many bytes; returns how many the sender took.
    pub(crate) fn write(&mut self, bytes: u64) -> u64 {
        let taken = self.sender.write(bytes);
        self.written += taken;
        self.transmit();
        taken
    }

    /// The application closes.
    pub(crate) fn close(&mut self) {
        self.sender.close(self.now);
        self.transmit();
    }

    /// Sends a packet to the sender in the receiver's place; it arrives at once.
    pub(crate) fn inject(&mut self, packet: Packet) {
        self.deliver_back(packet);
        self.transmit();
    }
}

fn receiver(setup: &Setup) -> Connection {
    let mut config = Profile::Linux.config(MSS, Arc::new(NewReno));
    config.ecn.enabled = setup.ecn != Ecn::Off;
    if setup.ecn == Ecn::Accurate {
        config.ecn.echo = EcnEcho::Accurate;
    }
    config.extensions.timestamps = setup.timestamps;
    config.extensions.sack = setup.repair != Repair::NewReno;
    config.acks.policy = setup.acks;
    config.buffers.receive = setup.receive_buffer;
    // A lost SYN-ACK is repaired by the sender's second SYN, whose timer is a second.
    config.timers.rto.initial = Span::from_secs(3);
    let mut receiver = Connection::listen(config, SeqNumber(9));
    receiver.discard_incoming();
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_is_a_sentence() {
        let text = |seen, expected| Check { at: begin(), what: "seconds", seen, expected }.text();
        assert_eq!(text(0.25, 0.98..=1.2), "seconds: 0.25, expected 0.98 to 1.2");
        assert_eq!(text(20.0, 1.0..=f64::INFINITY), "seconds: 20, expected at least 1");
        assert_eq!(text(f64::NAN, f64::NEG_INFINITY..=3.0), "seconds: NaN, expected at most 3");
    }
}
