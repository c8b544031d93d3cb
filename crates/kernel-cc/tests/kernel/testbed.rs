//! Two hosts and a router between them, each a network namespace of the test's own. What the router
//! sends to the receiver goes through a link of 10 Mbit/s, on which the test can mark and drop
//! packets one by one.

use crate::impair::Impair;
use rustix::net::{AddressFamily, SocketType, sockopt};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use windlass_kernel_cc::{Flow, Name, Parameters, flows, load, unload};

/// The router's interface to the receiver.
const BOTTLENECK: &str = "far";
/// Of the receiver: at most about 60 segments in flight, fewer than the link's queue holds.
const RECEIVE_BUFFER: usize = 96 << 10;
/// No timer of TCP goes off because a machine stands still: no retransmission timeout after
/// Linux's 200 ms, and no tail loss probe (`tcp_early_retrans`).
const PATIENT: &str = "rto_min 4s";

/// A name that no other test uses, nor another run of this one.
pub(crate) fn unique(prefix: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{prefix}{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A controller under a name of the test's own, for as long as this value lives.
pub(crate) struct Loaded(pub Name);

impl Loaded {
    pub(crate) fn new() -> Loaded {
        let name: Name = unique("wt").parse().expect("short enough");
        load(&name, &Parameters::default()).unwrap_or_else(|error| panic!("{error}"));
        Loaded(name)
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // Gone already where the test was about that.
        let _ = unload(&self.0);
    }
}

pub(crate) struct Testbed {
    hosts: Hosts,
    pub link: Impair,
}

/// The namespaces, for as long as this value lives.
struct Hosts {
    sender: String,
    router: String,
    receiver: String,
}

impl Testbed {
    pub(crate) fn new() -> Testbed {
        let hosts = Hosts::new();
        let link = inside(&hosts.router, || Impair::attach(BOTTLENECK));
        let bed = Testbed { hosts, link };
        bed.allow_ecn(true);
        bed
    }

    /// Whether the hosts negotiate ECN.
    pub(crate) fn allow_ecn(&self, allow: bool) {
        for namespace in [&self.hosts.sender, &self.hosts.receiver] {
            sysctl(namespace, "ipv4/tcp_ecn", if allow { "1" } else { "0" });
        }
    }

    /// What connections of the sender use by default.
    pub(crate) fn set_default_controller(&self, name: &Name) {
        sysctl(&self.hosts.sender, "ipv4/tcp_congestion_control", name.as_str());
    }

    /// The sender's namespace as `Flow::netns` has it.
    pub(crate) fn sender_inode(&self) -> u32 {
        use std::os::unix::fs::MetadataExt;
        let file = fs::metadata(format!("/run/netns/{}", self.hosts.sender)).expect("made by ip");
        u32::try_from(file.ino()).expect("small")
    }

    /// A connection from the sender to the receiver, over IPv6 or IPv4, controlled by `controller`
    /// or by default.
    pub(crate) fn connect(&self, ipv6: bool, controller: Option<&Name>) -> io::Result<Connection> {
        let address: IpAddr = match ipv6 {
            true => Ipv6Addr::new(0xfd09, 2, 0, 0, 0, 0, 0, 2).into(),
            false => Ipv4Addr::new(10, 9, 2, 2).into(),
        };
        let listener = inside(&self.hosts.receiver, || listen(address))?;
        let peer = listener.local_addr()?;
        let sender = inside(&self.hosts.sender, || dial(peer, controller))?;
        let (receiver, _) = listener.accept()?;
        Ok(Connection { sender, receiver, peer })
    }
}

impl Hosts {
    fn new() -> Hosts {
        let name = unique("wkcc");
        let [sender, router, receiver] = ["a", "r", "b"].map(|host| format!("{name}{host}"));
        let hosts = Hosts { sender, router, receiver };
        for namespace in hosts.all() {
            ip(&format!("netns add {namespace}"));
            // Else the router has no link-local address for a second or two, from which it could
            // ask for a neighbour: the first SYN over IPv6 would wait so long.
            for conf in ["all", "default"] {
                sysctl(namespace, &format!("ipv6/conf/{conf}/accept_dad"), "0");
            }
        }
        let router = &hosts.router;
        for (subnet, host, own) in [(1, &hosts.sender, "near"), (2, &hosts.receiver, BOTTLENECK)] {
            ip(&format!("-n {router} link add {own} type veth peer router netns {host}"));
            bring_up(router, own, subnet, 1);
            bring_up(host, "router", subnet, 2);
            for gateway in [format!("10.9.{subnet}.1"), format!("fd09:{subnet}::1")] {
                ip(&format!("-n {host} route add default via {gateway} {PATIENT}"));
            }
            sysctl(host, "ipv4/tcp_early_retrans", "0");
        }
        for key in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
            sysctl(router, key, "1");
        }
        // In the sender itself a slow interface would hold TCP back, not its window.
        let tbf = "root tbf rate 10mbit burst 4k limit 300k";
        run("tc", &format!("-n {router} qdisc add dev {BOTTLENECK} {tbf}"));
        hosts
    }

    fn all(&self) -> [&String; 3] {
        [&self.sender, &self.router, &self.receiver]
    }
}

fn bring_up(namespace: &str, interface: &str, subnet: u8, host: u8) {
    ip(&format!("-n {namespace} address add 10.9.{subnet}.{host}/24 dev {interface}"));
    ip(&format!("-n {namespace} address add fd09:{subnet}::{host}/64 dev {interface}"));
    // A packet is a segment.
    ip(&format!("-n {namespace} link set {interface} gso_max_segs 1 up"));
}

fn sysctl(namespace: &str, key: &str, value: &str) {
    let path = format!("/proc/sys/net/{key}");
    let written = inside(namespace, || fs::write(&path, value));
    written.unwrap_or_else(|error| panic!("{path}: {error}"));
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for namespace in self.all() {
            let _ = Command::new("ip").args(["netns", "delete", namespace]).status();
        }
    }
}

