//! What only a network shows: who cannot be reached, and devices without offloads. Two threads are two
//! hosts, each in a network namespace of its own that ends with it.
#![allow(unsafe_code, reason = "the calls under test are C's")]

mod common;

use common::Api;
use libc::{c_int, sockaddr_in, timeval};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use windlass_tou::{TouListener, TouSocket, TouStream};

const HOST: Ipv4Addr = Ipv4Addr::new(10, 8, 0, 1);
const OTHER: Ipv4Addr = Ipv4Addr::new(10, 8, 0, 2);

/// Runs `host` beside `other`, which are joined by a device veth0 at each end and both end with `host`;
/// false, with a line about it, where the system does not let it.
fn between(host: impl FnOnce() + Send + 'static, other: impl FnOnce() + Send + 'static) -> bool {
    let (tell, told): (Sender<Option<c_int>>, Receiver<_>) = channel();
    let (end, ended) = channel::<()>();
    let far = thread::spawn(move || {
        // SAFETY: these change and tell what is the thread's own.
        let own = unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0;
        tell.send(own.then(|| unsafe { libc::gettid() })).expect("heard");
        if own && ended.recv().is_ok() {
            other();
            // The namespace ends with this thread.
            let _ = ended.recv();
        }
    });
    let near = thread::spawn(move || {
        let Some(thread) = told.recv().expect("told") else { return false };
        // SAFETY: as above.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0);
        run(&format!("ip link add veth0 type veth peer name veth0 netns {thread}"));
        set_up(HOST);
        end.send(()).expect("heard");
        host();
        true
    });
    let ran = near.join().expect("no panic");
    far.join().expect("no panic");
    if !ran {
        eprintln!("skipped: needs root, for network namespaces");
    }
    ran
}

fn set_up(address: Ipv4Addr) {
    run("ip link set lo up");
    run(&format!("ip address add {address}/24 dev veth0"));
    run("ip link set veth0 up");
}

/// In the namespace of the calling thread.
fn run(command: &str) {
    let mut words = command.split_whitespace();
    let program = words.next().expect("a program");
    let status =
        Command::new(program).args(words).stdin(Stdio::null()).stdout(Stdio::null()).status();
    assert!(status.expect("starts").success(), "{command}");
}

fn address(ip: Ipv4Addr, port: u16) -> sockaddr_in {
    sockaddr_in {
        sin_addr: libc::in_addr { s_addr: u32::from(ip).to_be() },
        ..common::loopback(port)
    }
}

/// What connecting says, at once or by what the network reports; a minute is a hang.
fn connect(api: Api, ip: Ipv4Addr) -> i64 {
    let fd = api.fresh();
    let minute = timeval { tv_sec: 60, tv_usec: 0 };
    assert_eq!(api.set(fd, (libc::SOL_SOCKET, libc::SO_SNDTIMEO), minute), 0);
    let to = address(ip, 7);
    let said = api.connect_raw(fd, (&raw const to).cast(), size_of_val(&to) as u32);
    assert_eq!(api.close(fd), 0);
    said
}

#[test]
fn who_cannot_be_reached_is_told_as_with_tcp() {
    let cases = [
        ("no route", [203, 0, 113, 1], libc::ENETUNREACH),
        ("a router that knows no such host", [192, 0, 2, 1], libc::EHOSTUNREACH),
        ("a router without a route", [198, 51, 100, 1], libc::ENETUNREACH),
        ("a router that lets nobody through", [198, 18, 0, 1], libc::EHOSTUNREACH),
    ];
    let (ready, is_ready) = channel();
    let router = move || {
        set_up(OTHER);
        fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("a router");
        // It answers a host once in a second otherwise, and each try is to be answered.
        fs::write("/proc/sys/net/ipv4/icmp_ratelimit", "0").expect("a router");
        run("ip route add unreachable 192.0.2.0/24");
        run("ip route add prohibit 198.18.0.0/24");
        ready.send(()).expect("heard");
    };
    let host = move || {
        is_ready.recv().expect("told");
        for network in ["192.0.2.0/24", "198.51.100.0/24", "198.18.0.0/24"] {
            run(&format!("ip route add {network} via {OTHER}"));
        }
        for (name, ip, errno) in cases {
            for api in [Api::Tcp, Api::Tou] {
                assert_eq!(connect(api, ip.into()), -i64::from(errno), "{name}, {api:?}");
            }
        }
    };
    between(host, router);
}

#[test]
fn of_two_that_a_port_connects_to_the_one_that_cannot_be_reached_is_told() {
    let (ready, is_ready) = channel();
    let other = move || {
        set_up(OTHER);
        let listener = TouListener::bind((OTHER, 7000)).expect("a port");
        ready.send(()).expect("heard");
        let (mut stream, _) = listener.accept().expect("comes");
        stream.write_all(b"still here").expect("open");
        stream.finish(None).expect("arrives");
    };
    let host = move || {
        is_ready.recv().expect("told");
        let socket = TouSocket::bind("0.0.0.0:0").expect("a port");
        let mut stream = socket.connect((OTHER, 7000).into()).expect("listens");
        // Nobody has these ports; the host says so, and says whose datagram it was.
        for port in [7001, 7002] {
            let refused = socket.connect((OTHER, port).into()).expect_err("nobody is there");
            assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        }
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("to its end");
        assert_eq!(text, "still here");
    };
    between(host, other);
}

/// Older kernels refuse UDP_SEGMENT where the device makes no checksums; nothing is joined on arrival (GRO).
#[test]
fn bytes_arrive_where_the_device_cuts_nothing_apart_and_joins_nothing() {
    if Command::new("ethtool").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: needs ethtool");
        return;
    }
    let bytes: Vec<u8> =
        (0..2_000_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let sent = bytes.clone();
    let (ready, is_ready) = channel::<SocketAddr>();
    let receiver = move || {
        set_up(OTHER);
        run("ethtool -K veth0 tx off gso off gro off");
        let listener = TouListener::bind((OTHER, 0)).expect("a port");
        ready.send(listener.local_addr().expect("bound")).expect("heard");
        let (mut stream, _) = listener.accept().expect("comes");
        let mut arrived = Vec::new();
        stream.read_to_end(&mut arrived).expect("to its end");
        assert!(arrived == bytes);
    };
    let sender = move || {
        run("ethtool -K veth0 tx off gso off gro off");
        let to = is_ready.recv().expect("told");
        let mut stream = TouStream::connect(to).expect("listens");
        stream.write_all(&sent).expect("open");
        stream.finish(None).expect("arrives");
        assert_eq!(stream.info().expect("there").stats.timeouts, 0, "what was refused went singly");
    };
    between(sender, receiver);
}
