//! `windlass ecn-proxy hosts`: forty hosts of all kinds behind the proxy.
//!
//! All are addresses of one namespace. The kernel requests and accepts ECN by the route to the peer
//! (the feature `ecn` of ip-route(8)), so which end has ECN depends on the addresses. They have one
//! MAC address, as if a router stood before them.

use crate::bed::{Bed, LAN, eventually, get, metrics_address, skipped, text};
use serde_json::Value;
use socket2::{Domain, Socket, Type};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use windlass_testbed::Namespace;

/// The last octet of the far address that the hosts reach without ECN, and of that with it.
const PLAIN: u8 = 2;
const WITH_ECN: u8 = 3;

/// Hosts, the far addresses to which each opens connections, and its class. The far host refuses ECN to
/// those from 128 on.
struct Kind {
    octets: std::ops::Range<u8>,
    ipv6: bool,
    opens: &'static [u8],
    ecn: &'static str,
    /// own, own_refused, served, refused, other
    connections: [u64; 5],
}

const KINDS: [Kind; 7] = [
    kind(10..18, false, &[WITH_ECN, WITH_ECN], "own", [2, 0, 0, 0, 0]),
    kind(20..28, false, &[PLAIN], "served", [0, 0, 1, 0, 0]),
    kind(130..136, false, &[PLAIN, PLAIN], "without", [0, 0, 0, 2, 0]),
    kind(140..142, false, &[WITH_ECN], "own", [0, 1, 0, 0, 0]),
    kind(30..35, false, &[WITH_ECN, PLAIN, PLAIN], "mixed", [1, 0, 2, 0, 0]),
    kind(10..15, true, &[WITH_ECN], "own", [1, 0, 0, 0, 0]),
    kind(20..25, true, &[PLAIN, PLAIN], "served", [0, 0, 2, 0, 0]),
];
/// The address that another device takes over: the fortieth host.
const TAKEN_OVER: u8 = 40;

const fn kind(
    octets: std::ops::Range<u8>,
    ipv6: bool,
    opens: &'static [u8],
    ecn: &'static str,
    connections: [u64; 5],
) -> Kind {
    Kind { octets, ipv6, opens, ecn, connections }
}

fn address(subnet: u8, host: u8, ipv6: bool) -> IpAddr {
    match ipv6 {
        false => Ipv4Addr::new(10, 9, subnet, host).into(),
        true => Ipv6Addr::new(0xfd09, subnet.into(), 0, 0, 0, 0, 0, host.into()).into(),
    }
}

/// Gives the namespaces the addresses and routes of the list.
fn build(bed: &Bed) -> TcpListener {
    let network = bed.network();
    let (client, server) = (&network.client, &network.server);
    server.sysctl("ipv4/tcp_ecn", "0");
    for ipv6 in [false, true] {
        let bits = if ipv6 { 128 } else { 32 };
        let far = address(2, WITH_ECN, ipv6);
        server.ip(&format!("address add {far}/{bits} dev router"));
        network.router.ip(&format!("route add {far}/{bits} dev wan"));
        client.ip(&format!("route add {far}/{bits} via {} features ecn", address(1, 1, ipv6)));
        let hosts = if ipv6 { "fd09:1::/64" } else { "10.9.1.0/25" };
        server.ip(&format!("route add {hosts} via {} features ecn", address(2, 1, ipv6)));
    }
    let octets = KINDS.iter().flat_map(|kind| kind.octets.clone().map(|host| (host, kind.ipv6)));
    for (host, ipv6) in octets.chain([(TAKEN_OVER, false)]) {
        let bits = if ipv6 { 128 } else { 32 };
        let own = address(1, host, ipv6);
        client.ip(&format!("address add {own}/{bits} dev router"));
        network.router.ip(&format!("route add {own}/{bits} dev {LAN}"));
    }
    // Of both families: net.ipv6.bindv6only is off.
    server.inside(|| TcpListener::bind("[::]:0")).expect("a port")
}

