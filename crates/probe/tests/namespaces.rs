//! The driver in network namespaces of the tests: against the engine behind a TUN device, and against the
//! kernel of this machine. The tests need root and are skipped without it.
#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::namespace::{DELAY, kernel_server, probe, skipped, with_server};
use common::server::config;
use common::smoltcp::{v0_12, v0_14};
use common::{A_TO_E_AND_S, settings};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use tun_rs::DeviceBuilder;
use windlass_base::{Ecn, Span};
use windlass_probe::ecn::{Answer, Capability, Echo, Mode};
use windlass_probe::linux::{Driver, measure};
use windlass_probe::session::Failure;
use windlass_probe::split::{Limit, Reaction};
use windlass_probe::{Ending, Session, Settings, Target, Test};
use windlass_probe_serve::{EngineServer, Server, page, says};
use windlass_tcp::Profile;
use windlass_testbed::{Namespace, Need, join, run, skip, skip_unless};

/// The engine there.
fn with_engine<T: Send>(
    profile: Profile,
    initial_window: u32,
    body: impl FnOnce() -> T + Send,
) -> T {
    let answers = move || -> Box<dyn Server> {
        Box::new(EngineServer::new(config(profile, initial_window), says(page(200_000))))
    };
    with_server(answers, body)
}

fn short(tests: &[Test], runs: u32) -> Settings {
    Settings { timeout: Span::from_millis(200), ..settings(tests, runs) }
}

fn resets_sent() -> u64 {
    let snmp = std::fs::read_to_string("/proc/thread-self/net/snmp").expect("there");
    let mut lines = snmp.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
    let index = names.split(' ').position(|name| name == "OutRsts").expect("a counter");
    values.split(' ').nth(index).and_then(|value| value.parse().ok()).expect("a number")
}

#[test]
fn the_engine_behind_a_real_device_sends_9_12_18_30_42_packets_by_ipv4_and_ipv6() {
    if skipped() {
        return;
    }
    with_engine(Profile::Rfc2581, 3, || {
        for host in ["http://10.98.0.2/", "http://[fd98::2]/"] {
            let outcome = probe(host, short(&A_TO_E_AND_S, 3));
            let packets: Vec<u64> =
                outcome.tests.iter().map(|row| row.data_packets.median).collect();
            assert_eq!(packets, [9, 12, 18, 30, 42, 7], "{host}");
            let verdict = outcome.verdict.expect("measured");
            assert_eq!(verdict.reaction, Reaction::CountsAcks, "{host}");
            let window = verdict.initial_window.expect("seen");
            assert_eq!((window.packets, window.exact), (3, true));
        }
        assert_eq!(resets_sent(), 0, "the kernel keeps out of it");
    });
}

/// As in virtual time: `tests/smoltcp.rs` says why.
#[test]
fn smoltcp_behind_a_real_device_counts_bytes_since_0_14_and_nothing_before() {
    if skipped() {
        return;
    }
    for (address, host) in [("10.98.0.2", "http://10.98.0.2/"), ("fd98::2", "http://[fd98::2]/")] {
        let address = address.parse().expect("an address");
        let newer = move || -> Box<dyn Server> {
            let reno = v0_14::CongestionControl::Reno;
            Box::new(v0_14::WebServer::new(address, reno, true, page(200_000)))
        };
        let outcome = with_server(newer, || probe(host, short(&A_TO_E_AND_S, 3)));
        let packets: Vec<u64> = outcome.tests.iter().map(|row| row.data_packets.median).collect();
        assert_eq!(packets, [3; 6], "{host}");
        let reaction = outcome.verdict.expect("measured").reaction;
        assert_eq!(reaction, Reaction::CountsBytes { limit: None }, "{host}");

        let older = move || -> Box<dyn Server> {
            let reno = v0_12::CongestionControl::Reno;
            Box::new(v0_12::WebServer::new(address, reno, true, page(900_000)))
        };
        let outcome = with_server(older, || probe(host, short(&A_TO_E_AND_S, 3)));
        let reaction = outcome.verdict.expect("measured").reaction;
        assert_eq!(reaction, Reaction::NoCongestionWindow, "{host}");
    }
}

/// Serves with one initial window after another. Each serves until its control connection comes,
/// the request for /next.
fn serve_windows(server: &Namespace, listener: &TcpListener, initial_windows: &[u32]) {
    for initial_window in initial_windows {
        for client in ["10.97.0.1/32", "fd97::1/128"] {
            let family = if client.contains(':') { "-6 " } else { "" };
            let route = format!("route replace {client} dev peer initcwnd {initial_window}");
            run("ip", &format!("{family}-n {} {route}", server.name()));
        }
        while listener.accept().is_ok_and(|(client, _)| answer(client)) {}
    }
}

