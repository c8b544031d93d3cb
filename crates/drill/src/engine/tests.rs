//! A host driven by hand: packets in, packets out, calls.

use super::Engine;
use super::abi::{errno, event, level, misc, msg, so, tcp};
use super::wire::{Ends, Incoming, Marking, emit, parse};
use crate::call::{Call, Fd, Outcome, Return};
use crate::subject::{Host, Setup, Subject};
use windlass_base::{Ecn, Span, Time};
use windlass_tcp::segment::Options;
use windlass_tcp::{Flags, Segment, SeqNumber};

const LISTENER: Fd = Fd(3);
const SOCKET: Fd = Fd(4);
/// The largest payload of a segment that the other end takes.
const MSS: u16 = 1000;

/// A host, its peer's ends, and the host's first sequence number once it is known.
struct Bench {
    host: Box<dyn Host>,
    peer: Ends,
    isn: SeqNumber,
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

impl Bench {
    fn new() -> Bench {
        let setup = Setup {
            local: "192.168.0.1".parse().expect("an address"),
            prefix_len: 16,
            remote: "192.0.2.1".parse().expect("an address"),
            local_port: 8080,
            remote_port: 443,
            mapped: false,
            mtu: 1500,
        };
        let peer = Ends {
            local: (setup.remote, 40_000).into(),
            remote: (setup.local, setup.local_port).into(),
        };
        let host = Engine.start(&setup).expect("a host");
        Bench { host, peer, isn: SeqNumber(0) }
    }

    fn call(&mut self, call: &Call) -> Return {
        self.host.begin(call).expect("a call of the host");
        self.host.returned().expect("it does not block").1
    }

    /// The value of a call that succeeds at once.
    fn value(&mut self, call: &Call) -> i64 {
        self.call(call).value.expect("no error")
    }

    fn set(&mut self, fd: Fd, level: i32, name: i32, number: i32) {
        let value = number.to_ne_bytes().to_vec();
        assert_eq!(self.value(&Call::SetOption { fd, level, name, value }), 0);
    }

    /// Sends a segment of the peer: its position in the stream, what it acknowledges, and its length.
    fn arrives(&mut self, flags: Flags, seq: u32, ack: u32, len: u32) {
        let ack = if flags.contains(Flags::ACK) { self.isn.0 + ack } else { 0 };
        let syn = flags.contains(Flags::SYN);
        let segment = Segment {
            seq: SeqNumber(seq),
            ack: SeqNumber(ack),
            flags,
            window: 30_000,
            payload_len: len,
            options: Options { mss: syn.then_some(MSS), ..Options::default() },
        };
        self.host.receive(&emit(self.peer, &segment, Marking::default()).expect("a packet"));
    }

    /// The next segment of the host: flags, positions and length.
    fn leaves(&mut self) -> Option<(Flags, u32, u32, u32)> {
        let (_, packet) = self.host.transmit()?;
        let Some(Incoming::Segment { segment, .. }) = parse(&packet) else { panic!("no segment") };
        if segment.flags.contains(Flags::SYN) {
            self.isn = segment.seq;
        }
        let seq = segment.seq.0.wrapping_sub(self.isn.0);
        Some((segment.flags, seq, segment.ack.0, segment.payload_len))
    }

    fn listen(&mut self) {
        assert_eq!(self.value(&Call::Socket { nonblocking: false }), i64::from(LISTENER.0));
        assert_eq!(self.value(&Call::Bind { fd: LISTENER }), 0);
        assert_eq!(self.value(&Call::Listen { fd: LISTENER, backlog: 1 }), 0);
    }

    fn shakes_hands(&mut self) {
        self.arrives(Flags::SYN, 0, 0, 0);
        assert_eq!(self.leaves(), Some((Flags::SYN | Flags::ACK, 0, 1, 0)));
        self.arrives(Flags::ACK, 1, 1, 0);
        assert_eq!(self.leaves(), None);
    }

    /// A host with an accepted connection.
    fn accepted() -> Bench {
        let mut bench = Bench::new();
        bench.listen();
        bench.shakes_hands();
        let accept = Call::Accept { fd: LISTENER, nonblocking: false };
        assert_eq!(bench.value(&accept), i64::from(SOCKET.0));
        bench
    }