fn listen(address: IpAddr) -> io::Result<TcpListener> {
    let socket = stream_socket(address.is_ipv4())?;
    sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER)?;
    rustix::net::bind(&socket, &SocketAddr::new(address, 0))?;
    rustix::net::listen(&socket, 1)?;
    Ok(socket.into())
}

fn stream_socket(ipv4: bool) -> io::Result<OwnedFd> {
    let family = if ipv4 { AddressFamily::INET } else { AddressFamily::INET6 };
    Ok(rustix::net::socket(family, SocketType::STREAM, None)?)
}

fn dial(peer: SocketAddr, controller: Option<&Name>) -> io::Result<TcpStream> {
    let socket = stream_socket(peer.is_ipv4())?;
    if let Some(name) = controller {
        sockopt::set_tcp_congestion(&socket, name.as_str())?;
    }
    rustix::net::connect(&socket, &peer)?;
    Ok(socket.into())
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub sender: TcpStream,
    pub receiver: TcpStream,
    pub peer: SocketAddr,
}

impl Connection {
    pub(crate) fn controller(&self) -> String {
        sockopt::tcp_congestion(&self.sender).expect("a TCP socket")
    }

    /// The kernel's account of it, while it uses `name`.
    pub(crate) fn flow(&self, name: &Name) -> Flow {
        let flows = flows(name).unwrap_or_else(|error| panic!("{error}"));
        let own = flows.into_iter().find(|flow| flow.peer == self.peer);
        own.expect("listed")
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

fn ip(arguments: &str) {
    run("ip", arguments);
}

fn run(program: &str, arguments: &str) {
    let status = Command::new(program).args(arguments.split(' ')).status().expect("iproute2");
    assert!(status.success(), "{program} {arguments}: {status}");
}