/// Answers a request. Returns false for a request for /next.
fn answer(mut client: TcpStream) -> bool {
    let mut request = Vec::new();
    let mut chunk = [0; 1024];
    while !request.ends_with(b"\r\n\r\n") {
        match client.read(&mut chunk) {
            Ok(len @ 1..) => request.extend_from_slice(&chunk[..len]),
            _ => return true,
        }
    }
    // In the background, because the probe does not read the whole answer.
    let next = request.starts_with(b"GET /next ");
    thread::spawn(move || client.write_all(&page(400_000)));
    !next
}

fn next_setting() {
    let mut control = TcpStream::connect("10.97.0.2:80").expect("listens");
    control.write_all(b"GET /next HTTP/1.1\r\n\r\n").expect("open");
    let _ = control.read(&mut [0; 1]);
}

#[test]
fn this_kernel_gains_nothing_and_its_initial_window_is_found_exactly() {
    if skipped() {
        return;
    }
    const INITIAL_WINDOWS: [u32; 4] = [10, 3, 4, 16];
    let (client, server) = kernel_server();
    let listener = server.inside(|| TcpListener::bind("[::]:80")).expect("a port");
    let measure = || {
        for initial_window in INITIAL_WINDOWS {
            for host in ["http://10.97.0.2/", "http://[fd97::2]/"] {
                let outcome = probe(host, short(&A_TO_E_AND_S, 3));
                let verdict = outcome.verdict.clone().expect("measured");
                let window = verdict.initial_window.expect("seen");
                let found = (window.packets, window.exact);
                assert_eq!(found, (initial_window, true), "{host}: {outcome:?}");
                let unlimited = Reaction::CountsBytes { limit: Some(Limit::None) };
                assert_eq!(verdict.reaction, unlimited, "{host}: {outcome:?}");
                assert_eq!(verdict.gain, Some((4, 1.0)), "{host}");
            }
            next_setting();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| serve_windows(&server, &listener, &INITIAL_WINDOWS));
        client.inside(measure);
    });
}

/// The ECN of this kernel as a server, by IPv4 and IPv6, with each of these values of `net.ipv4.tcp_ecn`. `None`
/// if it refuses one of them.
fn ecn_of_this_kernel(values: &[&str]) -> Option<Vec<Capability>> {
    let (client, server) = kernel_server();
    let set = |value: &str| server.inside(|| std::fs::write("/proc/sys/net/ipv4/tcp_ecn", value));
    if !values.iter().all(|value| set(value).is_ok()) {
        return None;
    }
    let listener = server.inside(|| TcpListener::bind("[::]:80")).expect("a port");
    Some(thread::scope(|scope| {
        scope.spawn(|| while listener.accept().is_ok_and(|(client, _)| answer(client)) {});
        let mut found = Vec::new();
        for value in values {
            set(value).expect("taken before");
            for host in ["http://10.97.0.2/", "http://[fd97::2]/"] {
                let settings = Settings { ecn: true, ..short(&[Test::BASELINE], 1) };
                let outcome = client.inside(|| probe(host, settings));
                assert_eq!(outcome.runs.len(), 1, "the tests follow: {outcome:?}");
                let capability = outcome.ecn.expect("asked");
                // The rows of docs/results/probe.md.
                println!("tcp_ecn {value}, {host}: {capability}");
                found.push(capability);
            }
        }
        client.inside(next_setting);
        found
    }))
}

/// The server's packets with data that arrived as Not-ECT and as ECT(0).
fn data(capability: &Capability) -> (u32, u32) {
    let trial = capability.trial().expect("answered");
    (trial.arrived.not_ect, trial.arrived.ect_0)
}

#[test]
fn this_kernel_echoes_marks_unless_its_ecn_is_off() {
    if skipped() {
        return;
    }
    let found = ecn_of_this_kernel(&["0", "1", "2"]).expect("any kernel takes these");
    let (off, on) = found.split_at(2);
    for capability in off {
        assert_eq!(capability.answer, Some(Answer::None), "{capability:?}");
        assert_eq!((capability.feedback, capability.runs.len()), (None, 2), "{capability:?}");
        assert_eq!(data(capability).1, 0, "{capability:?}");
    }
    for capability in on {
        assert_eq!(capability.answer, Some(Answer::Classic), "{capability:?}");
        let echoes = (Some(Echo::Echoes), 1);
        assert_eq!((capability.feedback, capability.runs.len()), echoes, "{capability:?}");
        let (not_ect, ect_0) = data(capability);
        assert!(not_ect == 0 && ect_0 > 0, "{capability:?}");
    }
}

