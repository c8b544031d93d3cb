//! Two hosts and a router between them, each in its own network namespace. The router sends to the
//! receiver through a link of 10 Mbit/s, on which the test can mark and drop single packets.

use crate::impair::Impair;
use rustix::net::sockopt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;
use windlass_kernel_cc::{Flow, Name, Parameters, flows, load, unload};
use windlass_testbed::{Routed, SocketOptions, connect, unique};

/// The router's interface to the receiver.
const BOTTLENECK: &str = "far";
/// The receiver's buffer in bytes: it permits about 60 segments in flight, fewer than the link's queue
/// holds.
const RECEIVE_BUFFER: usize = 96 << 10;
/// Keeps TCP's timers from firing when the machine pauses: the default minimum RTO is 200 ms. Tail loss
/// probes are off too (`tcp_early_retrans`).
const TIMERS: &str = "rto_min 4s";
/// Connections in a row that the kernel may leave out of the list.
const UNLISTED_MAX: u32 = 20;

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

/// The client of [`Routed`] is the sender, its server the receiver.
pub(crate) struct Testbed {
    hosts: Routed,
    pub link: Impair,
}

impl Testbed {
    pub(crate) fn new() -> Testbed {
        // A packet is a segment.
        let hosts = Routed::new("wkcc", ["near", BOTTLENECK], "gso_max_segs 1", TIMERS);
        for host in [&hosts.client, &hosts.server] {
            host.sysctl("ipv4/tcp_early_retrans", "0");
        }
        // In the sender itself a slow interface would hold TCP back, not its window.
        let tbf = "root tbf rate 10mbit burst 4k limit 300k";
        hosts.router.tc(&format!("qdisc add dev {BOTTLENECK} {tbf}"));
        let link = hosts.router.inside(|| Impair::attach(BOTTLENECK));
        let bed = Testbed { hosts, link };
        bed.allow_ecn(true);
        bed
    }

    /// Whether the hosts negotiate ECN.
    pub(crate) fn allow_ecn(&self, allow: bool) {
        for host in [&self.hosts.client, &self.hosts.server] {
            host.sysctl("ipv4/tcp_ecn", if allow { "1" } else { "0" });
        }
    }

    /// Sets the default controller of the sender's connections.
    pub(crate) fn set_default_controller(&self, name: &Name) {
        self.hosts.client.sysctl("ipv4/tcp_congestion_control", name.as_str());
    }

    /// The sender's namespace as `Flow::netns` has it.
    pub(crate) fn sender_inode(&self) -> u32 {
        self.hosts.client.inode()
    }

    /// A connection from the sender to the receiver, over IPv6 or IPv4, controlled by `controller`
    /// or by default.
    pub(crate) fn connect(&self, ipv6: bool, controller: Option<&Name>) -> io::Result<Connection> {
        self.connect_listed(ipv6, controller, controller)
    }

    /// A connection of the sender, which `name` controls by default.
    pub(crate) fn connect_by_default(&self, name: &Name) -> io::Result<Connection> {
        self.connect_listed(false, None, Some(name))
    }

    fn connect_listed(
        &self,
        ipv6: bool,
        controller: Option<&Name>,
        listed_by: Option<&Name>,
    ) -> io::Result<Connection> {
        let mut connection = self.connect_once(ipv6, controller)?;
        let Some(name) = listed_by else { return Ok(connection) };
        // A kernel that skips programs (docs/internals/kernel-cc.md) may skip the one that lists it.
        for _ in 0..UNLISTED_MAX {
            if connection.listed(name).is_some() {
                break;
            }
            println!("{} is not listed", connection.peer);
            thread::sleep(Duration::from_millis(50));
            connection = self.connect_once(ipv6, controller)?;
        }
        Ok(connection)
    }

    fn connect_once(&self, ipv6: bool, controller: Option<&Name>) -> io::Result<Connection> {
        let own = SocketOptions { controller: controller.map(Name::as_str), receive_buffer: None };
        let others = SocketOptions { controller: None, receive_buffer: Some(RECEIVE_BUFFER) };
        let address = self.hosts.server_address(ipv6);
        let ends = connect((&self.hosts.client, own), (&self.hosts.server, others), address)?;
        let (sender, receiver) = ends;
        let peer = sender.peer_addr()?;
        Ok(Connection { sender, receiver, peer })
    }
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
        self.listed(name).expect("listed")
    }

    fn listed(&self, name: &Name) -> Option<Flow> {
        let flows = flows(name).unwrap_or_else(|error| panic!("{error}"));
        flows.into_iter().find(|flow| flow.peer == self.peer)
    }
}
