//! The kernel's senders behind the proxy, on a path with a delay: `windlass link` joins the router and the
//! server.

use crate::bed::{Bed, LAN, Proxy, WINDLASS, eventually, skipped, text};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use windlass_testbed::{Routed, SocketOptions, connect, skip, wait_until};

/// Both ways together, by the link's options.
const PATH_MS: f64 = 40.0;
/// Linux's timestamps are whole milliseconds.
const TICK_MS: f64 = 1.0;
const SERVER4: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);
const SERVER6: Ipv6Addr = Ipv6Addr::new(0xfd78, 0, 0, 0, 0, 0, 0, 2);

/// A proxy at the router, and CoDel at the bottleneck behind it.
struct Path {
    bed: Bed,
    _link: Proxy,
    _proxy: Proxy,
}

impl Path {
    fn new(rate: &str) -> Path {
        let bed = Bed::new();
        let Routed { client, router, server, .. } = bed.network();
        let mut link = Command::new(WINDLASS);
        link.args(["link", "--rate", rate, "--delay", "20ms", "--aqm", "up:codel"]);
        link.args(["--port", &format!("up@{}=10.78.0.1/24", router.name())]);
        link.args(["--port", &format!("down@{}={SERVER4}/24", server.name())]);
        let link = Proxy::start(link);
        let has = |device: &str| server.output("ip", "-o addr").contains(device);
        wait_until("the link", || has("down"));
        router.ip("addr add fd78::1/64 dev up nodad");
        server.ip(&format!("addr add {SERVER6}/64 dev down nodad"));
        for (client, gateway) in [("10.9.1.2", "10.78.0.1"), ("fd09:1::2", "fd78::1")] {
            server.ip(&format!("route add {client} via {gateway} dev down"));
        }
        // Segments as they are on the wire.
        client.disable_offloads("router");
        router.disable_offloads(LAN);
        let proxy = bed.run_plain();
        Path { bed, _link: link, _proxy: proxy }
    }

    fn open(&self, ipv6: bool, controller: &str) -> (TcpStream, TcpStream) {
        let Routed { client, server, .. } = self.bed.network();
        let options = SocketOptions { controller: Some(controller), receive_buffer: None };
        let address = if ipv6 { IpAddr::from(SERVER6) } else { IpAddr::from(SERVER4) };
        connect((client, options), (server, options), address).expect("a route")
    }

    /// Uploads over all connections while `during` runs.
    fn while_sending(&self, connections: &[(TcpStream, TcpStream)], during: impl FnOnce()) {
        let over = AtomicBool::new(false);
        /// Ends the threads, also after a panic.
        struct Over<'a>(&'a AtomicBool);
        impl Drop for Over<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        thread::scope(|scope| {
            let _over = Over(&over);
            for (mut from, mut to) in connections.iter().map(|(from, to)| (from, to)) {
                let over = &over;
                scope.spawn(move || {
                    while !over.load(Ordering::Relaxed) && from.write_all(&[7; 4096]).is_ok() {}
                    let _ = from.shutdown(std::net::Shutdown::Both);
                });
                scope
                    .spawn(move || while to.read(&mut [0; 65_536]).is_ok_and(|bytes| bytes > 0) {});
            }
            during();
        });
    }

    /// The least RTT of each connection of the client in milliseconds, as its kernel has it.
    fn least_rtts_ms(&self) -> Vec<f64> {
        let printed = self.bed.network().client.output("ss", "-tinH state established");
        let words = printed.split_whitespace().filter_map(|word| word.strip_prefix("minrtt:"));
        words.map(|figure| figure.parse().expect("a number")).collect()
    }

    /// The proxy's connection of a stream.
    fn flow(&self, stream: &TcpStream) -> Value {
        let host = stream.local_addr().expect("connected").to_string();
        let found = self.bed.flows().into_iter().find(|flow| flow["host"] == host);
        found.unwrap_or_else(|| panic!("{host} is not listed"))
    }
}

