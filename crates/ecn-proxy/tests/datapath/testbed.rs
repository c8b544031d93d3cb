//! A served host, the proxy's router and a far host, each a network namespace of the test's own.
//! The served host has no ECN, the far host has. Both directions go through links of 20 Mbit/s, and
//! the test can mark packets one by one before they enter these.

use crate::connection::Connection;
use libbpf_rs::{
    MapCore, MapFlags, MapHandle, ObjectBuilder, TC_EGRESS, TC_INGRESS, TcAttachPoint,
    TcHookBuilder,
};
use nix::sys::socket::{setsockopt, sockopt::TcpFastOpenConnect};
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, ipproto, socket};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread;
use windlass_ecn_proxy::datapath::{Datapath, Settings, Side};
use windlass_testbed::{Namespace, PATIENT_TIMERS, Routed, SocketOptions, connect};

#[repr(C, align(8))]
struct Aligned<Bytes: ?Sized>(Bytes);

static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/mark.bpf.o")));

/// Bounds the flight to some 90 segments: less than the link's queue holds.
const RECEIVE_BUFFER: usize = 128 << 10;

/// No retransmission timeout after Linux's 200 ms, and no tail loss probe, so that a test sees
/// only the effects of the proxy. On a machine without other load `WINDLASS_KERNEL_TIMERS=1` leaves both
/// as they are, and a stall of 200 ms is a timeout that the tests see.
fn timers() -> &'static str {
    let keeps_kernel_timers = std::env::var_os("WINDLASS_KERNEL_TIMERS").is_some();
    if keeps_kernel_timers { "rto_min 200ms" } else { PATIENT_TIMERS }
}

/// The machine on which a test runs the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProxyMachine {
    /// On the router, at the interface that faces the served host.
    Router,
    /// On the served host itself.
    Host,
}

pub(crate) struct Testbed {
    /// Before the namespaces, so that it leaves their interfaces first.
    pub datapath: Datapath,
    /// Acts on packets for the far host.
    pub upward: Marker,
    /// Acts on packets from the far host.
    pub downward: Marker,
    hosts: Hosts,
}

/// The namespaces: the client of [`Routed`] is the served host, its server the far host.
struct Hosts(Routed);

impl Testbed {
    /// `segments`: a packet is a segment, else packets are as large as the kernel likes.
    pub(crate) fn new(place: ProxyMachine, segments: bool, settings: &Settings) -> Testbed {
        Testbed::with_rate(place, segments, settings, "20mbit")
    }

    /// The rate as tc takes it.
    pub(crate) fn with_rate(
        place: ProxyMachine,
        segments: bool,
        settings: &Settings,
        rate: &str,
    ) -> Testbed {
        let hosts = Hosts::new(segments, rate);
        let datapath = hosts.load(place, settings);
        let upward = hosts.0.router.inside(|| Marker::attach("far", TC_EGRESS));
        let downward = hosts.0.router.inside(|| Marker::attach("far", TC_INGRESS));
        Testbed { datapath, upward, downward, hosts }
    }

    fn host(&self) -> &Namespace {
        &self.hosts.0.client
    }

    fn router(&self) -> &Namespace {
        &self.hosts.0.router
    }

    fn far(&self) -> &Namespace {
        &self.hosts.0.server
    }

    /// On a thread in the router's namespace, where its filters can be seen.
    pub(crate) fn in_router<T: Send>(&self, work: impl FnOnce(&Testbed) -> T + Send) -> T {
        self.router().inside(|| work(self))
    }

    /// The process goes, and another comes.
    pub(crate) fn restart(self, settings: &Settings) -> Testbed {
        let Testbed { datapath, upward, downward, hosts } = self;
        drop(datapath);
        let datapath = hosts.load(ProxyMachine::Router, settings);
        Testbed { datapath, upward, downward, hosts }
    }

    /// A connection from the served host to the far host, or the other way.
    pub(crate) fn connect(&self, ipv6: bool, by_host: bool, controller: &str) -> Connection {
        self.connect_with(ipv6, by_host, controller, controller)
    }

