//! A connection: the state machine of RFC 9293 over the sender, the receiver and the timers.
//!
//! An incoming segment passes `validate`, `acknowledge` (with `congestion`) and `deliver`;
//! before the connection is synchronised, `handshake`. For an outgoing segment, `transmit`
//! decides what to send, and `emit` fills in the header and updates the state.

mod accurate;
mod acknowledge;
mod cached_controller;
mod challenge;
mod commands;
mod congestion;
mod deliver;
mod emit;
mod events;
mod frto;
mod handshake;
mod hot_options;
mod inspect;
mod pacing;
mod predicted;
mod rack;
mod rates;
mod reduction;
mod rtt_samples;
mod run;
mod sender;
mod tail_probe;
#[cfg(test)]
mod tests;
mod timers;
mod trace;
mod transmit;
mod undo;
mod validate;

pub use crate::state::State;
pub use events::{Error, Event};
pub use inspect::CongestionState;
pub use run::{Accepted, Run};

use crate::accecn::AccEcn;
use crate::cc::Params;
use crate::config::RttSampling;
use crate::observer::Observer;
use crate::receiver::Receiver;
use crate::recovery::{Recovery, RttEstimator};
use crate::segment::Segment;
use crate::{Config, Flags, SeqNumber};
use alloc::boxed::Box;
use cached_controller::CachedController;
use challenge::Challenges;
use events::Events;
use hot_options::HotOptions;
use pacing::Pacer;
use sender::Sender;
use timers::Timers;
use trace::{Signals, Snapshot};
use windlass_base::{Ecn, Span, Time};

/// One end of a TCP connection.
///
/// Its methods come in four kinds: getters; commands of the application; `handle_*` for segments
/// that arrive and timers that expire; and `poll_*` for segments to send, events and the next
/// deadline. After a command or `handle_*`, poll until nothing is left. The documentation of the
/// [crate] describes the whole contract.
#[derive(Debug)]
// The fields are in the order in which a segment needs them, here and in the larger parts: those
// that every segment touches then share half as many cache lines.
#[repr(C)]
pub struct Connection {
    state: State,
    signals: Signals,
    events: Events,
    pending: Pending,
    agreed: Agreed,
    options: HotOptions,
    timers: Timers,
    tx: Sender,
    recovery: Recovery,
    congestion: CachedController,
    rtt: RttEstimator,
    rx: Receiver,
    /// AccECN (RFC 9768), if both ends agreed on it.
    accurate: Option<Box<AccEcn>>,
    stats: Stats,
    challenges: Challenges,
    pacer: Pacer,
    config: Config,
    /// False: the connection handles every segment by the general path.
    #[cfg(test)]
    fast_paths: bool,
}

/// The result of the handshake.
#[derive(Copy, Clone, Debug, Default)]
struct Agreed {
    /// Payload bytes of a full segment, options of every segment subtracted (RFC 6691).
    mss: u32,
    /// The peer's window shift; `None` if scaling is off.
    scaling: Option<u8>,
    timestamps: bool,
    sack: bool,
    /// ECN with classic feedback (RFC 3168). With AccECN this is false.
    ecn: bool,
    /// The peer's SYN had the MSS option.
    mss_announced: bool,
}

/// Decisions that wait for [`Connection::poll_transmit`].
#[derive(Clone, Debug, Default)]
struct Pending {
    /// A segment to send before anything else: a reset.
    reset: Option<Box<Segment>>,
    /// A second reset follows, one sequence number later.
    second_reset: bool,
    /// CWR is due on the next data (RFC 3168 §6.1.2).
    cwr: bool,
    /// A zero-window probe is due.
    window_probe: bool,
    /// A tail loss probe is due.
    tail_probe: bool,
    /// A keep-alive probe is due.
    keep_alive_probe: bool,
    /// New data waits for the retransmission timer, after an echo at a window of one segment (RFC 3168 §6.1.2).
    echo_pause: bool,
    /// Data is sent as Not-ECT until the first ACK of a connection without a handshake.
    ect_unconfirmed: bool,
    /// The window was restarted after idle time, and the observer has not seen the event yet.
    idle_restart: bool,
}

