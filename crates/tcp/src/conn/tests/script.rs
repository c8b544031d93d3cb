//! One connection with a script in place of its peer.
//!
//! Each line is a segment, as in a packet trace. Sequence numbers are relative to the SYN of each
//! end, which is 0; the first byte is 1:
//!
//! ```text
//! P. 1:1001 ack 1 win 500 sack 2001:3001,4001:5001 TS 70:90 accecn0 1001,0,1 ect0
//! ```
//!
//! A line begins with the flags: S, F, R, P, A for AE, E for ECE, W for CWR, `.` for ACK, `-` for none.
//! `first:end` of the payload follows, or only the sequence number if there is no payload. The
//! other words are optional. `x3` at the end means a run of three segments of this size.

use super::compared::Compared;
use super::config;
use crate::conn::{Accepted, Connection, Established, Event, Run, State};
use crate::{
    AccEcnOption, AccEcnOrder, Config, Ecn, Flags, Observer, Profile, Segment, SeqNumber, Span,
    Time, Timestamps, TraceEvent,
};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

/// Every script sees both streams wrap around 2^32.
pub(super) const LOCAL_ISN: SeqNumber = SeqNumber(u32::MAX - 2500);
const REMOTE_ISN: SeqNumber = SeqNumber(u32::MAX - 1700);

const FLAGS: [(char, Flags); 9] = [
    ('S', Flags::SYN),
    ('F', Flags::FIN),
    ('R', Flags::RST),
    ('P', Flags::PSH),
    ('A', Flags::AE),
    ('E', Flags::ECE),
    ('W', Flags::CWR),
    ('U', Flags::URG),
    ('.', Flags::ACK),
];

/// RFC 5681 without options and delayed ACKs, with segments of 1000 bytes: the base config of the
/// scripts.
pub(super) fn plain() -> Config {
    config(Profile::Rfc5681, "newreno").with(|c| {
        c.extensions.timestamps = false;
        c.extensions.window_scaling = false;
        c.extensions.sack = false;
        c.acks.policy = crate::config::AckPolicy::Immediate;
    })
}

/// [`plain`] with another controller.
pub(super) fn with_controller(name: &str) -> Config {
    plain().with(|c| c.congestion = crate::cc::by_name(name).expect("a controller of the crate"))
}

/// One end under test.
pub(super) struct Script {
    pub(super) connection: Compared,
    pub(super) now: Time,
    /// How many segments a run may have.
    pub(super) max_run: u32,
    /// The window of received segments whose line has none.
    pub(super) window: u16,
    sent: Vec<Run>,
    trace: Trace,
}

/// The events of the trace.
#[derive(Default)]
struct Trace(Vec<TraceEvent>);

impl Observer for Trace {
    fn observe(&mut self, _now: Time, event: TraceEvent) {
        self.0.push(event);
    }
}

impl Script {
    fn new(make: impl Fn() -> Connection, now: Time) -> Script {
        let connection = Compared::new(make);
        let (sent, trace) = (Vec::new(), Trace::default());
        let mut script = Script { connection, now, max_run: 1, window: u16::MAX, sent, trace };
        script.drain();
        script
    }

    /// Active open; the SYN is the first thing sent.
    pub(super) fn connect(config: Config) -> Script {
        let now = Time::from_nanos(10_000_000_000);
        Script::new(|| Connection::connect(config.clone(), now, LOCAL_ISN), now)
    }

    /// Passive open.
    pub(super) fn listen(config: Config) -> Script {
        let now = Time::from_nanos(10_000_000_000);
        Script::new(|| Connection::listen(config.clone(), LOCAL_ISN), now)
    }

    /// Connected, with the features of `config` agreed (a window shift of 0 from the peer), after
    /// a round trip of 100 ms and with a window of 65535 bytes.
    pub(super) fn established(config: Config) -> Script {
        let mut answer = String::from("S. 0 ack 1 mss 1000");
        for (wanted, option) in [
            (config.extensions.window_scaling, " wscale 0"),
            (config.extensions.sack, " sackOK"),
            (config.extensions.timestamps, " TS 1:10000"),
        ] {
            answer.push_str(if wanted { option } else { "" });
        }
        if config.ecn.enabled {
            answer = answer.replace("S.", "SE.");
        }
        let mut script = Script::connect(config);
        script.advance_ms(100);
        script.recv(&answer);
        script.skip();
        assert_eq!(script.connection.state(), State::Established);
        script
    }

    /// Connected without a handshake, as ns-2 does it.
    pub(super) fn without_handshake(config: Config) -> Script {
        let now = Time::from_nanos(10_000_000_000);
        let agreed = Established {
            local_isn: LOCAL_ISN,
            remote_isn: REMOTE_ISN,
            peer_mss: 1000,
            peer_window: 65535,
        };
        Script::new(|| Connection::established(config.clone(), now, agreed), now)
    }

