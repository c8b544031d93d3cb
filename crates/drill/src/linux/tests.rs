//! The running kernel by packets made by hand, as root.

use super::*;
use crate::call::{Call, Fd, Outcome, Return};
use nix::libc;
use std::env;
use std::net::IpAddr;
use windlass_base::{Ecn, Span, Time};
use windlass_tcp::segment::ip::{self, Addresses, IpHeader, PROTOCOL_TCP};
use windlass_tcp::segment::wire::{self, CHECKSUM_FIELD, Ports};
use windlass_tcp::{Flags, Segment, SeqNumber};
use windlass_testbed::{Need, skip_unless};

/// How long an answer may take on a loaded machine.
const PATIENCE: Span = Span::from_secs(10);

const PORTS: Ports = Ports { source: 40_000, destination: 8080 };

fn setup(local: &str, remote: &str, mapped: bool) -> Setup {
    let address = |text: &str| text.parse::<IpAddr>().expect("an address");
    let (local, remote) = (address(local), address(remote));
    let prefix_len = if local.is_ipv4() { 16 } else { 64 };
    let (local_port, remote_port, mtu) = (PORTS.destination, PORTS.source, 1500);
    Setup { local, prefix_len, remote, local_port, remote_port, mapped, mtu }
}

fn ipv4() -> Setup {
    setup("192.168.0.1", "192.0.2.1", false)
}

/// A host and what its script knows.
struct Script {
    setup: Setup,
    host: Box<dyn Host>,
    /// Those of its packets.
    ports: Ports,
}

impl Script {
    /// `None` where the test cannot run.
    fn start(setup: Setup) -> Option<Script> {
        if skip_unless(&[Need::Root, Need::Tun]) {
            return None;
        }
        let kernel = Kernel::new(&env::temp_dir()).expect("root and TUN");
        let host = kernel.start(&setup).expect("a namespace");
        Some(Script { setup, host, ports: PORTS })
    }

    fn addresses_to_host(&self) -> Addresses {
        match (self.setup.remote, self.setup.local) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Addresses::V4 { source, destination },
            (IpAddr::V6(source), IpAddr::V6(destination)) => Addresses::V6 { source, destination },
            _ => unreachable!("two families"),
        }
    }

    /// Sends the host a segment with a payload of zeros.
    fn inject(&mut self, segment: &Segment) {
        let mut tcp = vec![0; wire::MAX_HEADER_LEN];
        let len = wire::emit(segment, self.ports, &mut tcp);
        tcp.resize(len + segment.payload_len as usize, 0);
        let addresses = self.addresses_to_host();
        let checksum = wire::checksum(&addresses, &tcp[..len], &tcp[len..]);
        tcp[CHECKSUM_FIELD].copy_from_slice(&checksum.to_be_bytes());
        let (ecn, protocol) = (Ecn::NotEct, PROTOCOL_TCP);
        let header = IpHeader { addresses, ecn, hop_limit: 64, protocol, identification: 0 };
        let header_len = if self.setup.local.is_ipv4() { 20 } else { 40 };
        let mut packet = vec![0; header_len];
        header.emit(tcp.len(), &mut packet).expect("a length that fits");
        packet.extend(tcp);
        self.host.receive(&packet);
    }

    /// The next segment of the host's, whose port the script's packets go to from now on.
    fn expect(&mut self) -> (Time, Segment) {
        let deadline = self.host.now() + PATIENCE;
        loop {
            if let Some((at, packet)) = self.host.transmit() {
                let packet = ip::parse(&packet).expect("an IP packet");
                let (ports, segment, _) = wire::parse(packet.payload).expect("a segment");
                self.ports.destination = ports.source;
                return (at, segment);
            }
            assert!(self.host.now() < deadline, "no packet");
            self.host.wait(deadline);
        }
    }

    fn begin(&mut self, call: Call) {
        self.host.begin(&call).expect("a known call");
    }

    /// The end of a call that does not block, or no longer.
    fn end(&mut self) -> Return {
        let deadline = self.host.now() + PATIENCE;
        loop {
            if let Some((_, end)) = self.host.returned() {
                return end;
            }
            assert!(self.host.now() < deadline, "the call blocks");
            self.host.wait(deadline);
        }
    }

    fn call(&mut self, call: Call) -> Return {
        self.begin(call);
        let (_, end) = self.host.returned().expect("a call that does not block");
        end
    }

    fn fd(&mut self, call: Call) -> Fd {
        let end = self.call(call);
        fd(&end)
    }

    fn listen(&mut self) -> Fd {
        let fd = self.fd(Call::Socket { nonblocking: false });
        let yes = 1_i32.to_ne_bytes().to_vec();
        let (level, name) = (libc::SOL_SOCKET, libc::SO_REUSEADDR);
        assert_eq!(self.call(Call::SetOption { fd, level, name, value: yes }), Return::value(0));
        assert_eq!(self.call(Call::Bind { fd }), Return::value(0));
        assert_eq!(self.call(Call::Listen { fd, backlog: 1 }), Return::value(0));
        fd
    }

    /// A handshake by the script; returns the host's next sequence number.
    fn handshake(&mut self) -> SeqNumber {
        self.inject(&segment(0, 0, Flags::SYN));
        let (_, answer) = self.expect();
        assert!(answer.flags.contains(Flags::SYN | Flags::ACK), "{answer:?}");
        assert_eq!(answer.ack, SeqNumber(1));
        let next = SeqNumber(answer.seq.0.wrapping_add(1));
        self.inject(&segment(1, next.0, Flags::ACK));
        next
    }
}

