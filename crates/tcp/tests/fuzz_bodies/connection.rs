//! Arbitrary bytes drive the peer, the network, the application and the clock of one connection.
//!
//! The bytes encode a list of steps. Sequence numbers are encoded relative to the last one that the
//! connection sent: random 32-bit numbers would nearly all lie outside its window.

use windlass_tcp::cc;
use windlass_tcp::config::{AckPolicy, EcnEcho, KeepAlive};
use windlass_tcp::conn::Established;
use windlass_tcp::segment::wire::{self, MAX_HEADER_LEN, Ports};
use windlass_tcp::{
    AccEcnOption, AccEcnOrder, Config, Connection, Ecn, Flags, Observer, Options, Profile, Run,
    SackBlocks, Segment, SeqNumber, Span, State, Time, Timestamps, TraceEvent,
};

/// More runs or events than one call can cause: beyond this number the connection would never stop.
const MAX_DRAIN: usize = 1 << 20;
/// The timers that may be due one after the other at the same instant.
const MAX_DUE_TIMERS: usize = 16;
/// The limit of a connection's size in printed form. A connection holds no payload, so this limits
/// its lists: ranges received, ranges acknowledged, segments sent.
const MAX_PRINTED_BYTES: usize = 1 << 20;
/// Steps between two checks of the printed size, because printing is slow.
const STEPS_BETWEEN_PRINTS: usize = 64;

/// One input of the target `connection`.
pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let mut bench = Bench::new(&mut input);
    let mut steps = 0;
    while !input.0.is_empty() {
        bench.step(&mut input);
        steps += 1;
        if steps % STEPS_BETWEEN_PRINTS == 0 {
            bench.check_memory();
        }
    }
    bench.drain(1);
    bench.check_memory();
}

/// Numbers out of bytes; zeros behind their end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn u16(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    fn u32(&mut self) -> u32 {
        u32::from(self.u16()) << 16 | u32::from(self.u16())
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.byte()) % from.len()]
    }

    /// Up to 78 hours, short spans as likely as long ones.
    fn span(&mut self) -> Span {
        let byte = self.byte();
        Span::from_nanos((1 << (byte % 48)) + u64::from(byte))
    }

    /// Mostly a small distance from `base`, seldom any number.
    fn near(&mut self, base: SeqNumber) -> SeqNumber {
        match self.byte() {
            0x80 => SeqNumber(self.u32()),
            0x81 => SeqNumber(base.0.wrapping_sub(u32::from(self.u16()))),
            0x82 => base.at(u64::from(self.u16())),
            small => SeqNumber(base.0.wrapping_add_signed(i32::from(small.cast_signed()))),
        }
    }
}

/// A connection and the state of its peer and its application.
struct Bench {
    connection: Connection,
    now: Time,
    /// The sequence number after the last that the connection sent.
    sent_end: SeqNumber,
    /// The sequence number that the connection expects next, by its last ACK.
    expected: SeqNumber,
    /// Bytes that the application has read.
    taken: u64,
}

impl Bench {
    fn new(input: &mut Input) -> Bench {
        let config = config(input);
        let now = Time::ZERO + input.span();
        let (local_isn, remote_isn) = (SeqNumber(input.u32()), SeqNumber(input.u32()));
        let connection = match input.byte() % 3 {
            0 => Connection::connect(config, now, local_isn),
            1 => Connection::listen(config, local_isn),
            _ => {
                let (peer_mss, peer_window) = (input.u16().max(1), u64::from(input.u32()));
                let agreed = Established { local_isn, remote_isn, peer_mss, peer_window };
                Connection::established(config, now, agreed)
            }
        };
        let (sent_end, expected) = (local_isn.at(1), remote_isn.at(1));
        Bench { connection, now, sent_end, expected, taken: 0 }
    }

