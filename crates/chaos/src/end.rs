//! One end with its application, its watch and its side of the carrier.

use crate::app::App;
use crate::bound;
use crate::congestion::{CongestionWatch, Positions, Sender};
use crate::repair::RepairWatch;
use crate::setup::{Opening, Setup};
use crate::watch::Watch;
use windlass_base::{Ecn, Rng, Span, Time};
use windlass_tcp::conn::Established;
use windlass_tcp::stream::Stream;
use windlass_tcp::{Connection, Error, Flags, Segment, SeqNumber, State};

/// A segment on its way.
#[derive(Clone)]
pub(crate) struct Packet {
    pub(crate) segment: Segment,
    pub(crate) payload: Vec<u8>,
    pub(crate) ecn: Ecn,
    /// Some of the payload was sent before.
    pub(crate) again: bool,
    /// How many segments that the peer must answer its sender had sent, if this is one; else 0.
    pub(crate) ask: u64,
    /// The latest of the other end's asks that had arrived when this was sent.
    pub(crate) answers: u64,
}

pub(crate) struct End {
    pub(crate) stream: Stream,
    pub(crate) app: App,
    pub(crate) watch: Watch,
    pub(crate) congestion: CongestionWatch,
    pub(crate) repair: RepairWatch,
    pub(crate) run_max: u32,
    pub(crate) coalesce: Option<Span>,
    pub(crate) early_timeouts: f64,
    pub(crate) rng: Rng,
    /// Arrived, waits for more to be coalesced with.
    pub(crate) waiting: Vec<Packet>,
    /// Segments sent that cover SND.UNA: each asks for an answer.
    asks: u64,
    /// SND.UNA at the latest ask: an advance answers all before.
    asked_at: u64,
    /// The latest ask to which something that arrived here was sent in answer.
    answered: u64,
    /// The asks before SND.UNA advanced last.
    before_progress: u64,
    /// Asks that need no answer for the end to go on asking.
    forgiven: u64,
    /// Timeouts up to the last change of `answered` or `forgiven`.
    timeouts_then: u64,
    /// The peer's latest ask that arrived here.
    heard: u64,
    last_arrival: Time,
    /// When `handle_timeout` was due last, and how often at that time.
    pub(crate) last_timeout: (Time, u32),
    /// A reset arrived after which nothing got lost.
    pub(crate) reset_in_calm: bool,
    pub(crate) window_probes: u64,
}

impl End {
    pub(crate) fn new(setup: &Setup, index: usize, seed: u64) -> End {
        let (own, peer) = (&setup.ends[index], &setup.ends[1 - index]);
        let established = setup.opening == Opening::Established;
        let part = index as u64;
        let mut app = App::new(own.app.clone(), index, setup.start, Rng::fork(seed, 10 + part));
        app.connected = established;
        End {
            stream: Stream::new(connection(setup, index)),
            app,
            watch: Watch::new(own, peer, established),
            congestion: CongestionWatch::new(&own.config),
            repair: RepairWatch::new(own, bound::longest_round_trip(setup)),
            run_max: own.run_max,
            coalesce: own.coalesce,
            early_timeouts: own.early_timeouts,
            rng: Rng::fork(seed, 20 + part),
            waiting: Vec::new(),
            asks: 0,
            asked_at: 0,
            answered: 0,
            before_progress: 0,
            forgiven: 0,
            timeouts_then: 0,
            heard: 0,
            last_arrival: setup.start,
            last_timeout: (Time::ZERO, 0),
            reset_in_calm: false,
            window_probes: 0,
        }
    }

    pub(crate) fn connection(&self) -> &Connection {
        self.stream.connection()
    }

    /// When it wants to be looked after.
    pub(crate) fn next_time(&self) -> Option<Time> {
        let timer = self.connection().poll_timeout();
        timer.into_iter().chain(self.app.next_time()).min()
    }

    /// SND.UNA, as far as it can be seen from outside.
    fn una(&self) -> u64 {
        match self.connection().state() {
            State::SynSent | State::SynReceived => 0,
            _ => self.connection().bytes_acked() + 1,
        }
    }

    fn positions(&self, segment: &Segment) -> Positions {
        let agreed = self.connection().sack_negotiated();
        let (una, sent) = (self.una(), self.watch.sent());
        let position = |number: &SeqNumber| self.watch.position(*number);
        let blocks = segment.options.sack.as_slice().iter().filter(|_| agreed);
        // Of an old ACK the blocks are acknowledged.
        let news = blocks.filter(|(left, _)| position(left).is_some_and(|left| left > una));
        let ends = news.filter_map(|(_, right)| position(right).filter(|end| *end <= sent));
        Positions { sent, reported: ends.max().unwrap_or(0) }
    }