    /// Takes everything the connection wants to send.
    pub(super) fn drain(&mut self) {
        while let Some(run) = self.connection.poll_transmit(self.now, self.max_run, &mut self.trace)
        {
            assert!(self.sent.len() < 10_000, "the connection never falls silent");
            self.sent.push(run);
        }
    }

    /// The peer's segment arrives.
    pub(super) fn recv(&mut self, line: &str) -> Accepted {
        let accepted = self.take(line);
        self.drain();
        accepted
    }

    /// As [`Script::recv`], but does not poll for the segments that follow.
    pub(super) fn take(&mut self, line: &str) -> Accepted {
        let (segment, ecn) = self.parse(line);
        self.connection.handle_segment(self.now, &segment, ecn, &mut self.trace)
    }

    /// The same segment arrives `times` times.
    pub(super) fn recv_times(&mut self, times: u32, line: &str) {
        for _ in 0..times {
            self.recv(line);
        }
    }

    pub(super) fn recv_all(&mut self, lines: &[&str]) {
        for line in lines {
            self.recv(line);
        }
    }

    /// [`Connection::makes_room_for`] a SYN from the peer.
    pub(super) fn makes_room_for(&self, syn: &str) -> bool {
        self.connection.makes_room_for(&self.parse(syn).0)
    }

    /// Everything sent since the last call of this, [`Script::expect_nothing`] or
    /// [`Script::skip`]. Windows and timestamps are compared where a line has them.
    #[track_caller]
    pub(super) fn expect(&mut self, lines: &[&str]) {
        let sent = core::mem::take(&mut self.sent);
        let shown: Vec<String> = sent
            .iter()
            .enumerate()
            .map(|(index, run)| show(run, lines.get(index).copied().unwrap_or_default()))
            .collect();
        assert_eq!(shown, lines);
    }

    #[track_caller]
    pub(super) fn expect_nothing(&mut self) {
        self.expect(&[]);
    }

    /// Discards the segments sent since the last call, and returns them.
    pub(super) fn skip(&mut self) -> Vec<Run> {
        core::mem::take(&mut self.sent)
    }

    /// Time passes; timers expire when they are due.
    pub(super) fn advance_ms(&mut self, ms: u64) {
        let until = self.now + Span::from_millis(ms);
        while let Some(deadline) = self.connection.poll_timeout().filter(|at| *at <= until) {
            assert!(deadline > self.now, "a timer that expires again and again");
            self.now = deadline;
            self.connection.handle_timeout(self.now, &mut self.trace);
            self.drain();
        }
        self.now = until;
    }

    /// Time until the next timer.
    pub(super) fn next_timer_ms(&self) -> Option<u64> {
        let deadline = self.connection.poll_timeout()?;
        Some(deadline.saturating_since(self.now).as_nanos() / 1_000_000)
    }

    #[track_caller]
    pub(super) fn write(&mut self, bytes: u64) {
        assert_eq!(self.connection.write(bytes), Ok(bytes));
        self.drain();
    }

    #[track_caller]
    pub(super) fn read(&mut self, bytes: u64) {
        assert_eq!(self.connection.read(bytes), Ok(bytes));
        self.drain();
    }

    pub(super) fn close(&mut self) {
        self.connection.close(self.now);
        self.drain();
    }

    pub(super) fn abort(&mut self) {
        self.connection.abort();
        self.drain();
    }

    #[track_caller]
    pub(super) fn expect_state(&self, state: State) {
        assert_eq!(self.connection.state(), state);
    }

    #[track_caller]
    pub(super) fn expect_events(&mut self, events: &[Event]) {
        let seen: Vec<Event> = core::iter::from_fn(|| self.connection.poll_event()).collect();
        assert_eq!(seen, events);
    }

    /// Takes the events of the trace since the last call.
    pub(super) fn take_trace(&mut self) -> Vec<TraceEvent> {
        core::mem::take(&mut self.trace.0)
    }

    /// cwnd and ssthresh in bytes.
    #[track_caller]
    pub(super) fn expect_windows(&self, cwnd: u64, ssthresh: u64) {
        let windows = (self.connection.cwnd() as u64, self.connection.ssthresh());
        assert_eq!(windows, (cwnd, ssthresh), "cwnd and ssthresh");
    }