fn has_bbr() -> bool {
    let controllers = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    fs::read_to_string(controllers).is_ok_and(|names| names.contains("bbr"))
}

/// RFC 6298 section 3 (Karn) and RFC 7323 section 4.1: a sample of the RTT is that of a segment that
/// arrived. A sample of the way to the proxy, or of the time since a retransmission, would be shorter than
/// the path; Linux's RACK and BBR go by the least one (`tcp_ack_update_rtt`, `bbr_update_min_rtt`).
#[test]
fn no_ack_of_the_proxy_shortens_the_least_rtt() {
    const VIRTUAL_LOSSES: u64 = 5;
    if skipped(&["ethtool"]) {
        return;
    }
    let path = Path::new("20M");
    let mut connections = Vec::new();
    for timestamps in ["1", "0"] {
        path.bed.network().client.sysctl("ipv4/tcp_timestamps", timestamps);
        for controller in ["reno", "cubic", "bbr"] {
            if controller == "bbr" && !has_bbr() {
                continue;
            }
            connections.push(path.open(false, controller));
            connections.push(path.open(true, controller));
        }
    }
    path.while_sending(&connections, || {
        let few = |flow: &Value| flow["virtual_losses"].as_u64() < Some(VIRTUAL_LOSSES);
        let enough = || !path.bed.flows().iter().any(few);
        assert!(eventually(enough), "too few marks: {:?}", path.bed.flows());
        let least = path.least_rtts_ms();
        assert_eq!(least.len(), connections.len());
        let short = least.iter().any(|&rtt| rtt < PATH_MS - TICK_MS);
        assert!(!short, "{least:?} on a path of {PATH_MS} ms");
    });
}

/// One connection with BBR beside one with CUBIC, until that with BBR has lost ECT.
fn until_bbr_loses_ect(path: &Path) {
    let cubic = path.open(false, "cubic");
    let bbr = path.open(false, "bbr");
    let of_cubic = cubic.0.try_clone().expect("open");
    let of_bbr = bbr.0.try_clone().expect("open");
    path.while_sending(&[cubic, bbr], || {
        let withheld = || path.flow(&of_bbr)["withheld"] == "no-response";
        assert!(eventually(withheld), "{} {}", path.flow(&of_bbr), path.bed.json("stats"));
        assert!(path.flow(&of_cubic)["withheld"].is_null(), "{}", path.flow(&of_cubic));
        let printed = text(&path.bed.ask(&["status"]).stdout);
        assert!(printed.contains("ect     withheld: 1 no-response"), "{printed}");
    });
}

/// RFC 3168 section 6.1.2: a sender that sets ECT answers a mark as a loss. BBR version 1 answers neither.
#[test]
fn a_sender_that_does_not_slow_down_loses_ect() {
    if skipped(&["ethtool"]) || (!has_bbr() && skip("needs the kernel's tcp_bbr")) {
        return;
    }
    let path = Path::new("20M");
    until_bbr_loses_ect(&path);
    let stats = path.bed.json("stats");
    assert_eq!(stats["reasons"]["ect_withdrawn"]["no-response"], 1, "{stats}");
    assert!(stats["counters"]["flight_kept"].as_u64() >= Some(8), "{stats}");
}

#[test]
#[ignore = "three connections in a row take half a minute; make verify-ecn-proxy runs it"]
fn after_three_connections_that_do_not_slow_down_the_next_of_the_host_has_no_ect() {
    if skipped(&["ethtool"]) || (!has_bbr() && skip("needs the kernel's tcp_bbr")) {
        return;
    }
    let path = Path::new("20M");
    for connection in 1..=3 {
        let (next, _far) = path.open(false, "cubic");
        assert!(path.flow(&next)["withheld"].is_null(), "{connection}");
        drop(next);
        until_bbr_loses_ect(&path);
    }
    let (next, _far) = path.open(false, "cubic");
    assert_eq!(path.flow(&next)["withheld"], "no-response");
    assert_eq!(path.bed.json("stats")["reasons"]["ect_withdrawn"]["no-response"], 4);
}