fn fd(end: &Return) -> Fd {
    Fd(i32::try_from(*end.value.as_ref().expect("a descriptor")).expect("a descriptor"))
}

fn segment(seq: u32, ack: u32, flags: Flags) -> Segment {
    let (seq, ack) = (SeqNumber(seq), SeqNumber(ack));
    Segment { seq, ack, flags, window: 32_000, ..Segment::default() }
}

/// A server that a client writes to, in any setup.
fn serve(setup: Setup) {
    let Some(mut script) = Script::start(setup) else { return };
    let listener = script.listen();
    let next = script.handshake();
    let socket = script.fd(Call::Accept { fd: listener, nonblocking: false });
    let data = Segment { payload_len: 1000, ..segment(1, next.0, Flags::ACK | Flags::PSH) };
    script.inject(&data);
    assert_eq!(script.expect().1.ack, SeqNumber(1001));
    let received = script.call(Call::Receive { fd: socket, len: 2000, flags: 0 });
    assert_eq!(received, Return::value(1000));
    assert_eq!(script.call(Call::Send { fd: socket, len: 10, flags: 0 }), Return::value(10));
    assert_eq!(script.expect().1.payload_len, 10);
    let info = script.host.info(socket).expect("a connection");
    assert_eq!((info["tcpi_state"], info["tcpi_bytes_received"]), (1, 1000));
    assert_eq!((info["tcpi_unacked"], info["tcpi_bytes_sent"]), (1, 10));
}

#[test]
fn a_server_over_ipv4() {
    serve(ipv4());
}

#[test]
fn a_server_over_ipv6() {
    serve(setup("fd3d:0a0b:17d6::1", "fd3d:fa7b:d17d::1", false));
}

#[test]
fn a_server_over_ipv4_by_sockets_of_ipv6() {
    serve(Setup { mapped: true, ..ipv4() });
}

#[test]
fn calls_block_until_a_packet_comes() {
    let Some(mut script) = Script::start(ipv4()) else { return };
    let listener = script.listen();
    script.begin(Call::Accept { fd: listener, nonblocking: false });
    assert_eq!(script.host.returned(), None);
    let next = script.handshake();
    let socket = fd(&script.end());
    script.begin(Call::Receive { fd: socket, len: 100, flags: 0 });
    assert_eq!(script.host.returned(), None);
    let data = Segment { payload_len: 7, ..segment(1, next.0, Flags::ACK) };
    script.inject(&data);
    assert_eq!(script.end(), Return::value(7));
}

#[test]
fn a_blocked_call_ends_with_its_host() {
    let Some(mut script) = Script::start(ipv4()) else { return };
    let listener = script.listen();
    script.begin(Call::Accept { fd: listener, nonblocking: false });
    assert_eq!(script.host.returned(), None);
    let started = std::time::Instant::now();
    drop(script);
    assert!(started.elapsed().as_secs_f64() < PATIENCE.as_secs_f64());
}

#[test]
fn a_client_connects_and_polls() {
    let Some(mut script) = Script::start(ipv4()) else { return };
    let fd = script.fd(Call::Socket { nonblocking: true });
    let connect = Call::Connect { fd };
    assert_eq!(script.call(connect), Return::error(libc::EINPROGRESS));
    let (_, syn) = script.expect();
    let poll = |timeout_ms| Call::Poll { fds: vec![(fd, libc::POLLOUT)], timeout_ms };
    let none = Return { value: Ok(0), outcome: Outcome::Polled(vec![0]) };
    assert_eq!(script.call(poll(0)), none);
    script.begin(poll(-1));
    let answer = segment(0, syn.seq.0.wrapping_add(1), Flags::SYN | Flags::ACK);
    script.inject(&answer);
    let writable = Return { value: Ok(1), outcome: Outcome::Polled(vec![libc::POLLOUT]) };
    assert_eq!(script.end(), writable);
}

#[test]
fn segments_that_the_kernel_sends_at_a_time_are_one_packet() {
    let Some(mut script) = Script::start(ipv4()) else { return };
    // Every kernel has it, and it does not pace.
    script.host.set("net.ipv4.tcp_congestion_control", "reno").expect("a variable");
    let listener = script.listen();
    script.handshake();
    let socket = script.fd(Call::Accept { fd: listener, nonblocking: false });
    let sent = script.call(Call::Send { fd: socket, len: 5000, flags: 0 });
    assert_eq!(sent, Return::value(5000));
    // RFC 9293 section 3.7.1: 536 bytes without an option.
    assert!(script.expect().1.payload_len >= 2 * 536);
}