    /// The same with another controller at each host.
    pub(crate) fn connect_with(
        &self,
        ipv6: bool,
        by_host: bool,
        host_controller: &str,
        far_controller: &str,
    ) -> Connection {
        let host = (self.host(), socket_options(host_controller));
        let far = (self.far(), socket_options(far_controller));
        let (from, to, address) = match by_host {
            true => (host, far, self.hosts.0.server_address(ipv6)),
            false => (far, host, self.hosts.0.client_address(ipv6)),
        };
        let ends = connect(from, to, address).expect("connects");
        let (opened, accepted) = ends;
        let (host, far) = if by_host { (opened, accepted) } else { (accepted, opened) };
        Connection::new(host, far)
    }

    /// No interface computes checksums, or joins and cuts segments, for its host: all are as on the
    /// wire.
    pub(crate) fn without_offloads(&self) {
        self.host().disable_offloads("router");
        self.far().disable_offloads("router");
        for device in ["near", "far"] {
            self.router().disable_offloads(device);
        }
    }

    /// Both hosts send packets as they are on the wire, and the router joins them into lists of GRO,
    /// which it cuts again on their way out.
    pub(crate) fn let_lists_form(&self) {
        for host in [self.host(), self.far()] {
            host.run("ethtool", "-K router tso off");
        }
        for device in ["near", "far"] {
            let features = "gro on rx-gro-list on tx-gso-list off";
            self.router().run("ethtool", &format!("-K {device} {features}"));
        }
    }

    pub(crate) fn let_no_lists_form(&self) {
        for device in ["near", "far"] {
            self.router().run("ethtool", &format!("-K {device} rx-gro-list off"));
        }
    }

    /// Acts on packets of the far host as they leave it.
    pub(crate) fn at_far_host(&self) -> Marker {
        self.far().inside(|| Marker::attach("router", TC_EGRESS))
    }

    /// The packets that the served host (or the far host) has received with a codepoint, and
    /// without.
    pub(crate) fn codepoints(&self, of_host: bool, ipv6: bool) -> (u64, u64) {
        let namespace = if of_host { self.host() } else { self.far() };
        let count = |name: &str| match ipv6 {
            true => namespace.counter6(&format!("Ip6{name}")),
            false => namespace.counter(name),
        };
        let with = ["InECT0Pkts", "InECT1Pkts", "InCEPkts"].map(count);
        (with.iter().sum(), count("InNoECTPkts"))
    }

    /// The served host is refused.
    pub(crate) fn connect_to_closed_port(&self, port: u16) {
        refuse(self.host(), SocketAddr::from((FAR, port)));
    }

    /// A connection of the served host by Multipath TCP; `None` where the kernel has none.
    pub(crate) fn connect_multipath(&self) -> Option<Connection> {
        let open = || socket(AddressFamily::INET, SocketType::STREAM, Some(ipproto::MPTCP)).ok();
        let far = self.far().inside(open)?;
        rustix::net::bind(&far, &SocketAddr::from((FAR, 0))).expect("a port");
        rustix::net::listen(&far, 1).expect("listens");
        let listener = TcpListener::from(far);
        let host = self.host().inside(open)?;
        rustix::net::connect(&host, &listener.local_addr().expect("bound")).expect("connects");
        let (far, _) = listener.accept().expect("a connection");
        Some(Connection::new(host.into(), far))
    }

    /// Sends `bytes` from the served host, the first with the SYN if the far host has given it a
    /// cookie before; returns what arrives.
    pub(crate) fn send_with_fast_open(&self, bytes: &[u8]) -> Vec<u8> {
        let listener = self.far().inside(|| TcpListener::bind((FAR, 0))).expect("a port");
        let address = listener.local_addr().expect("bound");
        let open = || socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        let host = self.host().inside(open);
        setsockopt(&host, TcpFastOpenConnect, &true).expect("Fast Open");
        rustix::net::connect(&host, &address).expect("connects when it sends");
        let mut host = TcpStream::from(host);
        thread::scope(|scope| {
            scope.spawn(move || host.write_all(bytes).expect("sends"));
            let mut received = Vec::new();
            let (mut far, _) = listener.accept().expect("a connection");
            far.read_to_end(&mut received).expect("data");
            received
        })
    }

    /// Sets the MTU between the served host and the router.
    pub(crate) fn set_host_mtu(&self, mtu: u32) {
        self.router().ip(&format!("link set near mtu {mtu}"));
        self.host().ip(&format!("link set router mtu {mtu}"));
    }