/// Linux takes these values since 6.19.
#[test]
fn a_kernel_with_accecn_counts_the_marks() {
    if skipped() {
        return;
    }
    let Some(found) = ecn_of_this_kernel(&["3", "4", "5"]) else {
        skip("needs a kernel with AccECN (net.ipv4.tcp_ecn = 3)");
        return;
    };
    for capability in found {
        assert_eq!((capability.mode, capability.feedback), (Mode::Accurate, Some(Echo::Counts)));
        let trial = capability.trial().expect("answered");
        assert_eq!(trial.negotiation.syn_arrived, Some(Ecn::NotEct), "{trial:?}");
        assert_eq!(trial.counted(), Some(2), "{trial:?}");
        let (not_ect, ect_0) = data(&capability);
        assert!(not_ect == 0 && ect_0 > 0, "{capability:?}");
    }
}

/// While it expects an ACK soon, Linux keeps back what is less than a third of its window and than 64 KB
/// (`tcp_tso_should_defer`): 12 packets of 100, which come with the first ACK.
#[test]
fn an_initial_window_of_100_is_exact_only_if_the_kernel_held_nothing_back() {
    if skipped() {
        return;
    }
    let (client, server) = kernel_server();
    let listener = server.inside(|| TcpListener::bind("[::]:80")).expect("a port");
    let measure = || {
        let outcome = probe("http://10.97.0.2/", short(&[Test::Split(1), Test::Split(4)], 5));
        next_setting();
        outcome
    };
    let outcome = thread::scope(|scope| {
        scope.spawn(|| serve_windows(&server, &listener, &[100]));
        client.inside(measure)
    });
    let window = outcome.verdict.clone().and_then(|verdict| verdict.initial_window).expect("seen");
    assert!((80..=100).contains(&window.packets), "{outcome:?}");
    assert!(!window.exact || window.packets == 100, "{outcome:?}");
    // The packets that were held back came in the end, behind any number of ACKs.
    let all: Vec<u64> = outcome.tests.iter().map(|row| row.data_packets.median).collect();
    assert_eq!(all, [106, 106], "{outcome:?}");
}

/// A bottleneck of 10 Mbit/s at a router: it sends two packets at once, and has places for twelve.
#[test]
fn a_burst_of_the_kernel_loses_what_the_queue_of_a_router_does_not_take() {
    const WAIT_MS_MAX: f64 = 14.0;
    if skipped() || skip_unless(&[Need::Program("tc")]) {
        return;
    }
    let [client, router, server] = [(); 3].map(|()| Namespace::new("wpr"));
    join((&client, "v"), (&router, "client"));
    join((&router, "server"), (&server, "peer"));
    client.bring_up("v", &["10.97.1.1/24"]);
    router.bring_up("client", &["10.97.1.2/24"]);
    router.bring_up("server", &["10.97.2.2/24"]);
    server.bring_up("peer", &["10.97.2.1/24"]);
    run("ip", &format!("-n {} route add default via 10.97.1.2", client.name()));
    run("ip", &format!("-n {} route add default via 10.97.2.2", server.name()));
    router.inside(|| std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("root"));
    let queue = "qdisc add dev client root tbf rate 10mbit burst 3100 limit 18200";
    let arguments = format!("-n {} {queue}", router.name());
    if !Command::new("tc").args(arguments.split(' ')).status().is_ok_and(|s| s.success()) {
        skip("needs the queue discipline tbf");
        return;
    }
    let listener = server.inside(|| TcpListener::bind("10.97.2.1:80")).expect("a port");
    let outcome = thread::scope(|scope| {
        scope.spawn(|| while listener.accept().is_ok_and(|(client, _)| answer(client)) {});
        client.inside(|| {
            let mut driver = Driver::open().expect("root");
            let mut measured = || {
                let settings = Settings { bursts: vec![2, 10, 24], ..settings(&[], 6) };
                let target = Target::parse("http://10.97.2.1/").expect("a target");
                let mut session = Session::new(target, settings);
                measure(&mut driver, &mut session, |_| true).expect("sockets");
                session.burst_outcome()
            };
            let mut outcome = measured();
            // Packets come later where other programs have the machine.
            for _ in 0..2 {
                if outcome.verdict.sizes[1].added_ms.is_none_or(|added| added >= WAIT_MS_MAX) {
                    outcome = measured();
                }
            }
            let mut control = TcpStream::connect("10.97.2.1:80").expect("listens");
            control.write_all(b"GET /next HTTP/1.1\r\n\r\n").expect("open");
            let _ = control.read(&mut [0; 1]);
            outcome
        })
    });
    let [_, ten, most] = &outcome.verdict.sizes[..] else { panic!("{outcome:?}") };
    assert_eq!((ten.runs, ten.lost), ((6, 6), 0), "{outcome:?}");
    // Eight packets of 1514 bytes wait for the rate.
    let added = ten.added_ms.expect("measured");
    assert!((8.0..WAIT_MS_MAX).contains(&added), "{added} ms: {outcome:?}");
    assert!(most.runs.1 >= 4, "{outcome:?}");
    assert!((0.3..0.5).contains(&most.loss.value), "10 of 24 have no place: {outcome:?}");
}