/// Counters of a connection since its beginning.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Stats {
    /// Segments with payload sent, retransmissions included.
    pub data_segments_sent: u64,
    /// Segments with payload retransmitted.
    pub retransmitted_segments: u64,
    /// Pure ACKs sent.
    pub acks_sent: u64,
    /// Segments received.
    pub segments_received: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast retransmits, and retransmissions that were lost and reduced the window again.
    pub fast_retransmits: u64,
    /// Tail loss probes sent (RFC 8985 §7).
    pub tail_probes: u64,
    /// Reductions of the window undone, because the retransmitted data had not been lost.
    pub undone_cuts: u64,
    /// New segments that F-RTO sent to find out whether a timeout was needless (RFC 5682 §2.1 step
    /// 2b).
    pub frto_probes: u64,
    /// Packets with CE received: those with data, and with AccECN all.
    pub ce_received: u64,
    /// ACKs with ECN echo received; with AccECN, ACKs that reported new marks.
    pub ece_received: u64,
    /// Reductions of the window after an ECN echo.
    pub ecn_cuts: u64,
    /// Segments received that contained no new data.
    pub duplicates_received: u64,
}

/// The values that a handshake would have agreed on, for [`Connection::established`].
#[derive(Copy, Clone, Debug)]
pub struct Established {
    /// This end's initial sequence number.
    pub local_isn: SeqNumber,
    /// The peer's initial sequence number.
    pub remote_isn: SeqNumber,
    /// The largest payload of a segment that the peer accepts, in bytes.
    pub peer_mss: u16,
    /// The peer's receive buffer in bytes, which is its first window.
    pub peer_window: u64,
}

/// Ways to open a connection.
impl Connection {
    fn new(config: Config, state: State, isn: SeqNumber) -> Connection {
        let mss = u32::from(config.mss);
        let params = controller_params(&config, mss);
        let mut connection = Connection {
            state,
            options: HotOptions::of(&config),
            tx: Sender::new(isn, sampling(&config)),
            rx: Receiver::new(&config),
            accurate: None,
            congestion: CachedController::of(&config, &params),
            rtt: RttEstimator::new(config.timers.clock, config.timers.rto),
            recovery: Recovery::new(),
            agreed: Agreed { mss, ..Agreed::default() },
            timers: Timers::default(),
            pending: Pending::default(),
            challenges: Challenges::default(),
            pacer: Pacer::default(),
            events: Events::default(),
            stats: Stats::default(),
            signals: Signals::default(),
            config,
            #[cfg(test)]
            fast_paths: true,
        };
        connection.set_up_rates();
        connection
    }

    /// This connection, changed to handle every segment by the general path.
    #[cfg(test)]
    fn without_fast_paths(self) -> Connection {
        Connection { fast_paths: false, ..self }
    }

    /// Whether common segments may skip the general path. Always true, except in tests of this
    /// crate, which compare the two.
    #[inline(always)]
    fn has_fast_paths(&self) -> bool {
        #[cfg(test)]
        return self.fast_paths;
        #[cfg(not(test))]
        true
    }

    /// Opens a connection actively: the first poll for a segment returns its SYN. `isn` is the
    /// initial sequence number, which must be hard to guess (RFC 6528).
    pub fn connect(config: Config, _now: Time, isn: SeqNumber) -> Connection {
        Connection::new(config, State::SynSent, isn)
    }

    /// Opens a connection passively: it waits for a SYN in LISTEN. `isn` as in
    /// [`Connection::connect`].
    pub fn listen(config: Config, isn: SeqNumber) -> Connection {
        Connection::new(config, State::Listen, isn)
    }

    /// A connection without a handshake, as in ns-2. Both ends treat the features of their own
    /// config as agreed, so both configs must offer the same features. With ECN, data is ECT from
    /// the first ACK on.
    pub fn established(config: Config, now: Time, agreed: Established) -> Connection {
        let mut connection = Connection::new(config, State::Established, agreed.local_isn);
        connection.establish_without_handshake(now, &agreed);
        connection
    }
}

/// The RTT sampling in force: RACK needs the send time of every segment.
fn sampling(config: &Config) -> RttSampling {
    if config.recovery.rack { RttSampling::EverySegment } else { config.timers.rtt_sampling }
}

fn controller_params(config: &Config, mss: u32) -> Params {
    Params {
        mss,
        initial_window: u64::from(mss) * u64::from(config.window.initial),
        initial_ssthresh: config.window.initial_ssthresh.unwrap_or(u64::MAX),
        whole_segment_cuts: config.window.whole_segment_cuts,
        whole_segment_growth: config.growth.whole_segments,
        abe: config.ecn.abe,
        least_window: u64::from(mss) * u64::from(config.window.least),
        paced_from: config.paces().then_some(pacing::LEAST_RTT),
    }
}

/// The state of a connection and its counters.
impl Connection {
    /// The state in the sense of RFC 9293 §3.3.2.
    pub fn state(&self) -> State {
        self.state
    }

    /// The options of this connection.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Counters since the beginning.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Congestion window in bytes, with its fraction.
    pub fn cwnd(&self) -> f64 {
        self.congestion.cwnd()
    }