    /// So many connections of the served host whose SYNs are under way together.
    pub(crate) fn connect_at_once(&self, count: u32) {
        let listener = self.far().inside(|| TcpListener::bind((FAR, 0))).expect("a port");
        let address = listener.local_addr().expect("bound");
        // Threads inherit the namespace.
        self.host().inside(|| {
            thread::scope(|scope| {
                for _ in 0..count {
                    scope.spawn(|| TcpStream::connect(address).expect("connects"));
                }
            });
        });
    }

    /// A server of the far host behind a device that resets SYNs with ECN.
    pub(crate) fn reset_ecn_syns(&self) -> BehindResets<'_> {
        let nft = |rule: &str| self.far().run("nft", rule);
        nft("add table ip t");
        nft("add chain ip t in { type filter hook input priority 0 ; }");
        let asks = "tcp flags & ( syn | ack | ecn | cwr ) == syn | ecn | cwr";
        nft(&format!("add rule ip t in {asks} reject with tcp reset"));
        let listener = self.far().inside(|| TcpListener::bind((FAR, 0))).expect("a port");
        BehindResets { host: self.host(), listener }
    }

    /// The first `count` SYN-ACKs to the served host get lost behind the proxy.
    pub(crate) fn lose_answers(&self, count: u32) {
        let nft = |rule: &str| self.host().run("nft", rule);
        nft("add table ip t");
        nft("add chain ip t in { type filter hook input priority 0 ; }");
        let answers = "tcp flags & ( syn | ack ) == syn | ack";
        nft(&format!("add rule ip t in {answers} limit rate 1/day burst {count} packets drop"));
    }

    /// The router shows the far host its own address instead of the served host's.
    pub(crate) fn masquerade(&self) {
        for family in ["ip", "ip6"] {
            let hook = "{ type nat hook postrouting priority srcnat ; }";
            self.router().run("nft", &format!("add table {family} t"));
            self.router().run("nft", &format!("add chain {family} t out {hook}"));
            self.router().run("nft", &format!("add rule {family} t out oifname far masquerade"));
        }
    }

    /// Sets a key below net/ipv4 on the served host.
    pub(crate) fn set_on_host(&self, key: &str, value: &str) {
        self.host().sysctl(&format!("ipv4/{key}"), value);
    }

    /// Whether the kernel takes a value of net/ipv4/tcp_ecn; from Linux 7.0 on 3 to 5 too, for AccECN.
    pub(crate) fn takes_ecn(&self, value: u8) -> bool {
        self.host().try_sysctl("ipv4/tcp_ecn", &value.to_string()).is_ok()
    }

    /// The same on the far host.
    pub(crate) fn set_on_far_host(&self, key: &str, value: &str) {
        self.far().sysctl(&format!("ipv4/{key}"), value);
    }

    /// One of every `packets` data packets for the far host overtakes all that wait in the queue.
    pub(crate) fn let_one_overtake_in(&self, packets: u32) {
        self.router().tc("qdisc add dev far parent 1:1 pfifo_fast");
        let [marks, drops, not_ect, seen, ecn_syns, _] = self.upward.fields();
        self.upward.write([marks, drops, not_ect, seen, ecn_syns, packets]);
    }

    /// The one connection of the served host, or of the far host, as `ss` prints it.
    pub(crate) fn ss(&self, of_host: bool) -> String {
        let namespace = if of_host { self.host() } else { self.far() };
        namespace.output("ss", "-tinoH state established")
    }

    /// A counter of the served host's TCP.
    pub(crate) fn host_counter(&self, name: &str) -> u64 {
        self.host().counter(name)
    }

    /// A counter of the far host's TCP.
    pub(crate) fn far_counter(&self, name: &str) -> u64 {
        self.far().counter(name)
    }
}

/// The far host.
const FAR: Ipv4Addr = Ipv4Addr::new(10, 9, 2, 2);
fn refuse(host: &Namespace, address: SocketAddr) {
    let refused = host.inside(|| TcpStream::connect(address)).expect_err("closed");
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
}

/// See [`Testbed::reset_ecn_syns`].
pub(crate) struct BehindResets<'a> {
    host: &'a Namespace,
    listener: TcpListener,
}

