//! A connection over one bottleneck that a program may change between any two events.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use windlass_base::{Ecn, Rng, Span, Time};
use windlass_tcp::cc::ControllerFactory;
use windlass_tcp::{Connection, Profile, Segment, SeqNumber};

/// Payload bytes of a full segment, with timestamps, and its bytes on the link.
pub(crate) const PAYLOAD: u64 = 1448;
const HEADERS: u64 = 52;
pub(crate) const PACKET: u64 = PAYLOAD + HEADERS;

/// The path, as data.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Path {
    /// Rate of the bottleneck.
    pub(crate) mbit_per_s: f64,
    /// Round-trip time without a queue.
    pub(crate) rtt_ms: u64,
    /// Room of its queue, in bandwidth-delay products of the rate above.
    pub(crate) queue_bdp: f64,
}

impl Path {
    /// Payload bytes per second that the bottleneck carries.
    pub(crate) fn goodput(&self) -> f64 {
        self.mbit_per_s * 1e6 / 8.0 * PAYLOAD as f64 / PACKET as f64
    }

    fn queue_bytes(&self) -> u64 {
        (self.mbit_per_s * 1e6 / 8.0 * self.rtt_ms as f64 / 1e3 * self.queue_bdp) as u64
    }
}

/// The application.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Traffic {
    /// Always has data.
    Bulk,
    /// Writes so many bytes in each millisecond.
    PerMillisecond(u64),
    /// Writes nothing.
    Pause,
}

/// A bucket that drops what exceeds its rate.
struct Policer {
    bytes_per_s: f64,
    burst: f64,
    tokens: f64,
    at: Time,
}

impl Policer {
    fn passes(&mut self, now: Time, bytes: f64) -> bool {
        let earned = now.saturating_since(self.at).as_secs_f64() * self.bytes_per_s;
        (self.tokens, self.at) = ((self.tokens + earned).min(self.burst), now);
        let passes = self.tokens >= bytes;
        if passes {
            self.tokens -= bytes;
        }
        passes
    }
}

/// Segments that arrive at an end, by time and order.
type Arriving = BTreeMap<(Time, u64), Segment>;

pub(crate) struct Bed {
    pub(crate) now: Time,
    pub(crate) sender: Connection,
    receiver: Connection,
    pub(crate) path: Path,
    pub(crate) traffic: Traffic,
    /// Probability with which a packet is lost behind the queue.
    pub(crate) loss: f64,
    /// ACKs arrive together, at multiples of this.
    pub(crate) ack_slot: Option<Span>,
    /// So many packets are still to be late, by this.
    late: (u32, Span),
    policer: Option<Policer>,
    queue: VecDeque<Segment>,
    queued: u64,
    queue_bytes: u64,
    /// The packet that the link serializes ends then.
    link_free: Option<Time>,
    there: Arriving,
    back: Arriving,
    order: u64,
    next_write: Time,
    rng: Rng,
    pub(crate) dropped: u64,
    pub(crate) sent_packets: u64,
}

impl Bed {
    pub(crate) fn new(factory: Arc<dyn ControllerFactory>, path: Path, traffic: Traffic) -> Bed {
        let mut config = Profile::Linux.config(PACKET as u16 - 40, factory);
        (config.recovery.undo, config.recovery.frto) = (true, true);
        // Whatever the application writes leaves at once.
        config.sending.nagle = false;
        (config.buffers.send, config.buffers.receive) = (64 << 20, 64 << 20);
        let now = Time::ZERO + Span::from_secs(1);
        let sender = Connection::connect(config.clone(), now, SeqNumber(1));
        let mut receiver = Connection::listen(config, SeqNumber(9));
        receiver.discard_incoming();
        let mut bed = Bed {
            now,
            sender,
            receiver,
            path,
            traffic,
            loss: 0.0,
            ack_slot: None,
            late: (0, Span::ZERO),
            policer: None,
            queue: VecDeque::new(),
            queued: 0,
            queue_bytes: path.queue_bytes(),
            link_free: None,
            there: Arriving::new(),
            back: Arriving::new(),
            order: 0,
            next_write: now,
            rng: Rng::new(1),
            dropped: 0,
            sent_packets: 0,
        };
        bed.transmit();
        bed
    }

    /// A variable of the controller, by its name in the draft.
    pub(crate) fn get(&self, name: &str) -> f64 {
        self.sender.trace_value(name).unwrap_or(f64::NAN)
    }

    /// C.inflight, where nothing is lost.
    pub(crate) fn in_flight(&self) -> f64 {
        self.sender.in_flight() as f64
    }

    /// Bytes delivered so far.
    pub(crate) fn delivered(&self) -> f64 {
        self.sender.bytes_acked() as f64
    }

    pub(crate) fn seconds_since(&self, begin: Time) -> f64 {
        self.now.saturating_since(begin).as_secs_f64()
    }

    /// Changes the rate; the queue's room in bytes stays.
    pub(crate) fn set_rate(&mut self, mbit_per_s: f64) {
        self.path.mbit_per_s = mbit_per_s;
    }

    /// Gives the queue the room that its BDPs have at the rate of now.
    pub(crate) fn set_queue_bdp(&mut self, queue_bdp: f64) {
        self.path.queue_bdp = queue_bdp;
        self.queue_bytes = self.path.queue_bytes();
    }

