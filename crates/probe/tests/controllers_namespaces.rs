//! Which controller a server runs, over real sockets, where the server does not go along: each trial ends in
//! time with "unknown" and a reason. The tests need root and are skipped without it.
#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::namespace::{kernel_server, probe, skipped, with_server};
use common::settings;
use nix::sys::socket::{setsockopt, sockopt};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use windlass_base::{Rng, Span};
use windlass_probe::cca::{Answer, Library};
use windlass_probe::session::{Failure, Outcome};
use windlass_probe::wire::{self, Flow, Received};
use windlass_probe::{Ending, Settings};
use windlass_probe_serve::{Raw, Server, page};
use windlass_tcp::{Flags, Options, Segment, SeqNumber};

/// Two trials, their handshakes, and what a loaded machine takes.
const IN_TIME: Duration = Duration::from_secs(70);

fn identifies() -> Settings {
    let library = Library::measured().expect("sound");
    Settings {
        controllers: Some(Arc::new(library)),
        patience: Span::from_secs(3),
        ..settings(&[], 1)
    }
}

/// Identifies this kernel's controller while a program behaves so on each connection after the first, which
/// finds the server.
fn identify(behave: fn(TcpStream)) -> Outcome {
    let (client, server) = kernel_server();
    let listener = server.inside(|| TcpListener::bind("[::]:80")).expect("a port");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut behaves: fn(TcpStream) =
                |mut connection| drop(connection.write_all(&page(50_000)));
            while let Ok((mut connection, _)) = listener.accept()
                && !stop.load(Ordering::Relaxed)
            {
                let answer = behaves;
                behaves = behave;
                // It ends when the probe resets the connection.
                thread::spawn(move || {
                    if matches!(connection.read(&mut [0; 4096]), Ok(1..)) {
                        answer(connection);
                    }
                });
            }
        });
        let begun = Instant::now();
        let outcome = client.inside(|| probe("http://10.97.0.2/", identifies()));
        let took = begun.elapsed();
        stop.store(true, Ordering::Relaxed);
        let _ = client.inside(|| TcpStream::connect("10.97.0.2:80"));
        assert!(took < IN_TIME, "{took:?}");
        outcome
    })
}

/// The reason why the controller is unknown.
fn why_unknown(outcome: &Outcome) -> String {
    let verdict = outcome.controller.as_ref().expect("a trial");
    assert_eq!((verdict.names().as_str(), verdict.identity.confidence), ("unknown", 0.0));
    verdict.why.clone().expect("a reason")
}

const SOME: usize = 200_000;

#[test]
fn a_server_that_stalls_in_the_trial_is_unknown() {
    if skipped() {
        return;
    }
    let outcome = identify(|mut connection| {
        let _ = connection.write_all(&page(100_000_000)[..SOME]);
        // Requests, until the probe resets the connection.
        while matches!(connection.read(&mut [0; 4096]), Ok(1..)) {}
    });
    let why = why_unknown(&outcome);
    // And the packet that the script loses.
    assert!(why.starts_with("the server's data ended, or it fell silent, after 200"), "{why}");
    assert_eq!(outcome.runs.len(), 1);
}

#[test]
fn a_server_that_resets_the_trial_is_unknown() {
    if skipped() {
        return;
    }
    let outcome = identify(|mut connection| {
        let _ = connection.write_all(&page(SOME));
        let linger = nix::libc::linger { l_onoff: 1, l_linger: 0 };
        setsockopt(&connection, sockopt::Linger, &linger).expect("a socket");
    });
    assert_eq!(outcome.runs[0].ending, Ending::Reset, "{:?}", outcome.runs);
    let why = why_unknown(&outcome);
    assert!(why.starts_with("the server reset the connection after "), "{why}");
}

#[test]
fn a_server_that_becomes_slow_in_the_trial_is_unknown() {
    if skipped() {
        return;
    }
    let outcome = identify(|mut connection| {
        // Whatever the machine's default is: BBR shows enough before, and is named.
        set_controller(&connection, "cubic");
        let _ = connection.write_all(&page(SOME));
        // An application that computes, in pieces that fill no window.
        while connection.write_all(&[b'x'; 300]).is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    });
    let why = why_unknown(&outcome);
    let reasons = ["no known controller", "fell silent", "the trials disagree"];
    assert!(reasons.iter().any(|reason| why.contains(reason)), "{why}");
}

/// Sets the controller of a live socket, as long as the connection lives.
fn set_controller(connection: &TcpStream, name: &str) {
    let name = std::ffi::OsString::from(name);
    setsockopt(connection, sockopt::TcpCongestion, &name).expect("a controller of this kernel");
}

/// A page whose sender is under one controller for so long, and then under the other.
fn switch(mut connection: TcpStream, first: &str, second: &str, after: Duration) {
    set_controller(&connection, first);
    let begun = Instant::now();
    let page = page(100_000_000);
    let mut switched = false;
    for piece in page.chunks(4096) {
        if !switched && begun.elapsed() >= after {
            set_controller(&connection, second);
            switched = true;
        }
        if connection.write_all(piece).is_err() {
            return;
        }
    }
}