impl BehindResets<'_> {
    fn address(&self) -> SocketAddr {
        self.listener.local_addr().expect("bound")
    }

    pub(crate) fn refuses(&self) {
        refuse(self.host, self.address());
    }

    pub(crate) fn accepts(&self) {
        self.host.inside(|| TcpStream::connect(self.address())).expect("connects");
    }
}

fn socket_options(controller: &str) -> SocketOptions<'_> {
    SocketOptions { controller: Some(controller), receive_buffer: Some(RECEIVE_BUFFER) }
}

impl Hosts {
    fn load(&self, place: ProxyMachine, settings: &Settings) -> Datapath {
        let mut datapath = Datapath::load(settings).unwrap_or_else(|error| panic!("{error}"));
        let Routed { client, router, .. } = &self.0;
        let attached = match place {
            ProxyMachine::Router => router.inside(|| datapath.attach("near", Side::ClientSide)),
            ProxyMachine::Host => client.inside(|| datapath.attach("router", Side::NetworkSide)),
        };
        attached.unwrap_or_else(|error| panic!("{error}"));
        datapath
    }

    fn new(segments: bool, rate: &str) -> Hosts {
        let size = if segments { "gso_max_segs 1" } else { "" };
        let network = Routed::new("wecn", ["near", "far"], size, timers());
        // Both queues beyond the proxy.
        let tbf = format!("root handle 1: tbf rate {rate} burst 16k limit 1m");
        network.router.tc(&format!("qdisc add dev far {tbf}"));
        network.server.tc(&format!("qdisc add dev router {tbf}"));
        network.client.sysctl("ipv4/tcp_ecn", "0");
        network.server.sysctl("ipv4/tcp_ecn", "1");
        Hosts(network)
    }
}

/// The program `mark.bpf.c`; the interface takes it along when it goes.
pub(crate) struct Marker(MapHandle);

impl Marker {
    fn attach(interface: &str, point: TcAttachPoint) -> Marker {
        let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).expect("a socket");
        let index = name_to_index(&socket, interface).expect("exists");
        let opened = ObjectBuilder::default().open_memory(&OBJECT.0).expect("an object");
        let object = opened.load().expect("the verifier agrees");
        let program = object.progs().next().expect("mark");
        TcHookBuilder::new(program.as_fd())
            .ifindex(i32::try_from(index).expect("small"))
            .hook(point)
            .create()
            .and_then(|mut hook| hook.attach())
            .expect("clsact");
        let left = object.maps().find(|map| map.name().as_encoded_bytes().ends_with(b".bss"));
        Marker(MapHandle::try_from(&left.expect("left")).expect("a map"))
    }

    /// Marks the next `count` data packets that may be marked.
    pub(crate) fn mark(&self, count: u32) {
        self.set(count, 0, 0);
    }

    /// Drops the next `count` data packets.
    pub(crate) fn drop(&self, count: u32) {
        self.set(0, count, 0);
    }

    /// Drops the next `count` SYNs of IPv4 that ask for ECN.
    pub(crate) fn drop_ecn_syns(&self, count: u32) {
        self.set(0, 0, count);
    }

    /// Marks to go, drops to go, data packets that should have been marked and were not ECT, data packets seen.
    pub(crate) fn left(&self) -> [u32; 4] {
        let [marks, drops, not_ect, seen, ..] = self.fields();
        [marks, drops, not_ect, seen]
    }

    /// The fields of the program's `left`.
    fn fields(&self) -> [u32; 6] {
        let value = self.0.lookup(&[0; 4], MapFlags::ANY).expect("a map").expect("its value");
        let field = |i: usize| value[4 * i..4 * i + 4].try_into().expect("four");
        std::array::from_fn(|i| u32::from_ne_bytes(field(i)))
    }

    fn set(&self, marks: u32, drops: u32, ecn_syns: u32) {
        let [_, _, not_ect, seen, _, overtaking] = self.fields();
        self.write([marks, drops, not_ect, seen, ecn_syns, overtaking]);
    }

    fn write(&self, fields: [u32; 6]) {
        let value = fields.map(u32::to_ne_bytes).concat();
        self.0.update(&[0; 4], &value, MapFlags::ANY).expect("a map");
    }
}