    fn write(&mut self, len: usize, flags: i32) -> Return {
        self.call(&Call::Send { fd: SOCKET, len, flags })
    }
}

const PUSH: Flags = Flags::ACK.union(Flags::PSH);
const FIN: Flags = Flags::ACK.union(Flags::FIN);

#[test]
fn a_blocking_accept_returns_with_the_last_ack_of_the_handshake() {
    let mut bench = Bench::new();
    bench.listen();
    let accept = Call::Accept { fd: LISTENER, nonblocking: false };
    bench.host.begin(&accept).expect("a call");
    assert_eq!(bench.host.returned(), None);
    assert_eq!(bench.host.wait(at(100)), at(100));
    bench.shakes_hands();
    let (time, returned) = bench.host.returned().expect("accepted");
    assert_eq!((time, returned.value), (at(100), Ok(i64::from(SOCKET.0))));
}

#[test]
fn data_goes_both_ways_and_both_ends_close() {
    let mut bench = Bench::accepted();
    bench.arrives(PUSH, 1, 1, 1000);
    assert_eq!(bench.leaves(), Some((Flags::ACK, 1, 1001, 0)));
    let read = Call::Receive { fd: SOCKET, len: 5000, flags: 0 };
    assert_eq!(bench.value(&read), 1000);
    assert_eq!(bench.write(2500, 0).value, Ok(2500));
    assert_eq!(bench.leaves(), Some((PUSH, 1, 1001, 2500)), "one packet, which is split later");
    assert_eq!(bench.write(100, 0).value, Ok(100));
    assert_eq!(bench.leaves(), None, "Nagle: the last segment is small, and in flight");
    bench.arrives(Flags::ACK, 1001, 2501, 0);
    assert_eq!(bench.leaves(), Some((PUSH, 2501, 1001, 100)));
    bench.arrives(FIN, 1001, 2601, 0);
    bench.host.wait(at(100));
    assert_eq!(bench.leaves(), Some((Flags::ACK, 2601, 1002, 0)));
    assert_eq!(bench.value(&read), 0, "the end of the stream");
    assert_eq!(bench.value(&Call::Close { fd: SOCKET }), 0);
    assert_eq!(bench.leaves(), Some((FIN, 2601, 1002, 0)));
    bench.arrives(Flags::ACK, 1002, 2602, 0);
    bench.arrives(Flags::ACK, 1002, 2602, 0);
    assert_eq!(bench.leaves(), Some((Flags::RST, 2602, 0, 0)), "the connection is gone");
}

#[test]
fn unread_data_is_answered_by_a_reset_when_the_socket_closes() {
    let mut bench = Bench::accepted();
    bench.arrives(PUSH, 1, 1, 10);
    assert!(bench.leaves().is_some());
    assert_eq!(bench.value(&Call::Close { fd: SOCKET }), 0);
    assert_eq!(bench.leaves(), Some((Flags::RST | Flags::ACK, 1, 11, 0)));
    assert_eq!(bench.write(1, 0).value, Err(errno::EBADF));
}

#[test]
fn a_reset_fails_a_blocked_read_and_then_a_write() {
    let mut bench = Bench::accepted();
    bench.host.begin(&Call::Receive { fd: SOCKET, len: 10, flags: 0 }).expect("a call");
    bench.host.wait(at(5));
    bench.arrives(Flags::RST | Flags::ACK, 1, 1, 0);
    let (_, returned) = bench.host.returned().expect("an error");
    assert_eq!(returned.value, Err(errno::ECONNRESET));
    assert_eq!(bench.write(1, 0).value, Err(errno::EPIPE));
}

#[test]
fn a_socket_that_is_disconnected_resets_its_connection_and_may_listen() {
    let mut bench = Bench::accepted();
    assert_eq!(bench.value(&Call::Disconnect { fd: SOCKET }), 0);
    assert_eq!(bench.leaves(), Some((Flags::RST | Flags::ACK, 1, 1, 0)));
    assert_eq!(bench.write(1, 0).value, Err(errno::EPIPE));
    assert_eq!(bench.value(&Call::Listen { fd: SOCKET, backlog: 1 }), 0);
}

#[test]
fn connect_blocks_until_the_syn_ack_and_fails_if_it_is_refused() {
    for refused in [false, true] {
        let mut bench = Bench::new();
        let fd = Fd(3);
        assert_eq!(bench.value(&Call::Socket { nonblocking: false }), 3);
        bench.host.begin(&Call::Connect { fd }).expect("a call");
        let (_, packet) = bench.host.transmit().expect("a SYN");
        let Some(Incoming::Segment { ends, segment, .. }) = parse(&packet) else { panic!() };
        (bench.peer, bench.isn) = (ends, segment.seq);
        bench.host.wait(at(10));
        assert_eq!(bench.host.returned(), None);
        let flags = if refused { Flags::RST } else { Flags::SYN };
        bench.arrives(flags | Flags::ACK, 0, 1, 0);
        let (time, returned) = bench.host.returned().expect("the end of the call");
        let value = if refused { Err(errno::ECONNREFUSED) } else { Ok(0) };
        assert_eq!((time, returned.value), (at(10), value));
        assert_eq!(bench.leaves().is_none(), refused);
    }
}

#[test]
fn a_nonblocking_connect_is_in_progress_and_then_ready() {
    let mut bench = Bench::new();
    let fd = Fd(3);
    bench.value(&Call::Socket { nonblocking: true });
    assert_eq!(bench.call(&Call::Connect { fd }).value, Err(errno::EINPROGRESS));
    assert_eq!(bench.call(&Call::Connect { fd }).value, Err(errno::EALREADY));
    let (_, packet) = bench.host.transmit().expect("a SYN");
    let Some(Incoming::Segment { ends, segment, .. }) = parse(&packet) else { panic!() };
    (bench.peer, bench.isn) = (ends, segment.seq);
    let out = event::OUT as i16;
    let poll = Call::Poll { fds: vec![(fd, out)], timeout_ms: 0 };
    assert_eq!(bench.value(&poll), 0);
    bench.arrives(Flags::SYN | Flags::ACK, 0, 1, 0);
    assert_eq!(bench.call(&poll).outcome, Outcome::Polled(vec![out]));
    let error = Call::GetOption { fd, level: level::SOCKET, name: so::ERROR, len: 4 };
    assert_eq!(bench.call(&error).outcome, Outcome::Option(vec![0; 4]));
    assert_eq!(bench.call(&Call::Connect { fd }).value, Ok(0), "as Linux has it, once");
    assert_eq!(bench.call(&Call::Connect { fd }).value, Err(errno::EISCONN));
}

#[test]
fn a_corked_socket_sends_what_it_held_when_it_is_uncorked_or_after_200_ms() {
    let mut bench = Bench::accepted();
    bench.set(SOCKET, level::TCP, tcp::CORK, 1);
    bench.write(40, 0);
    bench.write(40, 0);
    assert_eq!(bench.leaves(), None);
    bench.set(SOCKET, level::TCP, tcp::CORK, 0);
    assert_eq!(bench.leaves(), Some((PUSH, 1, 1, 80)));
    bench.arrives(Flags::ACK, 1, 81, 0);
    bench.write(1010, msg::MORE);
    assert_eq!(bench.leaves(), Some((Flags::ACK, 81, 1, 1000)), "a full segment");
    bench.arrives(Flags::ACK, 1, 1081, 0);
    assert_eq!(bench.leaves(), Some((Flags::ACK, 1081, 1, 10)), "any ACK lets go of it");
    bench.arrives(Flags::ACK, 1, 1091, 0);
    bench.write(7, msg::MORE);
    assert_eq!(bench.host.wait(at(300)), at(200));
    assert_eq!(bench.leaves(), Some((PUSH, 1091, 1, 7)));
}

#[test]
fn records_are_not_sent_together_with_what_follows() {
    let mut bench = Bench::accepted();
    bench.write(400, msg::EOR);
    bench.write(300, msg::EOR);
    bench.write(1500, 0);
    assert_eq!(bench.leaves(), Some((PUSH, 1, 1, 400)));
    assert_eq!(bench.leaves(), Some((PUSH, 401, 1, 300)));
    assert_eq!(bench.leaves(), Some((Flags::ACK, 701, 1, 1000)));
    assert_eq!(bench.leaves(), None, "Nagle holds the end of the last one");
}

#[test]
fn a_write_blocks_while_the_send_buffer_is_full() {
    let mut bench = Bench::accepted();
    bench.set(SOCKET, level::SOCKET, so::SNDBUF, 5000);
    let size = Call::GetOption { fd: SOCKET, level: level::SOCKET, name: so::SNDBUF, len: 4 };
    let doubled = Outcome::Option(10_000i32.to_ne_bytes().to_vec());
    assert_eq!(bench.call(&size).outcome, doubled);
    bench.host.begin(&Call::Send { fd: SOCKET, len: 200_000, flags: 0 }).expect("a call");
    assert_eq!(bench.host.returned(), None);
    let mut acked = 1;
    while bench.host.returned().is_none() {
        let sent: u32 = std::iter::from_fn(|| bench.leaves()).map(|segment| segment.3).sum();
        assert!(sent > 0 && acked < 200_001, "stuck at {acked}");
        acked += sent;
        bench.arrives(Flags::ACK, 1, acked, 0);
    }
    let nonblocking = msg::DONTWAIT;
    bench.write(200_000, nonblocking);
    assert_eq!(bench.write(1, nonblocking).value, Err(errno::EAGAIN));
}

#[test]
fn a_segment_for_no_socket_gets_a_reset_and_a_syn_beyond_the_backlog_nothing() {
    let mut bench = Bench::new();
    bench.arrives(Flags::SYN, 7, 0, 0);
    assert_eq!(bench.leaves(), Some((Flags::RST | Flags::ACK, 0, 8, 0)));
    bench.listen();
    for port in [1, 2] {
        bench.peer.local.set_port(port);
        bench.shakes_hands();
    }
    bench.peer.local.set_port(3);
    bench.arrives(Flags::SYN, 0, 0, 0);
    assert_eq!(bench.leaves(), None);
}

#[test]
fn inq_counts_what_is_left_and_one_more_at_the_end() {
    let mut bench = Bench::accepted();
    bench.set(SOCKET, level::TCP, tcp::INQ, 1);
    bench.arrives(FIN, 1, 1, 3000);
    let read = |len| Call::ReceiveMessage { fd: SOCKET, lens: vec![len], control: true, flags: 0 };
    let left = |returned: Return| match returned.outcome {
        Outcome::Message { control, .. } => control[0].data.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(left(bench.call(&read(1000))), 2000i32.to_ne_bytes());
    assert_eq!(left(bench.call(&read(2000))), 1i32.to_ne_bytes());
    let queued = Call::Ioctl { fd: SOCKET, request: misc::SIOCINQ };
    assert_eq!(bench.call(&queued).outcome, Outcome::Number(0));
}

#[test]
fn an_unknown_option_or_call_is_unsupported_and_not_an_error() {
    let mut bench = Bench::accepted();
    let option = Call::GetOption { fd: SOCKET, level: level::TCP, name: 999, len: 4 };
    assert!(bench.host.begin(&option).is_err());
    assert!(bench.host.set("net.ipv4.tcp_unknown", "1").is_err());
    assert!(bench.host.shell("true").is_err());
    assert!(bench.host.info(Fd(77)).is_err());
}

#[test]
fn tcp_info_has_the_window_in_segments() {
    let mut bench = Bench::accepted();
    bench.write(3000, 0);
    let info = bench.host.info(SOCKET).expect("a socket");
    assert_eq!((info["tcpi_snd_cwnd"], info["tcpi_unacked"], info["tcpi_state"]), (10, 3, 1));
}

#[test]
fn pure_acks_of_an_accecn_connection_are_ect() {
    let mut bench = Bench::new();
    bench.host.set("net.ipv4.tcp_ecn", "3").expect("a variable");
    bench.listen();
    let ask = Flags::AE | Flags::CWR | Flags::ECE;
    bench.arrives(Flags::SYN | ask, 0, 0, 0);
    let syn_ack = bench.leaves().expect("a SYN-ACK");
    assert_eq!(syn_ack.0, Flags::SYN | Flags::ACK | Flags::CWR, "Not-ECT arrived");
    bench.arrives(Flags::ACK | Flags::CWR, 1, 1, 0);
    bench.arrives(PUSH | Flags::AE | Flags::ECE, 1, 1, 100);
    let (_, packet) = bench.host.transmit().expect("an ACK");
    assert_eq!(Ecn::from_bits(packet[1]), Ecn::Ect0);
}
