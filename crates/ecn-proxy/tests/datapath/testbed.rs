//! A served host, the proxy's router and a far host, each a network namespace of the test's own.
//! The served host has no ECN, the far host has. Both ways go through links of 20 Mbit/s, and what
//! goes into them can be marked packet by packet.

use crate::connection::Connection;
use libbpf_rs::{
    MapCore, MapFlags, MapHandle, ObjectBuilder, TC_EGRESS, TC_INGRESS, TcAttachPoint,
    TcHookBuilder,
};
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket, sockopt};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use windlass_ecn_proxy::datapath::{Datapath, Settings, Side};

#[repr(C, align(8))]
struct Aligned<Bytes: ?Sized>(Bytes);

static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/mark.bpf.o")));

/// Bounds the flight to some 90 segments: less than the link's queue holds.
const RECEIVE_BUFFER: usize = 128 << 10;

/// No timer of TCP goes off because a machine stands still: no retransmission timeout after
/// Linux's 200 ms, and no tail loss probe (`tcp_early_retrans`). What a test sees is what the
/// proxy did. On a machine of its own `WINDLASS_KERNEL_TIMERS=1` leaves both as they are, and a
/// stall of 200 ms is a timeout that the tests see.
const PATIENT: &str = "rto_min 15s";

fn keeps_kernel_timers() -> bool {
    std::env::var_os("WINDLASS_KERNEL_TIMERS").is_some()
}

/// Where a test wants the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On the router, at the interface that faces the served host.
    Router,
    /// On the served host itself.
    Host,
}

pub(crate) struct Testbed {
    /// Before the namespaces, so that it leaves their interfaces first.
    pub datapath: Datapath,
    /// What the far host is sent; what it sends.
    pub upward: Marker,
    pub downward: Marker,
    hosts: Hosts,
}

/// The namespaces, for as long as this value lives.
struct Hosts {
    host: String,
    router: String,
    far: String,
}

impl Testbed {
    /// `segments`: a packet is a segment, else packets are as large as the kernel likes.
    pub(crate) fn new(place: Place, segments: bool, settings: &Settings) -> Testbed {
        Testbed::with_rate(place, segments, settings, "20mbit")
    }

    /// The rate as tc takes it.
    pub(crate) fn with_rate(
        place: Place,
        segments: bool,
        settings: &Settings,
        rate: &str,
    ) -> Testbed {
        let hosts = Hosts::new(segments, rate);
        let datapath = hosts.load(place, settings);
        let upward = inside(&hosts.router, || Marker::attach("far", TC_EGRESS));
        let downward = inside(&hosts.router, || Marker::attach("far", TC_INGRESS));
        Testbed { datapath, upward, downward, hosts }
    }

    /// On a thread in the router's namespace, where its filters can be seen.
    pub(crate) fn in_router<T: Send>(&self, work: impl FnOnce(&Testbed) -> T + Send) -> T {
        inside(&self.hosts.router, || work(self))
    }

    /// The process goes, and another comes.
    pub(crate) fn restart(self, settings: &Settings) -> Testbed {
        let Testbed { datapath, upward, downward, hosts } = self;
        drop(datapath);
        let datapath = hosts.load(Place::Router, settings);
        Testbed { datapath, upward, downward, hosts }
    }

    /// A connection from the served host to the far host, or the other way.
    pub(crate) fn connect(&self, ipv6: bool, by_host: bool, controller: &str) -> Connection {
        let (from, to) = match by_host {
            true => (&self.hosts.host, &self.hosts.far),
            false => (&self.hosts.far, &self.hosts.host),
        };
        let subnet = if by_host { 2 } else { 1 };
        let address: IpAddr = match ipv6 {
            true => Ipv6Addr::new(0xfd09, subnet, 0, 0, 0, 0, 0, 2).into(),
            false => Ipv4Addr::new(10, 9, subnet as u8, 2).into(),
        };
        let listener = inside(to, || listen(address, controller)).expect("listens");
        let peer = listener.local_addr().expect("bound");
        let opened = inside(from, || dial(peer, controller)).expect("connects");
        let (accepted, _) = listener.accept().expect("comes");
        let (host, far) = if by_host { (opened, accepted) } else { (accepted, opened) };
        Connection { host, far }
    }

