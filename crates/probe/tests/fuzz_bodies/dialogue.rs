//! A hostile server of a dialogue: the fuzz input is what it says, over TCP of the engine's, with pauses, a
//! reset or a stall. For every input the probe must end in time, and must send no more than a request.

use std::net::SocketAddr;
use windlass_base::{Ecn, Span, Time};
use windlass_probe::dialogue::{Dialogue, Exchange};
use windlass_probe::split::SplitOrder;
use windlass_probe::wire::{self, Flow, Kind, Meta};
use windlass_probe::{Ending, Order, Probe, Purpose, Report, Target, Test};
use windlass_tcp::stream::Stream;
use windlass_tcp::{Connection, Profile, SeqNumber};

/// The longest request has some 11 kB; a connection may have several.
const SENT_BYTES_MAX: u64 = 32 * 1024;
const DELAY: Span = Span::from_millis(10);
/// Longer than the longest patience, and the time for which a connection of FTP is held.
const END: Span = Span::from_secs(120);

/// The first byte selects the purpose, the second how the script is cut; the rest is what the server says.
pub(crate) fn run_as(name: &str, bytes: &[u8]) {
    let Some(([purpose, cut], script)) = bytes.split_first_chunk::<2>() else { return };
    let dialogue = dialogue(name, *purpose);
    let purpose = match purpose % 3 {
        0 => Purpose::Scout,
        1 => Purpose::Measure(SplitOrder {
            test: Test::Split(4),
            acks: 3,
            timeout: Span::from_secs(3),
        }),
        _ => Purpose::Open,
    };
    let report = World::new(dialogue, purpose, script, *cut).play();
    let is_defined = matches!(
        report.ending,
        Ending::Measured
            | Ending::HeadRead
            | Ending::NoAnswer
            | Ending::Reset
            | Ending::TooShort
            | Ending::DialogueFailed { .. }
    );
    assert!(is_defined, "{:?}", report.ending);
}

fn dialogue(name: &str, variant: u8) -> Dialogue {
    let hash = "000102030405060708090a0b0c0d0e0f10111213";
    let target = Target::parse(&format!("{name}://h:1/{hash}")).expect("a URL");
    let send = vec![variant; usize::from(variant % 2)];
    let exchange = Exchange::new(send, Some("(?s)a.{0,9}b")).expect("an expression");
    Dialogue::of(&target.candidates[0], "x", &exchange).expect("a dialogue")
}

struct World<'a> {
    probe: Probe,
    server: Stream,
    flow: Flow,
    now: Time,
    script: &'a [u8],
    cut: u8,
    /// Packets by the time at which they arrive: to the server if true.
    wire: Vec<(Time, bool, Vec<u8>)>,
    sent_bytes: u64,
}

impl<'a> World<'a> {
    fn new(dialogue: Dialogue, purpose: Purpose, script: &'a [u8], cut: u8) -> World<'a> {
        let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let flow = Flow { local: address("192.0.2.9:61000"), remote: address("192.0.2.1:1") };
        let order = Order {
            purpose,
            dialogue,
            tls: None,
            handshake: Span::from_secs(6),
            patience: Span::from_secs(6),
            mss: if cut & 1 == 0 { 88 } else { 1460 },
            window: 256 * 1024,
            supply: 0,
        };
        let reno = std::sync::Arc::new(windlass_tcp::cc::Reno);
        let listen = Connection::listen(Profile::Linux.config(1460, reno), SeqNumber(7));
        World {
            probe: Probe::new(order, flow, 1, Time::ZERO),
            server: Stream::new(listen),
            flow,
            now: Time::ZERO,
            script,
            cut,
            wire: Vec::new(),
            sent_bytes: 0,
        }
    }

    fn play(mut self) -> Report {
        let mut steps = 0;
        loop {
            self.exchange();
            if self.probe.is_over() {
                return self.probe.report().expect("over").clone();
            }
            let due = self.wire.iter().map(|(at, ..)| *at).min();
            let server = self.server.connection().poll_timeout();
            let next = [due, server, self.probe.poll_timeout()].into_iter().flatten().min();
            self.now = self.now.max(next.expect("a probe that is not over has a timer"));
            steps += 1;
            assert!(steps < 100_000 && self.now < Time::ZERO + END, "a hang");
            self.deliver();
        }
    }

    /// Lets both ends send what they may.
    fn exchange(&mut self) {
        let mut packet = Vec::new();
        while self.probe.poll_transmit(self.now, &mut packet) {
            self.wire.push((self.now + DELAY, true, std::mem::take(&mut packet)));
        }
        let mut chunk = [0; 4096];
        let mut heard = false;
        while let Ok(len @ 1..) = self.server.read(&mut chunk) {
            self.sent_bytes += len as u64;
            heard = true;
        }
        assert!(self.sent_bytes < SENT_BYTES_MAX, "{} bytes of requests", self.sent_bytes);
        self.speak(heard);
        let back = Flow { local: self.flow.remote, remote: self.flow.local };
        while let Some((run, payload)) = self.server.poll_transmit(self.now, 1, &mut ()) {
            let mut packet = Vec::new();
            wire::emit(&back, &run.first, &payload, 0, &mut packet);
            self.wire.push((self.now + DELAY, false, packet));
        }
    }

    /// Says a piece of the script: the first one as a greeting, another one whenever something was heard.
    fn speak(&mut self, heard: bool) {
        let connection = self.server.connection();
        let greets = connection.bytes_written() == 0;
        let open = !matches!(
            connection.state(),
            windlass_tcp::State::Listen
                | windlass_tcp::State::SynReceived
                | windlass_tcp::State::Closed
        );
        if !open || !(greets || heard) {
            return;
        }
        let len = usize::from(self.cut).max(1) * 8;
        let (piece, rest) = self.script.split_at(len.min(self.script.len()));
        let taken = self.server.write(piece).unwrap_or(0);
        self.script = &self.script[taken..];
        // At the end a reset, a close, or silence.
        if rest.is_empty() {
            match self.cut % 3 {
                0 => self.server.connection_mut().abort(),
                1 => self.server.connection_mut().close(self.now),
                _ => {}
            }
        }
    }

    fn deliver(&mut self) {
        let now = self.now;
        let (due, later) =
            std::mem::take(&mut self.wire).into_iter().partition(|(at, ..)| *at <= now);
        self.wire = later;
        let due: Vec<(Time, bool, Vec<u8>)> = due;
        for (_, to_server, packet) in due {
            let incoming = wire::parse(&packet, Meta::default()).expect("a packet");
            match (&incoming.kind, to_server) {
                (Kind::Segment(received), true) => {
                    let (segment, payload) = (&received.segment, received.payload);
                    self.server.handle_segment(now, segment, payload, Ecn::NotEct, &mut ());
                }
                (kind, false) => self.probe.handle_packet(now, kind),
                _ => panic!("no good segment"),
            }
        }
        if self.server.connection().poll_timeout().is_some_and(|at| at <= now) {
            self.server.connection_mut().handle_timeout(now, &mut ());
        }
        if self.probe.poll_timeout().is_some_and(|at| at <= now) {
            self.probe.handle_timeout(now);
        }
    }
}