/// A connection of the host that carries so many bytes up.
pub(crate) fn send(
    client: &Namespace,
    far: &TcpListener,
    from: IpAddr,
    to: IpAddr,
    bytes: usize,
) -> [TcpStream; 2] {
    let peer = SocketAddr::new(to, far.local_addr().expect("bound").port());
    let socket = client.inside(|| {
        let socket = Socket::new(Domain::for_address(peer), Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::new(from, 0).into()).expect("an address of the host");
        socket.connect(&peer.into()).unwrap_or_else(|error| panic!("{from} to {to}: {error}"));
        socket
    });
    let (mut accepted, _) = far.accept().expect("a connection");
    let mut opened = TcpStream::from(socket);
    opened.write_all(&vec![7; bytes]).expect("room in the buffer");
    accepted.read_exact(&mut vec![0; bytes]).expect("all of it");
    [opened, accepted]
}

/// The devices that `windlass ecn-proxy hosts` lists.
pub(crate) fn devices(bed: &Bed, options: &[&str]) -> Vec<Value> {
    let output = bed.ask(&[&["hosts", "--json"], options].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The addresses of all devices.
fn hosts(bed: &Bed, options: &[&str]) -> Vec<Value> {
    let addresses = |device: Value| device["addresses"].as_array().cloned().unwrap_or_default();
    devices(bed, options).into_iter().flat_map(addresses).collect()
}

fn find(bed: &Bed, address: IpAddr) -> Value {
    let found = hosts(bed, &[]).into_iter().find(|host| host["address"] == address.to_string());
    found.unwrap_or_else(|| panic!("{address} is not listed"))
}

fn connections(host: &Value) -> [u64; 5] {
    let names = ["own", "own_refused", "served", "refused", "other"];
    names.map(|name| host["connections"][name].as_u64().expect("a number"))
}

/// Every host is what its kind says, with at least the payload that its connections carried: a
/// busy machine sends some again.
fn check_kinds(bed: &Bed, bytes: usize) {
    let listed = hosts(bed, &[]);
    let by_address: BTreeMap<_, _> = listed
        .iter()
        .map(|host| (host["address"].as_str().expect("text").to_owned(), host))
        .collect();
    for kind in &KINDS {
        for octet in kind.octets.clone() {
            let address = address(1, octet, kind.ipv6).to_string();
            let host = by_address.get(&address).unwrap_or_else(|| panic!("{address} is missing"));
            assert_eq!(
                (host["ecn"].as_str(), connections(host)),
                (Some(kind.ecn), kind.connections),
                "{host}"
            );
            let [own, own_refused, served, refused, _] = kind.connections;
            for (name, connections) in
                [("own", own), ("served", served), ("without", own_refused + refused)]
            {
                let carried = host["bytes"][name].as_u64().expect("a number");
                let sent = connections * bytes as u64;
                assert!((sent..=2 * sent + 1000).contains(&carried), "{name}, {sent}: {host}");
            }
            assert_eq!(host["takeovers"], 0);
        }
    }
}

#[test]
fn forty_hosts_are_listed_with_what_they_have_of_ecn() {
    const BYTES: usize = 10_000;
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let far = build(&bed);
    let client = &bed.network().client;
    let proxy = bed.run(&["--client-side", LAN, "--metrics", "127.0.0.1:0"]);
    let metrics = metrics_address(&proxy);
    proxy.wait_for("running");
    // Every second connection stays open: both kinds are counted.
    let mut open = Vec::new();
    for kind in &KINDS {
        for octet in kind.octets.clone() {
            for (index, far_octet) in kind.opens.iter().enumerate() {
                let (from, to) = (address(1, octet, kind.ipv6), address(2, *far_octet, kind.ipv6));
                let ends = send(client, &far, from, to, BYTES);
                if (usize::from(octet) + index) % 2 == 0 {
                    open.push(ends);
                }
            }
        }
    }
    check_kinds(&bed, BYTES);

    let taken_over = address(1, TAKEN_OVER, false);
    for _ in 0..3 {
        open.push(send(client, &far, taken_over, address(2, PLAIN, false), BYTES));
    }
    let before = find(&bed, taken_over);
    assert_eq!((&before["ecn"], connections(&before)), (&"served".into(), [0, 0, 3, 0, 0]));
    bed.network().client.ip("link set router address 02:00:00:00:00:77");
    bed.network().router.ip(&format!("neigh flush dev {LAN}"));
    drop(send(client, &far, taken_over, address(2, WITH_ECN, false), BYTES));
    let after = find(&bed, taken_over);
    assert_eq!((&after["ecn"], connections(&after)), (&"own".into(), [1, 0, 0, 0, 0]), "{after}");
    assert_eq!((&after["mac"], &after["takeovers"]), (&"02:00:00:00:00:77".into(), &1.into()));
    // Connections of the device before end, and are not those of the device of now.
    let removed = |stats: &Value| stats["counters"]["flows_removed"].as_u64().expect("a counter");
    let past = removed(&bed.json("stats"));
    let old = open.split_off(open.len() - 3);
    drop(old);
    assert!(eventually(|| removed(&bed.json("stats")) >= past + 3));
    assert_eq!(find(&bed, taken_over)["bytes"]["served"], 0);

    let listed = devices(&bed, &[]);
    assert_eq!(listed.len(), 40, "each host behind the router");
    assert!(listed.iter().all(|device| device["kind"] == "ecn-proxy.device"));
    let behind = |device: &&Value| device["mac"].is_null() && device["router"].is_string();
    assert_eq!(listed.iter().filter(behind).count(), 39, "all but the one with a new device");
    let sorted = hosts(&bed, &["--sort", "address"]);
    assert_eq!(sorted[0]["address"], "10.9.1.10");
    assert_eq!(hosts(&bed, &["--sort", "address", "--reverse"])[0]["address"], "fd09:1::18");
    let output = bed.ask(&["hosts"]);
    assert!(text(&output.stderr).contains("40 devices: 16 own, 13 served, 5 mixed, 6 without"));
    let share = "34 of 40 devices (85 %), 55 of 69 connections (80 %)";
    assert!(text(&output.stderr).contains(&format!("with ECN: {share}\n")), "{output:?}");
    let status = text(&bed.ask(&["status"]).stdout);
    assert!(status.contains(&format!("ecn     {share}\n")), "{status}");
    assert_eq!(text(&output.stdout).lines().count(), 42, "a row a device below the header");

    let page = get(&bed, metrics, "/metrics");
    for line in ["own\"} 16", "served\"} 13", "mixed\"} 5", "without\"} 6"] {
        assert!(page.contains(&format!("windlass_ecn_proxy_served_hosts{{ecn=\"{line}")), "{page}");
    }
    assert!(!page.contains("10.9.1."), "no series of a host");
}

#[test]
fn a_connection_that_the_far_host_opens_counts_for_the_served_host() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let _proxy = bed.run_plain();
    let network = bed.network();
    let host = network.client_address(false);
    for (far_asks, expected) in [("1", [0, 0, 1, 0, 0]), ("0", [0, 0, 1, 1, 0])] {
        network.server.sysctl("ipv4/tcp_ecn", far_asks);
        let listener = network.client.inside(|| TcpListener::bind((host, 0))).expect("a port");
        let peer = listener.local_addr().expect("bound");
        let mut far = network.server.inside(|| TcpStream::connect(peer)).expect("a route");
        let (mut own, _) = listener.accept().expect("a connection");
        far.write_all(b"request").expect("open");
        own.read_exact(&mut [0; 7]).expect("all of it");
        assert_eq!(connections(&find(&bed, host)), expected);
    }
}
