//! The time from the start of `forward` to the first byte of the far service, in round trips.

use super::behind_nats;
use crate::cell::{Cell, cannot_run};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};
use windlass_testbed::{Background, Namespace, wait_until};

const GREETING: u16 = 9100;
const FORWARDED: u16 = 9101;
const ROUND_TRIP: Duration = Duration::from_millis(50);
const RUNS: usize = 9;
/// The bounds of the medians, in round trips.
const COLD_MAX: f64 = 8.0;
const WARM_MAX: f64 = 5.0;
/// Connections that stay open while the last of them is opened.
const CONNECTIONS: usize = 100;

/// A server that speaks first, as SSH and SMTP servers do.
fn serve_greeting(host: &Namespace) {
    let listener = host.inside(|| TcpListener::bind(("127.0.0.1", GREETING))).expect("a port");
    thread::spawn(move || {
        let mut open = vec![];
        while let Ok((mut stream, _)) = listener.accept() {
            stream.write_all(b"hello").expect("a new connection");
            open.push(stream);
        }
    });
}

/// Times since the start, each after the one before.
struct Parts {
    listening: Duration,
    registered: Duration,
    path: Duration,
    first_byte: Duration,
}

fn connect(cell: &Cell) -> Option<TcpStream> {
    cell.crossing.hosts[0].inside(|| TcpStream::connect(("127.0.0.1", FORWARDED))).ok()
}

/// Opens a connection and waits for its first byte.
fn open(cell: &Cell) -> (TcpStream, Duration) {
    let start = Instant::now();
    let mut stream = connect(cell).expect("forward listens");
    stream.read_exact(&mut [0]).expect("the greeting");
    (stream, start.elapsed())
}

fn start_forward(cell: &Cell) -> Background {
    let mut command = cell.command(0, "forward");
    command.arg(format!("{FORWARDED}={}", cell.service("greeting")));
    command.arg("--verbose").stdout(Stdio::null());
    Background::start(command)
}

fn cold(cell: &Cell) -> Parts {
    let start = Instant::now();
    let forward = start_forward(cell);
    let mut stream = None;
    wait_until("forward listens", || {
        stream = connect(cell);
        stream.is_some()
    });
    let listening = start.elapsed();
    thread::scope(|scope| {
        let first = scope.spawn(|| {
            stream.expect("connected").read_exact(&mut [0]).expect("the greeting");
            start.elapsed()
        });
        forward.wait_for("registered");
        let registered = start.elapsed();
        forward.wait_for(" path");
        let path = start.elapsed();
        Parts { listening, registered, path, first_byte: first.join().expect("no panic") }
    })
}

/// The median, in round trips.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() / ROUND_TRIP.as_secs_f64()
}

#[test]
#[ignore = "a measurement: make verify-tou"]
fn a_connection_opens_within_a_few_round_trips() {
    if cannot_run() {
        return;
    }
    let mut cell = behind_nats("25ms", 0.0);
    serve_greeting(&cell.crossing.hosts[1]);
    cell.expose(true, &[&format!("greeting=127.0.0.1:{GREETING}")]);
    let runs: Vec<Parts> = (0..RUNS).map(|_| cold(&cell)).collect();
    let part = |of: fn(&Parts) -> Duration| median(runs.iter().map(of).collect());
    println!("| from the start of `forward` to | round trips (median of {RUNS}) |\n|---|---:|");
    println!("| the port listens | {:.1} |", part(|run| run.listening));
    println!("| registered at the rendezvous | {:.1} |", part(|run| run.registered));
    println!("| a path to the other host | {:.1} |", part(|run| run.path));
    let first = part(|run| run.first_byte);
    println!("| the first byte of the service | {first:.1} |");

    let _forward = start_forward(&cell);
    wait_until("forward listens", || connect(&cell).is_some());
    let mut open_streams = vec![open(&cell).0];
    let mut warm = vec![];
    for _ in 1..CONNECTIONS {
        let (stream, time) = open(&cell);
        open_streams.push(stream);
        warm.push(time);
    }
    let last = median(warm[CONNECTIONS - 1 - RUNS..].to_vec());
    let warm = median(warm[..RUNS].to_vec());
    println!("| with the session open: from connect to the first byte | {warm:.1} |");
    println!("| the same, the last {RUNS} of {CONNECTIONS} open connections | {last:.1} |");
    assert!(first <= COLD_MAX, "cold: {first:.2} round trips");
    assert!(warm <= WARM_MAX && last <= WARM_MAX, "warm: {warm:.2} and {last:.2} round trips");
}
