//! Tests that need a network: unreachable hosts, and devices without offloads. Two threads act as two
//! hosts, each in its own network namespace.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::Api;
use libc::{sockaddr_in, timeval};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::channel;
use std::thread;
use windlass_testbed::{Namespace, Need, join, skip_unless};
use windlass_tou::{TouListener, TouSocket, TouStream};

const DEVICE: &str = "veth0";
const HOST: Ipv4Addr = Ipv4Addr::new(10, 8, 0, 1);
const OTHER: Ipv4Addr = Ipv4Addr::new(10, 8, 0, 2);

/// Two hosts that are joined by a device veth0 at each end.
struct Network {
    host: Namespace,
    other: Namespace,
}

impl Network {
    fn new() -> Network {
        let network = Network { host: Namespace::new("wtou"), other: Namespace::new("wtou") };
        join((&network.host, DEVICE), (&network.other, DEVICE));
        network.host.bring_up(DEVICE, &[format!("{HOST}/24")]);
        network.other.bring_up(DEVICE, &[format!("{OTHER}/24")]);
        network
    }

    /// Runs `host` beside `other`, each in the namespace of its host.
    fn run(&self, host: impl FnOnce() + Send, other: impl FnOnce() + Send) {
        thread::scope(|scope| {
            scope.spawn(|| self.other.inside(other));
            self.host.inside(host);
        });
    }
}

fn address(ip: Ipv4Addr, port: u16) -> sockaddr_in {
    sockaddr_in {
        sin_addr: libc::in_addr { s_addr: u32::from(ip).to_be() },
        ..common::loopback(port)
    }
}

/// The result of connecting to a host. Gives up after a minute.
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
fn an_unreachable_host_is_reported_as_by_tcp() {
    if skip_unless(&[Need::Root, Need::Program("ip")]) {
        return;
    }
    let cases = [
        ("no route", [203, 0, 113, 1], libc::ENETUNREACH),
        ("a router that reports an unreachable host", [192, 0, 2, 1], libc::EHOSTUNREACH),
        ("a router without a route", [198, 51, 100, 1], libc::ENETUNREACH),
        ("a router that prohibits the destination", [198, 18, 0, 1], libc::EHOSTUNREACH),
    ];
    let network = Network::new();
    network.other.sysctl("ipv4/ip_forward", "1");
    // By default a router sends a host one report per second, but each attempt needs one.
    network.other.sysctl("ipv4/icmp_ratelimit", "0");
    network.other.ip("route add unreachable 192.0.2.0/24");
    network.other.ip("route add prohibit 198.18.0.0/24");
    for destination in ["192.0.2.0/24", "198.51.100.0/24", "198.18.0.0/24"] {
        network.host.ip(&format!("route add {destination} via {OTHER}"));
    }
    network.host.inside(|| {
        for (name, ip, errno) in cases {
            for api in [Api::Tcp, Api::Tou] {
                assert_eq!(connect(api, ip.into()), -i64::from(errno), "{name}, {api:?}");
            }
        }
    });
}

#[test]
fn only_the_unreachable_one_of_two_peers_of_a_port_is_refused() {
    if skip_unless(&[Need::Root, Need::Program("ip")]) {
        return;
    }
    let (ready, is_ready) = channel();
    let other = move || {
        let listener = TouListener::bind((OTHER, 7000)).expect("a port");
        ready.send(()).expect("heard");
        let (mut stream, _) = listener.accept().expect("comes");
        stream.write_all(b"still here").expect("open");
        stream.finish(None).expect("arrives");
    };
    let host = move || {
        is_ready.recv().expect("the listener is ready");
        let socket = TouSocket::bind("0.0.0.0:0").expect("a port");
        let mut stream = socket.connect((OTHER, 7000).into()).expect("listens");
        // No socket has these ports. The ICMP report quotes the datagram that it answers.
        for port in [7001, 7002] {
            let refused = socket.connect((OTHER, port).into()).expect_err("a closed port");
            assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        }
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("to its end");
        assert_eq!(text, "still here");
    };
    Network::new().run(host, other);
}

/// Older kernels refuse UDP_SEGMENT if the device computes no checksums. Without GRO, datagrams also
/// arrive one by one.
#[test]
fn bytes_arrive_over_a_device_without_offloads() {
    if skip_unless(&[Need::Root, Need::Program("ip"), Need::Program("ethtool")]) {
        return;
    }
    let bytes: Vec<u8> =
        (0..2_000_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let sent = bytes.clone();
    let (ready, is_ready) = channel::<SocketAddr>();
    let receiver = move || {
        let listener = TouListener::bind((OTHER, 0)).expect("a port");
        ready.send(listener.local_addr().expect("bound")).expect("heard");
        let (mut stream, _) = listener.accept().expect("comes");
        let mut arrived = Vec::new();
        stream.read_to_end(&mut arrived).expect("to its end");
        assert!(arrived == bytes);
    };
    let sender = move || {
        let to = is_ready.recv().expect("the listener is ready");
        let mut stream = TouStream::connect(to).expect("listens");
        stream.write_all(&sent).expect("open");
        stream.finish(None).expect("arrives");
        assert_eq!(stream.info().expect("there").stats.timeouts, 0, "datagrams are sent singly");
    };
    let network = Network::new();
    for host in [&network.host, &network.other] {
        host.run("ethtool", &format!("-K {DEVICE} tx off gso off gro off"));
    }
    network.run(sender, receiver);
}