    fn step(&mut self, input: &mut Input) {
        let step = input.byte();
        match step % 16 {
            0..4 => self.arrive(&arbitrary_segment(input, self.expected, self.sent_end), input),
            4 => self.arrive(&self.ack(), input),
            5 => self.arrive_in_order(input),
            6 => self.arrive_with_gaps(input),
            7 => self.arrive_with_sack_gaps(input),
            8 => self.write(u64::from(input.u16())),
            9 => self.read(u64::from(input.u16())),
            10 => self.wait(input.span()),
            11 | 12 => self.wait_for_the_timer(),
            13 => self.connection.handle_timeout(self.now, &mut Watch(self.now)),
            14 => self.end(input),
            _ => self.drain(u32::from(input.byte()) + 1),
        }
        // A carrier may change the connection several times before it drains it.
        if step < 0x80 {
            self.drain(u32::MAX);
        }
        self.check();
    }

    // ---- the peer and the network

    fn arrive(&mut self, segment: &Segment, input: &mut Input) {
        self.arrive_marked(segment, Ecn::from_bits(input.byte()));
    }

    fn arrive_marked(&mut self, segment: &Segment, ecn: Ecn) {
        let observer = &mut Watch(self.now);
        let accepted = self.connection.handle_segment(self.now, segment, ecn, observer);
        let end = u64::from(accepted.skip) + u64::from(accepted.len);
        assert!(end <= u64::from(segment.payload_len), "{accepted:?} of {segment:?}");
        let limit = self.taken + self.connection.config().buffers.receive;
        assert!(accepted.len == 0 || accepted.stream_offset + u64::from(accepted.len) <= limit);
    }

    /// The ACK of everything, with a window that lets more come.
    fn ack(&self) -> Segment {
        let (seq, ack) = (self.expected, self.sent_end);
        Segment { seq, ack, flags: Flags::ACK, window: u16::MAX, ..Segment::default() }
    }

    fn arrive_in_order(&mut self, input: &mut Input) {
        let segment = Segment { payload_len: u32::from(input.u16()), ..self.ack() };
        self.arrive(&segment, input);
    }

    /// As many holes in the incoming stream as one can make with small segments.
    fn arrive_with_gaps(&mut self, input: &mut Input) {
        let (count, size) = (u64::from(input.byte()), u64::from(input.byte()) + 1);
        let ecn = Ecn::from_bits(input.byte());
        let first = input.near(self.expected);
        for i in 1..=count {
            let seq = first.at(2 * size * i);
            let payload_len = size as u32;
            self.arrive_marked(&Segment { seq, payload_len, ..self.ack() }, ecn);
        }
    }

    /// Makes as many holes as fit into the SACK blocks of the peer.
    fn arrive_with_sack_gaps(&mut self, input: &mut Input) {
        let (count, size) = (u64::from(input.byte()), u64::from(input.byte()) + 1);
        let first = SeqNumber(self.sent_end.0.wrapping_sub((2 * size * count) as u32));
        let ack = SeqNumber(first.0.wrapping_sub(size as u32));
        for i in 0..count {
            let left = first.at(2 * size * i);
            let mut segment = Segment { ack, ..self.ack() };
            segment.options.sack.push(left, left.at(size));
            self.arrive_marked(&segment, Ecn::NotEct);
        }
    }

    // ---- the application

    fn write(&mut self, bytes: u64) {
        if let Ok(written) = self.connection.write(bytes) {
            assert!(written <= bytes);
        }
    }

    fn read(&mut self, bytes: u64) {
        if let Ok(read) = self.connection.read(bytes) {
            assert!(read <= bytes);
            self.taken += read;
        }
    }

    fn end(&mut self, input: &mut Input) {
        // Seldom an abort: it ends the input's use.
        if input.byte() < 224 { self.connection.close(self.now) } else { self.connection.abort() }
    }

    // ---- the clock

    fn wait(&mut self, span: Span) {
        self.now += span;
        self.run_due_timers();
    }

    fn wait_for_the_timer(&mut self) {
        if let Some(deadline) = self.connection.poll_timeout() {
            self.now = self.now.max(deadline);
            self.run_due_timers();
        }
    }

