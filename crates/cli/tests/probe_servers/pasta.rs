//! A stack without a congestion window: pasta, which carries the connections of a namespace to sockets of the
//! host, sends as much as the receive window takes.
//!
//! The client reaches pasta's namespace over the link; pasta gives the address of the namespace's gateway to the
//! server, on the loopback device of the host's namespace.

use crate::bed::{Bed, Line, Outcome};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use windlass_testbed::{Background, Namespace, Need, skip_unless, wait_until};

const HOST: &str = "10.97.8.2";
const GATEWAY: &str = "10.97.8.1";
const PAGE_BYTES: usize = 4_000_000;

/// The namespace of pasta's sockets, with a device and a route that pasta gives to its own namespace.
fn host() -> Namespace {
    let host = Namespace::new("wpd");
    host.ip("link add name eth0 type veth peer name eth1");
    host.ip("link set eth1 up");
    host.bring_up("eth0", &[&format!("{HOST}/24")]);
    host.ip(&format!("route add default via {GATEWAY}"));
    host
}

/// Starts pasta between the host's namespace and the one at the end of the bed's link.
fn pasta(host: &Namespace, bed: &Bed) -> Background {
    let mut command: Command = host.command("pasta");
    command.args(["--ipv4-only", "--foreground", "--config-net", "--runas", "0", "--netns-only"]);
    command.args(["--netns", &format!("/run/netns/{}", bed.server.name())]);
    let pasta = Background::start(command);
    let routes = || bed.server.output("ip", "-4 route").contains(GATEWAY);
    wait_until("pasta has made its device", routes);
    bed.route_through_server();
    pasta
}

fn serve(listener: &TcpListener, stop: &AtomicBool) {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {PAGE_BYTES}\r\n\r\n");
    let page = [head.into_bytes(), vec![b'x'; PAGE_BYTES]].concat();
    while let Ok((mut connection, _)) = listener.accept()
        && !stop.load(Ordering::Relaxed)
    {
        let page = page.clone();
        // It ends when the probe resets the connection.
        thread::spawn(move || {
            if matches!(connection.read(&mut [0; 4096]), Ok(1..)) {
                let _ = connection.write_all(&page);
            }
        });
    }
}

fn probe(loss: f64, runs: u32) -> Outcome {
    let bed = Bed::new(Line { rtt_ms: 60, loss });
    let host = host();
    let listener = host.inside(|| TcpListener::bind("0.0.0.0:80")).expect("a port");
    let _pasta = pasta(&host, &bed);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| serve(&listener, &stop));
        let url = format!("http://{GATEWAY}/");
        let runs = runs.to_string();
        let arguments = ["--tests", "A,C", "--runs", &runs, "--timeout", "300ms"];
        let outcome = bed.probe(&[&[url.as_str()], &arguments[..]].concat());
        stop.store(true, Ordering::Relaxed);
        let _ = host.inside(|| TcpStream::connect("127.0.0.1:80"));
        outcome
    })
}

#[test]
#[ignore = "takes minutes: make verify-probe"]
fn pasta_has_no_congestion_window_whatever_is_lost() {
    if skip_unless(&[Need::Root, Need::Program("pasta")]) {
        return;
    }
    for (loss, runs) in [(0.0, 20), (0.003, 20), (0.01, 20)] {
        let outcome = probe(loss, runs);
        let (packets, exact) = outcome.window();
        println!(
            "| pasta | 60 ms | {} % | {}, confidence {}, window {packets}{} |",
            loss * 100.0,
            outcome.reaction(),
            outcome.0["verdict"]["confidence"],
            if exact { "" } else { " or more" },
        );
        assert_eq!(outcome.reaction(), "no-congestion-window", "{loss}: {outcome:?}");
        assert!(!exact, "the receive window is no initial window: {outcome:?}");
    }
}