    /// No interface computes checksums, or joins and cuts segments, for its host: all are as on the
    /// wire.
    pub(crate) fn without_offloads(&self) {
        let Hosts { host, router, far } = &self.hosts;
        for (namespace, interface) in
            [(host, "router"), (router, "near"), (router, "far"), (far, "router")]
        {
            let off = "tx off rx off sg off tso off gso off gro off";
            run("ip", &format!("netns exec {namespace} ethtool -K {interface} {off}"));
        }
    }

    /// The served host is refused.
    pub(crate) fn connect_to_closed_port(&self) {
        let closed = SocketAddr::from(([10, 9, 2, 2], 1));
        let refused =
            inside(&self.hosts.host, || dial(closed, "cubic")).expect_err("a closed port");
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    /// Sets a key below net/ipv4 on the served host.
    pub(crate) fn set_on_host(&self, key: &str, value: &str) {
        sysctl(&self.hosts.host, &format!("ipv4/{key}"), value);
    }

    /// The same on the far host.
    pub(crate) fn set_on_far_host(&self, key: &str, value: &str) {
        sysctl(&self.hosts.far, &format!("ipv4/{key}"), value);
    }

    /// Of so many data packets for the far host, one overtakes all that wait in the queue.
    pub(crate) fn let_one_overtake_in(&self, packets: u32) {
        run("tc", &format!("-n {} qdisc add dev far parent 1:1 pfifo_fast", self.hosts.router));
        let [marks, drops, not_ect, seen, ecn_syns, _] = self.upward.fields();
        self.upward.write([marks, drops, not_ect, seen, ecn_syns, packets]);
    }

    /// What `ss` says of the one connection of the served host, or of the far host.
    pub(crate) fn ss(&self, of_host: bool) -> String {
        let namespace = if of_host { &self.hosts.host } else { &self.hosts.far };
        inside(namespace, || output("ss", "-tinoH state established"))
    }

    /// A counter of the served host's TCP.
    pub(crate) fn host_counter(&self, name: &str) -> u64 {
        counter(&self.hosts.host, name)
    }

    /// A counter of the far host's TCP.
    pub(crate) fn far_counter(&self, name: &str) -> u64 {
        counter(&self.hosts.far, name)
    }
}

impl Hosts {
    fn load(&self, place: Place, settings: &Settings) -> Datapath {
        let mut datapath = Datapath::load(settings).unwrap_or_else(|error| panic!("{error}"));
        let attached = match place {
            Place::Router => inside(&self.router, || datapath.attach("near", Side::ClientSide)),
            Place::Host => inside(&self.host, || datapath.attach("router", Side::NetworkSide)),
        };
        attached.unwrap_or_else(|error| panic!("{error}"));
        datapath
    }