    fn run_due_timers(&mut self) {
        let due = |bench: &Bench| bench.connection.poll_timeout().is_some_and(|at| at <= bench.now);
        let mut expiries = 0;
        while due(self) {
            assert!(expiries < MAX_DUE_TIMERS, "a timer stays due: {:?}", self.connection);
            self.connection.handle_timeout(self.now, &mut Watch(self.now));
            self.drain(u32::MAX);
            expiries += 1;
        }
    }

    // ---- output of the connection

    fn drain(&mut self, max: u32) {
        let mut runs = 0;
        let observer = &mut Watch(self.now);
        while let Some(run) = self.connection.poll_transmit(self.now, max, observer) {
            self.check_run(&run, max);
            runs += 1;
            assert!(runs < MAX_DRAIN, "it never stops sending: {:?}", self.connection);
        }
        let events = core::iter::from_fn(|| self.connection.poll_event()).take(MAX_DRAIN).count();
        assert!(events < MAX_DRAIN, "its events never end: {:?}", self.connection);
    }

    fn check_run(&mut self, run: &Run, max: u32) {
        let payload_len = run.first.payload_len;
        assert!((1..=max).contains(&run.count) && payload_len <= self.connection.mss(), "{run:?}");
        assert!(run.count == 1 || payload_len > 0, "{run:?}");
        assert!(self.connection.config().ecn.enabled || run.ecn == Ecn::NotEct, "{run:?}");
        let end = run.stream_offset + u64::from(payload_len) * u64::from(run.count);
        assert!(payload_len == 0 || end <= self.connection.bytes_written(), "{run:?}");

        let mut count = 0;
        for segment in run.segments() {
            assert_eq!(segment.payload_len, payload_len, "{run:?}");
            check_wire(&segment);
            self.learn(&segment);
            count += 1;
        }
        assert_eq!(count, run.count, "{run:?}");
    }

    fn learn(&mut self, segment: &Segment) {
        let end = segment.seq.at(u64::from(segment.sequence_len()));
        if self.sent_end.is_before(end) {
            self.sent_end = end;
        }
        if segment.flags.contains(Flags::ACK) {
            self.expected = segment.ack;
        }
    }

    // ---- invariants

    fn check(&self) {
        let (connection, config) = (&self.connection, self.connection.config());
        let cwnd = connection.cwnd();
        // Prague paces windows of less than a segment.
        let is_fractional = config.congestion.name() == "prague";
        let least = if is_fractional { f64::MIN_POSITIVE } else { f64::from(connection.mss()) };
        assert!(cwnd.is_finite() && cwnd >= least, "{connection:?}");
        let unacknowledged = connection.bytes_written().checked_sub(connection.bytes_acked());
        assert!(unacknowledged.is_some_and(|bytes| bytes <= config.buffers.send), "{connection:?}");
        assert_eq!(connection.bytes_received(), self.taken + connection.readable());
        assert!(connection.readable() <= config.buffers.receive, "{connection:?}");
        if connection.state() == State::Closed {
            assert_eq!(connection.poll_timeout(), None, "a timer outlives {connection:?}");
        }
    }

    fn check_memory(&self) {
        let printed = format!("{:?}", self.connection).len();
        assert!(printed <= MAX_PRINTED_BYTES, "it grew to {printed} printed bytes");
    }
}

/// Checks that the wire format keeps every field of a segment that the engine sends.
fn check_wire(segment: &Segment) {
    let mut bytes = [0; MAX_HEADER_LEN];
    let len = wire::emit(segment, Ports::default(), &mut bytes);
    let (_, parsed, _) = wire::parse(&bytes[..len]).expect("a header just written");
    assert_eq!(Segment { payload_len: segment.payload_len, ..parsed }, *segment);
}

/// An observer that checks the time and the values of each event.
struct Watch(Time);