#[test]
fn a_closed_port_a_silent_host_and_an_unreachable_one_are_distinguished() {
    if skipped() {
        return;
    }
    let namespace = Namespace::new("wpr");
    namespace.inside(|| {
        // No program reads the packets that are routed there.
        let _sink = DeviceBuilder::new().name("sink").build_sync().expect("/dev/net/tun");
        namespace.bring_up("sink", &["10.96.0.1/24"]);
        let ending = |target: &str| {
            let patience = Span::from_millis(1500);
            let settings = Settings { patience, ..short(&[Test::BASELINE], 1) };
            match probe(target, settings).failure {
                Some(Failure::Ended { ending }) => ending,
                other => panic!("{target}: {other:?}"),
            }
        };
        assert_eq!(ending("http://127.0.0.1/"), Ending::Refused);
        assert_eq!(ending("http://[::1]/"), Ending::Refused);
        assert_eq!(ending("http://10.96.0.2/"), Ending::Silent);
        assert_eq!(ending("http://192.0.2.1/"), Ending::Unreachable { icmp_code: None });
        assert_eq!(resets_sent(), 2, "those of the closed ports");
    });
}

/// lwIP behind a TAP device: `lwip/server.c`, with Debian's liblwip.
struct Lwip(Child);

impl Lwip {
    /// `None` if it cannot be built.
    fn start() -> Option<Lwip> {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lwip/server.c");
        let program = format!("{}/lwip-server-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
        let mut compiler = Command::new("cc");
        compiler.args(["-I/usr/include/lwip", source, "-llwip", "-o", &program]);
        if !compiler.output().is_ok_and(|output| output.status.success()) {
            return None;
        }
        let delay_ms = DELAY.as_millis().to_string();
        let mut command = Command::new(&program);
        command.args(["lwip", "10.96.0.2", "fd96::2", &delay_ms, "200000"]).stdout(Stdio::piped());
        let mut child = command.spawn().expect("built");
        let mut line = String::new();
        let read = BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line);
        std::fs::remove_file(&program).expect("built");
        assert!(read.is_ok() && line == "listening\n", "{line}");
        Some(Lwip(child))
    }
}

impl Drop for Lwip {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// In `tcp_receive` (src/core/tcp_in.c) lwIP 2.1 raises cwnd by the bytes that an ACK acknowledges, at
/// most two segments. It begins with 4,380 bytes (`LWIP_TCP_CALC_INITIAL_CWND`).
#[test]
fn lwip_counts_bytes_up_to_two_segments_an_ack() {
    if skipped() {
        return;
    }
    let namespace = Namespace::new("wpr");
    namespace.inside(|| {
        let Some(_lwip) = Lwip::start() else {
            skip("needs cc and liblwip-dev");
            return;
        };
        namespace.bring_up("lwip", &["10.96.0.1/24", "fd96::1/64"]);
        for host in ["http://10.96.0.2/", "http://[fd96::2]/"] {
            let outcome = probe(host, short(&A_TO_E_AND_S, 3));
            let verdict = outcome.verdict.expect("measured");
            let limit = Some(Limit::Two);
            assert_eq!(verdict.reaction, Reaction::CountsBytes { limit }, "{host}");
            let packets: Vec<u64> =
                outcome.tests.iter().map(|row| row.data_packets.median).collect();
            assert_eq!(packets, [9, 9, 9, 9, 9, 8], "{host}");
            let window = verdict.initial_window.expect("seen");
            assert_eq!((window.packets, window.exact), (3, true), "{host}");
            assert_eq!(outcome.server.as_deref(), Some("lwIP"));
        }
    });
}