    /// Slow start threshold in bytes; `u64::MAX` before the first cut.
    pub fn ssthresh(&self) -> u64 {
        self.congestion.ssthresh()
    }

    /// The value that the controller publishes under this name, for example
    /// [`NewEcn::SLOPE`](crate::cc::NewEcn::SLOPE), or its [variable](crate::cc::Controller::variable).
    pub fn trace_value(&self, name: &str) -> Option<f64> {
        self.congestion.trace_value(name)
    }

    /// SRTT in whole ticks of the connection's clock; `None` before the first sample.
    pub fn smoothed_rtt(&self) -> Option<Span> {
        (self.rtt.samples() > 0).then(|| self.rtt.smoothed())
    }

    /// The minimum RTT of this connection; `None` before the first sample.
    pub fn min_rtt(&self) -> Option<Span> {
        self.rtt.min_rtt()
    }

    /// The retransmission timeout in force, back-off included.
    pub fn rto(&self) -> Span {
        self.rtt.rto()
    }

    /// Payload bytes of a full segment.
    pub fn mss(&self) -> u32 {
        self.agreed.mss
    }

    /// ECN was negotiated, with classic or accurate feedback.
    pub fn ecn_negotiated(&self) -> bool {
        self.agreed.ecn || self.accurate.is_some()
    }

    /// SACK was negotiated.
    pub fn sack_negotiated(&self) -> bool {
        self.agreed.sack
    }

    /// Window scaling was negotiated.
    pub fn window_scaling_negotiated(&self) -> bool {
        self.agreed.scaling.is_some()
    }

    /// Timestamps were negotiated.
    pub fn timestamps_negotiated(&self) -> bool {
        self.agreed.timestamps
    }

    /// FlightSize: bytes between SND.UNA and SND.NXT.
    pub fn in_flight(&self) -> u64 {
        self.tx.nxt - self.tx.una
    }

    /// Bytes that congestion control allows in flight now: cwnd with its inflation, at most
    /// [`WindowConfig::limit`](crate::config::WindowConfig::limit).
    pub fn congestion_window_in_force(&self) -> u64 {
        self.window_in_force()
    }

    /// Bytes by which fast recovery without SACK inflates cwnd: segments that have left the network
    /// (RFC 5681 §3.2 steps 3 and 4). [`Connection::cwnd`] is without them.
    pub fn window_inflation(&self) -> u64 {
        self.recovery.inflation
    }

    /// The right edge of the peer's window, as an offset in the outgoing stream: the peer accepts
    /// the bytes before it.
    pub fn peer_window_edge(&self) -> u64 {
        self.tx.edge.saturating_sub(1)
    }

    /// Bytes of the outgoing stream acknowledged.
    pub fn bytes_acked(&self) -> u64 {
        self.tx.bytes_acked()
    }

    /// Bytes of the outgoing stream written so far.
    pub fn bytes_written(&self) -> u64 {
        self.tx.written - 1
    }

    /// Bytes of the incoming stream that have arrived in order.
    pub fn bytes_received(&self) -> u64 {
        self.rx.reassembly.data_end() - 1
    }

    /// Bytes of the incoming stream read by the application.
    pub fn bytes_read(&self) -> u64 {
        self.rx.reassembly.read_position() - 1
    }

    /// Bytes that the application can read now.
    pub fn readable(&self) -> u64 {
        self.rx.reassembly.readable()
    }

    /// Whether the application may still write: it has not closed, and the connection is not over.
    pub fn can_write(&self) -> bool {
        !self.tx.closed && self.state.can_send()
    }

    /// Bytes that the application can write now.
    pub fn writable(&self) -> u64 {
        if !self.can_write() {
            return 0;
        }
        let unacked = self.bytes_written() - self.bytes_acked();
        self.options.send_buffer.saturating_sub(unacked)
    }

    /// The size of the send buffer in force: bytes that may be written and not acknowledged.
    pub fn send_buffer(&self) -> u64 {
        self.options.send_buffer
    }

    /// The most bytes that the receive buffer may have to hold: unread bytes, and those that the
    /// announced window still allows the peer to send.
    pub(crate) fn receive_promise(&self) -> u64 {
        if self.state.can_receive() {
            self.rx.window.edge().saturating_sub(self.rx.reassembly.read_position())
        } else {
            self.readable()
        }
    }

    /// True if data has arrived beyond a gap.
    pub(crate) fn has_gap(&self) -> bool {
        self.rx.reassembly.has_gap()
    }

    /// True if the peer's FIN and all data before it have arrived.
    pub fn peer_closed(&self) -> bool {
        self.rx.reassembly.fin_received()
    }
}