    fn new(segments: bool, rate: &str) -> Hosts {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("wecn{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let [host, router, far] = ["h", "r", "f"].map(|part| format!("{name}{part}"));
        let hosts = Hosts { host, router, far };
        for namespace in [&hosts.host, &hosts.router, &hosts.far] {
            run("ip", &format!("netns add {namespace}"));
            without_duplicate_address_detection(namespace);
        }
        let router = &hosts.router;
        for (subnet, host, own) in [(1, &hosts.host, "near"), (2, &hosts.far, "far")] {
            run("ip", &format!("-n {router} link add {own} type veth peer router netns {host}"));
            bring_up(router, own, subnet, 1, segments);
            bring_up(host, "router", subnet, 2, segments);
            for gateway in [format!("10.9.{subnet}.1"), format!("fd09:{subnet}::1")] {
                let timers = if keeps_kernel_timers() { "rto_min 200ms" } else { PATIENT };
                run("ip", &format!("-n {host} route add default via {gateway} {timers}"));
            }
            if !keeps_kernel_timers() {
                sysctl(host, "ipv4/tcp_early_retrans", "0");
            }
        }
        // Both queues beyond the proxy.
        for (namespace, interface) in [(router, "far"), (&hosts.far, "router")] {
            let tbf = format!("root handle 1: tbf rate {rate} burst 16k limit 1m");
            run("tc", &format!("-n {namespace} qdisc add dev {interface} {tbf}"));
        }
        for key in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
            sysctl(router, key, "1");
        }
        sysctl(&hosts.host, "ipv4/tcp_ecn", "0");
        sysctl(&hosts.far, "ipv4/tcp_ecn", "1");
        hosts
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for namespace in [&self.host, &self.router, &self.far] {
            let _ = Command::new("ip").args(["netns", "delete", namespace]).status();
        }
    }
}

fn bring_up(namespace: &str, interface: &str, subnet: u8, host: u8, segments: bool) {
    run("ip", &format!("-n {namespace} address add 10.9.{subnet}.{host}/24 dev {interface}"));
    run("ip", &format!("-n {namespace} address add fd09:{subnet}::{host}/64 dev {interface}"));
    let size = if segments { " gso_max_segs 1" } else { "" };
    run("ip", &format!("-n {namespace} link set {interface}{size} up"));
    keep_in_order(namespace, interface);
}

/// Else a router has no link-local address for a second or two, from which it could ask for a
/// neighbour (RFC 4862 section 5.4): the first SYN over IPv6 would wait so long, and time out.
fn without_duplicate_address_detection(namespace: &str) {
    for conf in ["all", "default"] {
        sysctl(namespace, &format!("ipv6/conf/{conf}/accept_dad"), "0");
    }
}

/// A veth hands packets to the processor that sent them, and reorders them when a sender moves to
/// another: a real reason to retransmit, and to find that it was needless. One processor takes all.
fn keep_in_order(namespace: &str, interface: &str) {
    let script = format!("echo 1 > /sys/class/net/{interface}/queues/rx-0/rps_cpus");
    let enter = ["netns", "exec", namespace, "sh", "-c", &script];
    let status = Command::new("ip").args(enter).status().expect("iproute2");
    assert!(status.success(), "{script}: {status}");
}

/// A counter of TCP, as nstat has it.
fn counter(namespace: &str, name: &str) -> u64 {
    let text = inside(namespace, || {
        fs::read_to_string("/proc/thread-self/net/netstat").expect("readable")
            + &fs::read_to_string("/proc/thread-self/net/snmp").expect("readable")
    });
    let lines: Vec<_> = text.lines().collect();
    let pair = lines.chunks(2).find_map(|pair| {
        let at = pair[0].split(' ').position(|word| word == name)?;
        pair[1].split(' ').nth(at)?.parse().ok()
    });
    pair.unwrap_or_else(|| panic!("no counter {name}"))
}

fn sysctl(namespace: &str, key: &str, value: &str) {
    let path = format!("/proc/sys/net/{key}");
    let written = inside(namespace, || fs::write(&path, value));
    written.unwrap_or_else(|error| panic!("{path}: {error}"));
}

fn stream_socket(ipv4: bool, controller: &str) -> io::Result<OwnedFd> {
    let family = if ipv4 { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket(family, SocketType::STREAM, None)?;
    sockopt::set_tcp_congestion(&socket, controller)?;
    sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER)?;
    Ok(socket)
}

fn listen(address: IpAddr, controller: &str) -> io::Result<TcpListener> {
    let socket = stream_socket(address.is_ipv4(), controller)?;
    rustix::net::bind(&socket, &SocketAddr::new(address, 0))?;
    rustix::net::listen(&socket, 1)?;
    Ok(socket.into())
}

fn dial(peer: SocketAddr, controller: &str) -> io::Result<TcpStream> {
    let socket = stream_socket(peer.is_ipv4(), controller)?;
    rustix::net::connect(&socket, &peer)?;
    Ok(socket.into())
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

/// Runs `work` in a network namespace, on a thread of its own as the namespace is the thread's.
fn inside<T: Send>(namespace: &str, work: impl FnOnce() -> T + Send) -> T {
    let file = File::open(format!("/run/netns/{namespace}")).expect("made by ip");
    let enter_and_work = || {
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).expect("root");
        work()
    };
    thread::scope(|scope| scope.spawn(enter_and_work).join()).expect("no panic")
}

fn run(program: &str, arguments: &str) {
    let status = Command::new(program).args(arguments.split(' ')).status().expect("iproute2");
    assert!(status.success(), "{program} {arguments}: {status}");
}

fn output(program: &str, arguments: &str) -> String {
    let output = Command::new(program).args(arguments.split(' ')).output().expect("iproute2");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
