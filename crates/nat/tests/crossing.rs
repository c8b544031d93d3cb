//! The network of the NAT matrix: hosts behind every kind of gateway, with real packets. As root.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;
use windlass_nat::Dependence::{Address, AddressAndPort, Independent};
use windlass_testbed::nat::{Access, Crossing, Family, Gateway};
use windlass_testbed::{Namespace, Need, skip_unless, unique, wait_until};

fn cannot_run() -> bool {
    skip_unless(&[Need::Root, Need::Tun, Need::Program("ip"), Need::Program("nft")])
}

fn socket(namespace: &Namespace, address: IpAddr, port: u16) -> UdpSocket {
    namespace.inside(|| {
        let socket = UdpSocket::bind((address, port)).expect("binds");
        socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
        socket
    })
}

/// The source that arrives if `from` sends to `to`, again and again until a datagram does.
fn source_at(from: &UdpSocket, to: &UdpSocket) -> SocketAddr {
    let address = to.local_addr().expect("bound");
    // Those of an earlier call may still be in the queue.
    let mark = unique("outbound");
    let mut source = None;
    wait_until("a datagram arrives", || {
        from.send_to(mark.as_bytes(), address).expect("sends");
        let mut buffer = [0; 64];
        while let Ok((len, sender)) = to.recv_from(&mut buffer) {
            if buffer[..len] == *mark.as_bytes() {
                source = Some(sender);
                break;
            }
        }
        source.is_some()
    });
    source.expect("arrived")
}

fn receive(socket: &UdpSocket) -> Option<SocketAddr> {
    socket.recv_from(&mut [0; 64]).ok().map(|(_, source)| source)
}

/// A host behind a gateway, and three sockets of the rendezvous: two at one address, one at another.
struct Scene {
    crossing: Crossing,
    host: UdpSocket,
    servers: [UdpSocket; 3],
}

impl Scene {
    fn new(family: Family, gateway: Gateway) -> Scene {
        let crossing = Crossing::new("nx", family, gateway, Gateway::Public);
        let [main, other] = crossing.rendezvous_addresses();
        let server = |address, port| socket(&crossing.rendezvous, address, port);
        let servers = [server(main, 3478), server(main, 3479), server(other, 3478)];
        let host = socket(&crossing.hosts[0], crossing.host_address(0), 5000);
        Scene { crossing, host, servers }
    }

    fn mappings(&self) -> [SocketAddr; 3] {
        [0, 1, 2].map(|n| source_at(&self.host, &self.servers[n]))
    }
}

/// The mapping is as the gateway's kind says, and so is the filter of the first binding.
fn behaves(family: Family, gateway: Gateway) {
    let Access::Udp { mapping, filtering } = gateway.access() else { panic!("{gateway:?}") };
    let scene = Scene::new(family, gateway);
    let first = source_at(&scene.host, &scene.servers[0]);
    // Two of three filters drop: nothing else can be waited for than the timeout.
    let passes = [0, 1, 2].map(|n| {
        scene.servers[n].send_to(b"inbound", first).expect("sends");
        receive(&scene.host).is_some()
    });
    let expected = match filtering {
        Independent => [true, true, true],
        Address => [true, true, false],
        AddressAndPort => [true, false, false],
    };
    assert_eq!(passes, expected, "{gateway:?}");
    let [first, port, address] = scene.mappings();
    let expected = match mapping {
        Independent => (true, true),
        Address => (true, false),
        AddressAndPort => (false, false),
    };
    assert_eq!(
        (first == port, first == address),
        expected,
        "{gateway:?}: {first} {port} {address}"
    );
}

#[test]
fn gateways_of_ipv4_behave_as_they_are_called() {
    if cannot_run() {
        return;
    }
    for gateway in Gateway::all(Family::V4) {
        if matches!(gateway.access(), Access::Udp { .. }) {
            behaves(Family::V4, gateway);
        }
    }
}

#[test]
fn gateways_of_ipv6_behave_as_they_are_called() {
    if cannot_run() {
        return;
    }
    for gateway in Gateway::all(Family::V6) {
        if matches!(gateway.access(), Access::Udp { .. }) {
            behaves(Family::V6, gateway);
        }
    }
}

#[test]
fn where_udp_is_blocked_tcp_443_passes() {
    if cannot_run() {
        return;
    }
    for family in [Family::V4, Family::V6] {
        let crossing = Crossing::new("nu", family, Gateway::UdpBlocked, Gateway::Public);
        let [server, _] = crossing.rendezvous_addresses();
        let host = &crossing.hosts[0];
        let listener = crossing.rendezvous.inside(|| TcpListener::bind((server, 443)));
        let listener = listener.expect("listens");
        let mut stream = host.inside(|| TcpStream::connect((server, 443))).expect("connects");
        let (mut accepted, _) = listener.accept().expect("accepts");
        stream.write_all(b"x").expect("writes");
        accepted.read_exact(&mut [0]).expect("reads");
        let udp = socket(&crossing.rendezvous, server, 443);
        socket(host, crossing.host_address(0), 0).send_to(b"x", (server, 443)).expect("sends");
        assert_eq!(receive(&udp), None);
    }
}

#[test]
fn a_restarted_gateway_forgets_its_bindings() {
    if cannot_run() {
        return;
    }
    let restarted = [
        (Family::V4, Gateway::Nat(Independent, Independent)),
        (Family::V4, Gateway::Masquerade),
        (Family::V4, Gateway::CarrierGrade),
        (Family::V6, Gateway::Nat(AddressAndPort, AddressAndPort)),
    ];
    for (family, gateway) in restarted {
        let mut scene = Scene::new(family, gateway);
        for _ in 0..2 {
            let before = source_at(&scene.host, &scene.servers[0]);
            scene.crossing.restart_gateway(0);
            scene.servers[0].send_to(b"inbound", before).expect("sends");
            assert_eq!(receive(&scene.host), None, "{gateway:?}");
            assert_ne!(source_at(&scene.host, &scene.servers[0]), before, "{gateway:?}");
        }
    }
}

/// Whether two hosts behind one gateway reach each other at the external endpoints that the
/// rendezvous sees.
fn meet_behind_one(gateway: Gateway, hairpin: bool) -> bool {
    let crossing = Crossing::behind_one("nh", Family::V4, gateway, hairpin);
    let server = socket(&crossing.rendezvous, crossing.rendezvous_addresses()[0], 3478);
    let hosts = [0, 1]
        .map(|host| socket(&crossing.hosts[host], crossing.host_address(host), 5000 + host as u16));
    let external = [0, 1].map(|host| source_at(&hosts[host], &server));
    // The first one may be dropped, and opens the filter for the second.
    hosts[0].send_to(b"x", external[1]).expect("sends");
    let _ = receive(&hosts[1]);
    hosts[1].send_to(b"x", external[0]).expect("sends");
    receive(&hosts[0]) == Some(external[1])
}

#[test]
fn hosts_behind_one_nat_need_hairpinning() {
    if cannot_run() {
        return;
    }
    let strict = Gateway::Nat(Independent, AddressAndPort);
    assert!(meet_behind_one(strict, true));
    assert!(!meet_behind_one(strict, false));
    assert!(!meet_behind_one(Gateway::Masquerade, false));
    let crossing = Crossing::behind_one("nh", Family::V4, strict, true);
    let neighbour = socket(&crossing.hosts[1], crossing.host_address(1), 5000);
    let host = socket(&crossing.hosts[0], crossing.host_address(0), 5000);
    host.send_to(b"x", neighbour.local_addr().expect("bound")).expect("sends");
    assert_eq!(receive(&neighbour), None, "the inner networks are apart");
}
