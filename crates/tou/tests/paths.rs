//! Paths that do not exist, or carry small packets only: between network namespaces, held against the
//! kernel's TCP.

#![cfg(target_os = "linux")]

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};
use windlass_testbed::{Namespace, Need, join, skip_unless};
use windlass_tou::{Options, TouListener, TouSocket, TouStream};

fn skips() -> bool {
    skip_unless(&[Need::Root, Need::Program("ip")])
}

fn socket(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// The errors of the kernel's TCP, of ToU, and of a ToU port that is bound to all addresses.
fn errors(host: &Namespace, peer: SocketAddr) -> [io::Error; 3] {
    let timeout = Duration::from_secs(20);
    host.inside(|| {
        let kernel = TcpStream::connect_timeout(&peer, timeout).map(drop).expect_err("no path");
        let own = TouStream::connect_timeout(&peer, timeout, &Options::default());
        let any = if peer.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let shared = TouSocket::bind(any).expect("a port").connect(peer);
        [kernel, own.expect_err("no path"), shared.expect_err("no path")]
    })
}

/// RFC 1122 §4.2.3.9, and Linux's tcp_v4_connect and tcp_v4_err: the kernel's error, at once.
#[test]
fn without_a_path_the_error_is_the_kernels() {
    if skips() {
        return;
    }
    let [host, router] = ["pa", "pb"].map(Namespace::new);
    join((&host, "v0"), (&router, "v0"));
    host.bring_up("v0", &["10.71.0.1/24", "fd71::1/64"]);
    router.bring_up("v0", &["10.71.0.2/24", "fd71::2/64"]);
    for key in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
        router.sysctl(key, "1");
    }
    // The router discards what it would forward.
    host.sysctl("ipv4/ip_default_ttl", "1");
    // The limit of ICMP messages would hide the second report.
    router.sysctl("ipv4/icmp_ratelimit", "0");
    router.sysctl("ipv6/icmp/ratelimit", "0");
    for route in ["198.51.100.0/24 via 10.71.0.2", "203.0.113.0/24 via 10.71.0.2"] {
        host.ip(&format!("route add {route}"));
    }
    host.ip("route add prohibit 192.0.2.128/25");
    host.ip("-6 route add 2001:db8:1::/48 via fd71::2");
    router.ip("route add unreachable 198.51.100.0/25");
    router.ip("route add prohibit 198.51.100.128/25");
    router.ip("route add 203.0.113.0/24 via 10.71.0.1");
    router.ip("-6 route add prohibit 2001:db8:1::/48");
    let began = Instant::now();
    for peer in [
        // No route, a prohibited one, and an address without its zone.
        "192.0.2.1:7000",
        "192.0.2.129:7000",
        "[2001:db8::1]:7000",
        "[fe80::1]:7000",
        // By ICMP: net unreachable, administratively prohibited, time exceeded, closed port.
        "198.51.100.1:7000",
        "198.51.100.129:7000",
        "203.0.113.1:7000",
        "[2001:db8:1::1]:7000",
        "10.71.0.2:7000",
    ] {
        let [kernel, own, shared] = errors(&host, socket(peer));
        assert!(kernel.raw_os_error().is_some(), "{peer}");
        assert_eq!((own.kind(), shared.kind()), (kernel.kind(), kernel.kind()), "{peer}");
    }
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

/// Two hosts with a router between them.
struct Path {
    hosts: [Namespace; 2],
    router: Namespace,
}

impl Path {
    fn new() -> Path {
        let path = Path { hosts: ["pc", "pd"].map(Namespace::new), router: Namespace::new("pe") };
        for (index, host) in path.hosts.iter().enumerate() {
            let device = format!("v{index}");
            join((host, "v"), (&path.router, &device));
            host.bring_up("v", &[&format!("10.72.{index}.1/24")]);
            path.router.bring_up(&device, &[&format!("10.72.{index}.2/24")]);
            host.ip(&format!("route add default via 10.72.{index}.2"));
        }
        path.router.sysctl("ipv4/ip_forward", "1");
        path
    }

    /// Sets the MTU of the second host's link, at the router, and at the host if it is to know.
    fn set_mtu(&self, mtu: u32, host_knows: bool) {
        self.router.ip(&format!("link set v1 mtu {mtu}"));
        if host_knows {
            self.hosts[1].ip(&format!("link set v mtu {mtu}"));
        }
    }

    /// The hosts get no report that a packet was too big.
    fn filter_icmp(&self) {
        for host in &self.hosts {
            host.run("nft", "add table ip filter");
            host.run("nft", "add chain ip filter in { type filter hook input priority 0 ; }");
            let rule = "add rule ip filter in icmp type destination-unreachable drop";
            host.run("nft", rule);
        }
    }

    /// Sends `data` both ways. `begun` is called when the first bytes have arrived.
    fn exchange(&self, data: &[u8], begun: impl FnOnce() + Send) -> io::Result<()> {
        let listener = self.hosts[1].inside(|| TouListener::bind("0.0.0.0:0"))?;
        let port = listener.local_addr()?.port();
        let limit = Some(Duration::from_secs(60));
        let client = self.hosts[0].inside(|| {
            let peer = SocketAddr::from(([10, 72, 1, 1], port));
            TouStream::connect_timeout(&peer, Duration::from_secs(10), &Options::default())
        })?;
        let (server, _) = listener.accept()?;
        for stream in [&client, &server] {
            stream.set_read_timeout(limit)?;
            stream.set_write_timeout(limit)?;
        }
        thread::scope(|scope| {
            let there = scope.spawn(|| (&client).write_all(data));
            let back = scope.spawn(|| (&server).write_all(data));
            let reads = scope.spawn(|| read(&client, data.len(), || {}));
            read(&server, data.len(), begun)?;
            for thread in [there, back, reads] {
                thread.join().expect("no panic")?;
            }
            Ok(())
        })
    }
}

fn read(mut stream: &TouStream, len: usize, begun: impl FnOnce()) -> io::Result<()> {
    let mut bytes = vec![0; len];
    stream.read_exact(&mut bytes[..1])?;
    begun();
    stream.read_exact(&mut bytes[1..])
}

#[test]
fn small_paths_carry_data_with_icmp_and_without() {
    if skips() || skip_unless(&[Need::Program("nft")]) {
        return;
    }
    let path = Path::new();
    let data = vec![7; 60_000];
    for (mtu, host_knows) in [(1228, true), (1227, false), (1000, true), (576, false), (300, true)]
    {
        path.set_mtu(mtu, host_knows);
        path.exchange(&data, || {}).unwrap_or_else(|error| panic!("MTU {mtu}: {error}"));
    }
    path.set_mtu(1500, true);
    // In the middle of a transfer.
    path.exchange(&vec![7; 2_000_000], || path.set_mtu(700, false)).expect("with ICMP");
    path.filter_icmp();
    path.exchange(&data, || {}).expect("MTU 700 without ICMP");
    path.set_mtu(1500, true);
    path.exchange(&vec![7; 2_000_000], || path.set_mtu(400, false)).expect("without ICMP");
}