    fn parse(&self, line: &str) -> (Segment, Ecn) {
        let mut words = line.split_whitespace();
        let flags = words.next().expect("flags").chars().filter(|c| *c != '-').map(flag).collect();
        let (seq, end) = range(words.next().expect("a sequence number"));
        let mut ecn = Ecn::NotEct;
        let mut segment = Segment {
            seq: REMOTE_ISN.at(seq),
            payload_len: (end - seq) as u32,
            flags,
            window: self.window,
            ..Segment::default()
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().expect("a value");
            let options = &mut segment.options;
            match word {
                "ack" => segment.ack = LOCAL_ISN.at(number(value())),
                "win" => segment.window = number(value()) as u16,
                "mss" => options.mss = Some(number(value()) as u16),
                "wscale" => options.window_scale = Some(number(value()) as u8),
                "sackOK" => options.sack_permitted = true,
                "TS" => options.timestamps = Some(timestamps(value())),
                "sack" => {
                    for (left, right) in value().split(',').map(range) {
                        assert!(options.sack.push(LOCAL_ISN.at(left), LOCAL_ISN.at(right)));
                    }
                }
                "accecn0" => {
                    options.accecn = Some(counters(AccEcnOrder::Ect0First, value()));
                }
                "accecn1" => {
                    options.accecn = Some(counters(AccEcnOrder::Ect1First, value()));
                }
                "ect0" => ecn = Ecn::Ect0,
                "ect1" => ecn = Ecn::Ect1,
                "ce" => ecn = Ecn::Ce,
                other => panic!("not a word of a segment: {other}"),
            }
        }
        (segment, ecn)
    }
}

fn number(word: &str) -> u64 {
    word.parse().expect("a number")
}

fn range(word: &str) -> (u64, u64) {
    let (first, end) = word.split_once(':').unwrap_or((word, word));
    (number(first), number(end))
}

fn timestamps(word: &str) -> Timestamps {
    let (value, echo_reply) = range(word);
    Timestamps { value: value as u32, echo_reply: echo_reply as u32 }
}

/// The counters of an AccECN option, in its order; `-` for none.
fn counters(order: AccEcnOrder, word: &str) -> AccEcnOption {
    let values: Vec<u64> = word.split(',').filter(|value| *value != "-").map(number).collect();
    AccEcnOption::new(order, &values)
}

fn flag(letter: char) -> Flags {
    FLAGS.iter().find(|(c, _)| *c == letter).expect("the letter of a flag").1
}

/// A run as a line; windows and timestamps only if `wanted` has them.
fn show(run: &Run, wanted: &str) -> String {
    let has = |word: &str| wanted.split_whitespace().any(|w| w == word);
    let segment = &run.first;
    let mut line: String =
        FLAGS.iter().filter(|(_, flag)| segment.flags.contains(*flag)).map(|(c, _)| *c).collect();
    if line.is_empty() {
        line.push('-');
    }
    let position = |number: SeqNumber, isn: SeqNumber| number.0.wrapping_sub(isn.0).to_string();
    let mut word = |word: String| write!(line, " {word}").expect("writes to a string");
    let first = position(segment.seq, LOCAL_ISN);
    if segment.payload_len > 0 {
        let end = segment.seq.at(u64::from(segment.payload_len));
        word(format!("{first}:{}", position(end, LOCAL_ISN)));
    } else {
        word(first);
    }
    if segment.flags.contains(Flags::ACK) {
        word(format!("ack {}", position(segment.ack, REMOTE_ISN)));
    }
    if has("win") {
        word(format!("win {}", segment.window));
    }
    show_options(segment, has("TS"), &mut word);
    match run.ecn {
        Ecn::NotEct => {}
        Ecn::Ect0 => word("ect0".to_string()),
        other => word(format!("{other:?}")),
    }
    if run.count > 1 {
        word(format!("x{}", run.count));
    }
    line
}

fn show_options(segment: &Segment, timestamps: bool, word: &mut impl FnMut(String)) {
    let options = &segment.options;
    if let Some(mss) = options.mss {
        word(format!("mss {mss}"));
    }
    if let Some(shift) = options.window_scale {
        word(format!("wscale {shift}"));
    }
    if options.sack_permitted {
        word("sackOK".to_string());
    }
    if let Some(ts) = options.timestamps.filter(|_| timestamps) {
        word(format!("TS {}:{}", ts.value, ts.echo_reply));
    }
    let edge = |number: SeqNumber| number.0.wrapping_sub(REMOTE_ISN.0);
    let blocks: Vec<String> = options
        .sack
        .as_slice()
        .iter()
        .map(|(left, right)| format!("{}:{}", edge(*left), edge(*right)))
        .collect();
    if !blocks.is_empty() {
        word(format!("sack {}", blocks.join(",")));
    }
    if let Some(option) = &options.accecn {
        word(shown_counters(option));
    }
}

fn shown_counters(option: &AccEcnOption) -> String {
    let (name, fields) = match option.order() {
        AccEcnOrder::Ect0First => ("accecn0", [option.ect0(), option.ce(), option.ect1()]),
        AccEcnOrder::Ect1First => ("accecn1", [option.ect1(), option.ce(), option.ect0()]),
    };
    let fields: Vec<String> = fields.iter().flatten().map(|field| field.to_string()).collect();
    let shown = if fields.is_empty() { String::from("-") } else { fields.join(",") };
    format!("{name} {shown}")
}