/// Input from the network and the clock.
impl Connection {
    /// Handles a segment that arrived in a packet with the codepoint `ecn`. Returns the part of its
    /// payload to store.
    pub fn handle_segment(
        &mut self,
        now: Time,
        segment: &Segment,
        ecn: Ecn,
        observer: &mut impl Observer,
    ) -> Accepted {
        let before = Snapshot::take(self, observer);
        self.stats.segments_received += 1;
        let accepted = if let Some(accepted) = self.handle_predicted(now, segment, ecn) {
            accepted
        } else if self.state.is_synchronized() {
            self.handle_synchronized(now, segment, ecn)
        } else {
            self.handle_unsynchronized(now, segment, ecn);
            Accepted::default()
        };
        self.update_persist_timer(now);
        before.publish(self, now, observer);
        accepted
    }

    #[cold]
    fn handle_unsynchronized(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        match self.state {
            State::Listen => self.handle_in_listen(now, segment, ecn),
            State::SynSent => self.handle_in_syn_sent(now, segment, ecn),
            // RFC 9293 §3.10.7.1: CLOSED answers by a reset.
            _ if self.pending.reset.is_none() => {
                self.pending.reset = segment.reset_reply().map(Box::new);
            }
            _ => {}
        }
    }

    /// The steps of RFC 9293 §3.10.7.4, in its order.
    fn handle_synchronized(&mut self, now: Time, segment: &Segment, ecn: Ecn) -> Accepted {
        let accurate = self.accurate.is_some();
        if accurate && segment.flags.contains(Flags::SYN) {
            self.note_repeated_handshake(segment, ecn);
        }
        let Some(start) = self.validate(now, segment) else { return Accepted::default() };
        if !accurate && self.has_fast_paths() && self.repeats_last_ack(segment) {
            self.heard(now);
            self.tx.wl1 = self.tx.wl1.max(start);
        } else if !self.acknowledge(now, segment, start) {
            return Accepted::default();
        }
        self.remember_timestamp(now, segment, start);
        if accurate {
            self.count_arrival(segment, ecn);
        }
        self.deliver(now, segment, start, ecn)
    }

    /// Runs the timers that have expired at `now`. To be called at the time that
    /// [`Connection::poll_timeout`] returned; an earlier call has no effect.
    pub fn handle_timeout(&mut self, now: Time, observer: &mut impl Observer) {
        let before = Snapshot::take(self, observer);
        self.expire_timers(now);
        self.update_persist_timer(now);
        before.publish(self, now, observer);
    }
}

/// Output of the connection.
impl Connection {
    /// The next run to send, of at most `max` segments; 0 counts as 1. To be called until it
    /// returns `None` or the [last run](Run::is_last).
    pub fn poll_transmit(
        &mut self,
        now: Time,
        max: u32,
        observer: &mut impl Observer,
    ) -> Option<Run> {
        let mut run = Run::default();
        self.poll_transmit_into(now, max, observer, &mut run).then_some(run)
    }

    /// The ACK that is due for a segment of a batch. For carriers that pass in several segments before
    /// they drain the connection: they call this after each segment until it returns `None`, and send
    /// the ACKs before anything else.
    ///
    /// Without it the batch is acknowledged once. This always returns `None` with
    /// [`AckPolicy::Linux`](crate::config::AckPolicy::Linux), which acknowledges so.
    pub fn poll_ack(&mut self, now: Time, observer: &mut impl Observer) -> Option<Segment> {
        let acknowledges = self.rx.acks.is_due_within_batch()
            && self.state.is_synchronized()
            && self.state != State::SynReceived
            && self.pending.reset.is_none();
        if !acknowledges {
            return None;
        }
        let mut run = Run::default();
        self.fill_ack_apart(now, &mut run);
        trace::publish_run(self, now, Some(&run), observer);
        Some(run.first)
    }

    /// As [`Connection::poll_transmit`], but writes the run to `run`, which saves a copy. Returns
    /// false if there is nothing to send; the contents of `run` are unspecified then.
    #[inline(always)]
    pub fn poll_transmit_into(
        &mut self,
        now: Time,
        max: u32,
        observer: &mut impl Observer,
        run: &mut Run,
    ) -> bool {
        self.tx.in_batch = false;
        let any = self.fill_next(now, max.max(1), run);
        if !any {
            self.update_persist_timer(now);
        }
        trace::publish_run(self, now, any.then_some(&*run), observer);
        any
    }

    /// The time at which to call [`Connection::handle_timeout`]; `None` while no timer runs.
    pub fn poll_timeout(&self) -> Option<Time> {
        if self.state == State::Closed {
            return None;
        }
        self.timers.earliest().min(self.rx.acks.deadline()).time()
    }

    /// The next event for the application; `None` if there is no further one.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }
}