/// The names of a verdict, which are of the two controllers; none with a reason.
fn names_none_but(outcome: &Outcome, ran: [&str; 2]) {
    let verdict = outcome.controller.as_ref().expect("a trial");
    println!("{ran:?}: {verdict}");
    let names = &verdict.identity.controllers;
    match names.is_empty() {
        true => assert!(!why_unknown(outcome).is_empty()),
        false => assert!(
            names.iter().any(|name| ran.iter().any(|ran| name.ends_with(ran))),
            "{verdict:?}"
        ),
    }
}

#[test]
fn a_server_that_switches_its_controller_in_the_trial_is_no_third_one() {
    if skipped() {
        return;
    }
    // Within the rounds after the first loss.
    const EARLY: Duration = Duration::from_secs(3);
    let outcome = identify(|connection| switch(connection, "reno", "cubic", EARLY));
    names_none_but(&outcome, ["reno", "cubic"]);
    let outcome = identify(|connection| switch(connection, "cubic", "reno", EARLY));
    names_none_but(&outcome, ["cubic", "reno"]);
}

fn serve_under(mut connection: TcpStream, name: &str) {
    set_controller(&connection, name);
    let _ = connection.write_all(&page(100_000_000));
}

/// This kernel's BBR is version 1, which takes no mark for congestion (net/ipv4/tcp_bbr.c).
#[test]
#[ignore = "six minutes; make verify-probe"]
fn bbr_answers_no_marks_in_fifteen_trials_and_reno_and_cubic_answer_once() {
    if skipped() {
        return;
    }
    let answer = |outcome: &Outcome| {
        let controller = outcome.controller.as_ref().expect("a trial");
        let marks = controller.marks.map_or("not seen".to_owned(), |marks| marks.to_string());
        println!("{}: {marks}", controller.names());
        controller.marks.map(|marks| marks.answer)
    };
    for (behave, trials) in [
        ((|c| serve_under(c, "bbr")) as fn(TcpStream), 15),
        (|c| serve_under(c, "reno"), 3),
        (|c| serve_under(c, "cubic"), 3),
    ] {
        let answers = (0..trials).map(|_| answer(&identify(behave)));
        let claims = answers.filter(|a| matches!(a, Some(Answer::Once | Answer::InProportion)));
        let claims = claims.count();
        assert_eq!(claims, if trials == 15 { 0 } else { trials });
    }
}

/// A server whose packets after the handshake of a trial are random.
fn garbage() -> Box<dyn Server> {
    let mut rng = Rng::new(7);
    let mut scout = None;
    Box::new(Raw::new(move |flow: &Flow, received: &Received<'_>| {
        let segment = &received.segment;
        let ack = segment.seq.at(u64::from(segment.sequence_len()));
        let answer = Segment { ack, flags: Flags::ACK, window: 60_000, ..Segment::default() };
        if segment.flags.contains(Flags::SYN) {
            let options = Options { mss: Some(1460), sack_permitted: true, ..Options::default() };
            let flags = Flags::SYN | Flags::ACK;
            return vec![packet(flow, Segment { flags, options, ..answer }, &[])];
        }
        if segment.flags.contains(Flags::RST) {
            return Vec::new();
        }
        let seq = SeqNumber(1);
        if *scout.get_or_insert(flow.remote.port()) == flow.remote.port() {
            let head = b"HTTP/1.1 200 OK\r\n\r\nfound";
            return vec![packet(flow, Segment { seq, ..answer }, head)];
        }
        let random = |_| {
            let seq = SeqNumber(rng.below(1 << 22) as u32);
            let flags = Flags::from_bits_retain(rng.bits() as u16 & 0xff) - Flags::RST;
            let payload = vec![b'?'; rng.below(600) as usize];
            let (after, packet) = packet(flow, Segment { seq, flags, ..answer }, &payload);
            (after + Span::from_micros(rng.below(50_000)), packet)
        };
        (0..2).map(random).collect()
    }))
}

fn packet(flow: &Flow, segment: Segment, payload: &[u8]) -> (Span, Vec<u8>) {
    let mut packet = Vec::new();
    let segment = Segment { payload_len: payload.len() as u32, ..segment };
    wire::emit(flow, &segment, &[payload], 0, &mut packet);
    (Span::ZERO, packet)
}

#[test]
fn a_server_that_sends_random_segments_is_unknown() {
    if skipped() {
        return;
    }
    let begun = Instant::now();
    let outcome = with_server(garbage, || probe("http://10.98.0.2/", identifies()));
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    match &outcome.controller {
        Some(_) => drop(why_unknown(&outcome)),
        None => assert!(matches!(outcome.failure, Some(Failure::Ended { .. })), "{outcome:?}"),
    }
}