    /// `segment` as it leaves.
    pub(crate) fn packet(&mut self, segment: Segment, payload: Vec<u8>, ecn: Ecn) -> Packet {
        let una = self.una();
        if una > self.asked_at {
            self.asked_at = una;
            self.answered = self.asks;
            self.before_progress = self.asks;
            self.timeouts_then = self.connection().stats().timeouts;
        }
        let position = self.watch.position(segment.seq).unwrap_or(0);
        let asks = (position..position + u64::from(segment.sequence_len())).contains(&una);
        self.asks += u64::from(asks);
        let ask = if asks { self.asks } else { 0 };
        Packet { segment, payload, ecn, again: false, ask, answers: self.heard }
    }

    /// `packet` arrives.
    pub(crate) fn receive(&mut self, now: Time, packet: &Packet, calm: bool) -> Result<(), String> {
        self.heard = self.heard.max(packet.ask);
        let silent_since = (self.answered, self.forgiven);
        // A reset beside the expected number is challenged, and nothing else in it is looked at
        // (RFC 9293 §3.10.7.4): it answers nothing.
        if !packet.segment.flags.contains(Flags::RST) {
            self.answered = self.answered.max(packet.answers);
            if !self.watch.is_old(&packet.segment) {
                self.last_arrival = now;
            }
        }
        self.watch.arriving(&packet.segment, self.una());
        self.reset_in_calm |= calm
            && packet.segment.flags.contains(Flags::RST)
            && !matches!(self.connection().state(), State::Closed | State::Listen);
        let before = self.connection().bytes_received();
        let nothing_in_flight = self.connection().in_flight() == 0;
        let sender = Sender::of(self.connection());
        self.stream.handle_segment(now, &packet.segment, &packet.payload, packet.ecn, &mut ());
        let taken = self.connection().bytes_received() > before;
        self.watch.arrived(&packet.segment, packet.ecn, taken);
        if packet.again && taken {
            self.repair.filled(now, self.connection().bytes_received());
        }
        if nothing_in_flight {
            // Whatever it probes may go on for as long as the peer is heard.
            self.forgiven = self.asks;
        }
        if (self.answered, self.forgiven) != silent_since {
            self.timeouts_then = self.connection().stats().timeouts;
        }
        let (connection, positions) = (self.stream.connection(), self.positions(&packet.segment));
        self.congestion.arrived(&sender, &packet.segment, connection, positions)
    }

    /// Enough of its segments went unanswered, or moved nothing though the peer was heard of (the count
    /// is of transmissions of the same segment: RFC 9293 §3.8.3), or it heard nothing for as long as
    /// keep-alive asks. Probes of a window may be answered without end.
    pub(crate) fn may_time_out(&self, now: Time) -> bool {
        let config = self.connection().config();
        let retries = if self.app.connected {
            config.timers.max_retries
        } else {
            config.timers.max_syn_retries
        };
        let silence = now.saturating_since(self.last_arrival);
        let dead = config
            .timers
            .keep_alive
            .is_some_and(|probing| silence >= probing.interval * u64::from(probing.probes));
        let answered = self.answered.min(self.before_progress.max(self.forgiven));
        dead || self.asks - answered >= u64::from(retries)
    }

    /// It went on asking long after it should have given up.
    pub(crate) fn asks_too_long(&self) -> bool {
        let config = self.connection().config();
        let retries = u64::from(config.timers.max_retries);
        // The first transmission, a fast retransmit and its repetition, and a rescue beside. A
        // SYN-ACK goes out once more for each SYN as well. RACK may send again for each ACK, while
        // those of the originals are on their way.
        let unanswered = self.asks - self.answered.max(self.forgiven);
        let timeouts = self.connection().stats().timeouts - self.timeouts_then;
        self.app.connected
            && unanswered > retries + 4
            && (!config.recovery.rack || timeouts > retries)
    }

    /// Its end is an error.
    pub(crate) fn failed(&self) -> Option<Error> {
        self.app.over.and_then(Result::err)
    }

    /// Everything written here arrived at `peer`, and everything there here.
    pub(crate) fn exchanged_all(&self, peer: &End) -> bool {
        let (own, other) = (self.connection(), peer.connection());
        own.peer_closed()
            && other.peer_closed()
            && own.bytes_received() == other.bytes_written()
            && other.bytes_received() == own.bytes_written()
    }
}

fn connection(setup: &Setup, index: usize) -> Connection {
    let (own, peer) = (&setup.ends[index], &setup.ends[1 - index]);
    let config = own.config.clone();
    match (setup.opening, index) {
        (Opening::Established, _) => {
            let agreed = Established {
                local_isn: own.isn,
                remote_isn: peer.isn,
                peer_mss: peer.config.mss,
                peer_window: peer.config.buffers.receive,
            };
            Connection::established(config, setup.start, agreed)
        }
        (Opening::Handshake, 1) => Connection::listen(config, own.isn),
        _ => Connection::connect(config, setup.start, own.isn),
    }
}