    /// The next packets arrive later than those behind them.
    pub(crate) fn delay_next(&mut self, packets: u32, by: Span) {
        self.late = (packets, by);
    }

    pub(crate) fn police(&mut self, mbit_per_s: f64, burst: u64) {
        let (bytes_per_s, burst) = (mbit_per_s * 1e6 / 8.0, burst as f64);
        self.policer = Some(Policer { bytes_per_s, burst, tokens: burst, at: self.now });
    }

    /// Runs until the condition holds after an event, before the sender reacts by sending. False if it does not hold
    /// within `limit`.
    pub(crate) fn run_until(&mut self, limit: Span, mut holds: impl FnMut(&Bed) -> bool) -> bool {
        let end = self.now + limit;
        loop {
            let Some(next) = self.next_time().filter(|next| *next <= end) else {
                self.now = end;
                return false;
            };
            self.now = self.now.max(next);
            self.work();
            let found = holds(self);
            self.transmit();
            if found {
                return true;
            }
        }
    }

    pub(crate) fn run_for(&mut self, span: Span) {
        self.run_until(span, |_| false);
    }

    fn next_time(&self) -> Option<Time> {
        let writes = !matches!(self.traffic, Traffic::Pause);
        [
            self.link_free,
            self.there.keys().next().map(|key| key.0),
            self.back.keys().next().map(|key| key.0),
            self.sender.poll_timeout(),
            self.receiver.poll_timeout(),
            writes.then_some(self.next_write),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// One event that is due.
    fn work(&mut self) {
        let now = self.now;
        if self.link_free.is_some_and(|at| at <= now) {
            return self.leave_link();
        }
        if self.there.keys().next().is_some_and(|key| key.0 <= now)
            && let Some((_, segment)) = self.there.pop_first()
        {
            self.receiver.handle_segment(now, &segment, Ecn::NotEct, &mut ());
            return;
        }
        if self.back.keys().next().is_some_and(|key| key.0 <= now)
            && let Some((_, segment)) = self.back.pop_first()
        {
            self.sender.handle_segment(now, &segment, Ecn::NotEct, &mut ());
            return;
        }
        if self.next_write <= now && !matches!(self.traffic, Traffic::Pause) {
            return self.write();
        }
        for end in [&mut self.sender, &mut self.receiver] {
            if end.poll_timeout().is_some_and(|at| at <= now) {
                end.handle_timeout(now, &mut ());
                return;
            }
        }
    }

    fn write(&mut self) {
        self.next_write = self.now + Span::from_millis(1);
        let bytes = match self.traffic {
            // As much as the path takes in some milliseconds, so that more than enough waits until the next write.
            Traffic::Bulk => {
                let sent = self.sender.bytes_acked() + self.sender.in_flight();
                let waits = self.sender.bytes_written().saturating_sub(sent);
                ((self.path.goodput() * 0.012) as u64 + 20 * PAYLOAD).saturating_sub(waits)
            }
            Traffic::PerMillisecond(bytes) => bytes,
            Traffic::Pause => 0,
        };
        if bytes > 0 {
            let _ = self.sender.write(bytes);
        }
    }

    fn transmit(&mut self) {
        while let Some(run) = self.sender.poll_transmit(self.now, 4, &mut ()) {
            run.segments().for_each(|segment| self.enter_link(segment));
        }
        while let Some(run) = self.receiver.poll_transmit(self.now, 4, &mut ()) {
            run.segments().for_each(|segment| self.answer(segment));
        }
    }

    fn one_way(&self) -> Span {
        Span::from_millis(self.path.rtt_ms) / 2
    }

    fn size(segment: &Segment) -> u64 {
        u64::from(segment.payload_len) + HEADERS
    }

    fn enter_link(&mut self, segment: Segment) {
        let size = Bed::size(&segment);
        self.sent_packets += 1;
        let now = self.now;
        let policed =
            self.policer.as_mut().is_some_and(|policer| !policer.passes(now, size as f64));
        if policed || self.queued + size > self.queue_bytes.max(2 * PACKET) {
            self.dropped += 1;
            return;
        }
        self.queue.push_back(segment);
        self.queued += size;
        self.start_link();
    }

    fn start_link(&mut self) {
        if let (None, Some(first)) = (self.link_free, self.queue.front()) {
            let bits = Bed::size(first) as f64 * 8.0;
            self.link_free =
                Some(self.now + Span::from_secs_f64(bits / self.path.mbit_per_s / 1e6));
        }
    }

    fn leave_link(&mut self) {
        self.link_free = None;
        if let Some(segment) = self.queue.pop_front() {
            self.queued -= Bed::size(&segment);
            if self.rng.chance(self.loss) {
                self.dropped += 1;
            } else {
                let mut at = self.now + self.one_way();
                if self.late.0 > 0 {
                    self.late.0 -= 1;
                    at += self.late.1;
                }
                self.order += 1;
                self.there.insert((at, self.order), segment);
            }
        }
        self.start_link();
    }

    fn answer(&mut self, segment: Segment) {
        let mut at = self.now + self.one_way();
        if let Some(slot) = self.ack_slot {
            at = Time::from_nanos(at.as_nanos().next_multiple_of(slot.as_nanos()));
        }
        self.order += 1;
        self.back.insert((at, self.order), segment);
    }
}