impl Observer for Watch {
    fn observe(&mut self, now: Time, event: TraceEvent) {
        assert_eq!(now, self.0, "{event:?}");
        match event {
            TraceEvent::Cwnd { bytes } => assert!(bytes.is_finite() && bytes > 0.0),
            TraceEvent::Controller(traced) => {
                assert!(traced.value.is_finite() && traced.value >= 0.0, "{traced:?}")
            }
            _ => {}
        }
    }
}

fn config(input: &mut Input) -> Config {
    let profile = input.pick(&Profile::ALL);
    let controller = profile.controller(input.pick(&cc::NAMES)).expect("a name that the list has");
    let sizes = input.byte();
    let mss = [88, 536, 1460, 8960][usize::from(sizes % 4)];
    let bits = input.byte();
    let bit = |number: u8| bits & 1 << number != 0;
    profile.config(mss, controller).with(|c| {
        c.sending.pacing = sizes & 0x04 != 0;
        c.recovery.undo = sizes & 0x08 != 0;
        c.recovery.frto = sizes & 0x20 != 0;
        c.ecn.enabled = bit(0);
        c.extensions.sack = bit(1);
        c.extensions.timestamps = bit(2);
        c.extensions.window_scaling = bit(3);
        c.sending.nagle = bit(4);
        c.window.idle_restart = bit(5);
        c.timers.keep_alive = bit(6).then(|| KeepAlive {
            idle: Span::from_secs(60),
            interval: Span::from_secs(5),
            probes: 3,
        });
        c.ecn.echo = match (bit(7), bit(5)) {
            (false, false) => EcnEcho::UntilCwr,
            (false, true) => EcnEcho::Accurate,
            (true, false) => EcnEcho::OncePerCe,
            (true, true) => EcnEcho::Dctcp,
        };
        c.acks.policy = ack_policy(input.byte());
        c.buffers.send = 1 << (8 + input.byte() % 9);
        c.buffers.receive = 1 << (8 + input.byte() % 13);
    })
}

fn ack_policy(byte: u8) -> AckPolicy {
    match byte {
        0..100 => AckPolicy::Immediate,
        100..200 => AckPolicy::Delayed { max: Span::from_millis(u64::from(byte)) },
        _ => AckPolicy::Split { parts: u32::from(byte % 8) + 1 },
    }
}

fn arbitrary_segment(input: &mut Input, seq: SeqNumber, ack: SeqNumber) -> Segment {
    Segment {
        seq: input.near(seq),
        ack: input.near(ack),
        flags: arbitrary_flags(input.byte()),
        window: input.u16(),
        options: arbitrary_options(input, ack),
        payload_len: match input.byte() {
            255 => input.u32(),
            254 => u32::from(input.u16()),
            253 => 1460,
            small => u32::from(small / 2),
        },
    }
}

/// AE in place of URG, which the engine ignores.
fn arbitrary_flags(bits: u8) -> Flags {
    let mut flags = Flags::from_bits_retain(u16::from(bits)) - Flags::URG;
    flags.set(Flags::AE, bits & 0x20 != 0);
    flags
}

fn arbitrary_counters(input: &mut Input) -> AccEcnOption {
    let bits = input.byte();
    let order = if bits & 1 == 0 { AccEcnOrder::Ect0First } else { AccEcnOrder::Ect1First };
    let values = [0; AccEcnOption::FIELDS].map(|_: u64| u64::from(input.u16()));
    AccEcnOption::new(order, &values[..usize::from(bits >> 1 & 3)])
}

fn arbitrary_options(input: &mut Input, ack: SeqNumber) -> Options {
    let bits = input.byte();
    let bit = |number: u8| bits & 1 << number != 0;
    let mut sack = SackBlocks::default();
    for _ in 0..bits >> 5 & 3 {
        sack.push(input.near(ack), input.near(ack));
    }
    Options {
        mss: bit(0).then(|| input.u16()),
        window_scale: bit(1).then(|| input.byte() % 15),
        sack_permitted: bit(2),
        timestamps: bit(3).then(|| Timestamps { value: input.u32(), echo_reply: input.u32() }),
        sack,
        accecn: bit(4).then(|| arbitrary_counters(input)),
    }
}