#[test]
fn a_retransmission_wakes_the_wait_at_its_time() {
    let Some(mut script) = Script::start(ipv4()) else { return };
    script.fd(Call::Socket { nonblocking: true });
    let fd = script.fd(Call::Socket { nonblocking: true });
    script.call(Call::Connect { fd });
    let (first, _) = script.expect();
    let (second, syn) = script.expect();
    assert!(syn.flags.contains(Flags::SYN));
    // The first timeout is a second.
    assert!(second.saturating_since(first) >= Span::from_millis(900), "{first:?} {second:?}");
}

#[test]
fn variables_and_commands_are_the_namespaces() {
    let Some(mut script) = Script::start(ipv4()) else { return };
    let of_the_machine = fs::read_to_string("/proc/sys/net/ipv4/tcp_syn_retries").expect("a file");
    script.host.set("net.ipv4.tcp_syn_retries", "3").expect("a variable");
    for command in
        ["test $(cat /proc/sys/net/ipv4/tcp_syn_retries) = 3", "grep -q tun0 /proc/net/dev"]
    {
        assert_eq!(script.host.shell(command), Ok(0), "{command}");
    }
    let still = fs::read_to_string("/proc/sys/net/ipv4/tcp_syn_retries").expect("a file");
    assert_eq!(still, of_the_machine);
}

#[test]
fn what_a_namespace_lacks_has_a_reason() {
    let Some(mut script) = Script::start(ipv4()) else { return };
    // Memory is the whole machine's.
    let error = script.host.set("net.ipv4.tcp_mem", "1 2 3").expect_err("no variable here");
    assert!(error.0.contains("tcp_mem"), "{error}");
    let error = script.host.set("net.ipv4.no_such", "1").expect_err("no such variable");
    assert!(error.0.contains("no_such"), "{error}");
    assert_eq!(script.host.shell("exit 3"), Ok(3));
    let error = script.host.shell("no-such-program").expect_err("it is missing");
    assert!(error.0.contains("not found"), "{error}");
    assert_eq!(script.call(Call::Close { fd: Fd(-1) }), Return::error(libc::EBADF));
}

#[test]
fn control_messages_tell_the_unread_bytes() {
    let Some(mut script) = Script::start(ipv4()) else { return };
    let listener = script.listen();
    let next = script.handshake();
    let fd = script.fd(Call::Accept { fd: listener, nonblocking: false });
    let yes = 1_i32.to_ne_bytes().to_vec();
    let (level, name) = (libc::IPPROTO_TCP, libc::TCP_INQ);
    script.call(Call::SetOption { fd, level, name, value: yes.clone() });
    let option = script.call(Call::GetOption { fd, level, name, len: 4 });
    assert_eq!(option.outcome, Outcome::Option(yes));
    script.inject(&Segment { payload_len: 1000, ..segment(1, next.0, Flags::ACK) });
    let waiting = script.call(Call::Ioctl { fd, request: libc::FIONREAD });
    assert_eq!(waiting.outcome, Outcome::Number(1000));
    let lens = vec![300, 100];
    let end = script.call(Call::ReceiveMessage { fd, lens, control: true, flags: 0 });
    assert_eq!(end.value, Ok(400));
    let Outcome::Message { control, .. } = end.outcome else { panic!("{end:?}") };
    let [message] = &control[..] else { panic!("{control:?}") };
    assert_eq!((message.level, message.kind), (libc::IPPROTO_TCP, libc::TCP_CM_INQ));
    assert_eq!(message.data, 600_i32.to_ne_bytes());
}

#[test]
fn an_epoll_instance_reports_a_socket() {
    let Some(mut script) = Script::start(ipv4()) else { return };
    let listener = script.listen();
    let epoll = script.fd(Call::EpollCreate);
    let (operation, events) = (libc::EPOLL_CTL_ADD, libc::EPOLLIN as u32);
    let added = Call::EpollControl { epoll, operation, fd: listener, events };
    assert_eq!(script.call(added), Return::value(0));
    script.begin(Call::EpollWait { epoll, most: 4, timeout_ms: -1 });
    assert_eq!(script.host.returned(), None);
    script.handshake();
    let ready = Outcome::Events(vec![(events, listener)]);
    assert_eq!(script.end(), Return { value: Ok(1), outcome: ready });
}

#[test]
fn zeros_of_a_file_and_of_several_buffers_are_sent() {
    let Some(mut script) = Script::start(ipv4()) else { return };
    let listener = script.listen();
    let next = script.handshake();
    let fd = script.fd(Call::Accept { fd: listener, nonblocking: false });
    assert_eq!(script.call(Call::SendFile { fd, len: 100 }), Return::value(100));
    assert_eq!(script.expect().1.payload_len, 100);
    // Nagle's algorithm holds back what follows.
    script.inject(&segment(1, next.0.wrapping_add(100), Flags::ACK));
    let lens = vec![10, 0, 20];
    let message = Call::SendMessage { fd, lens, control: Vec::new(), flags: 0 };
    assert_eq!(script.call(message), Return::value(30));
    assert_eq!(script.expect().1.payload_len, 30);
    let nothing = Call::NullBuffer { fd, sends: true, len: 10, flags: 0 };
    assert_eq!(script.call(nothing), Return::error(libc::EFAULT));
}
