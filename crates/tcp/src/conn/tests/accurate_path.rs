//! AccECN (RFC 9768) between two ends, over paths that mark, lose and change packets.

use super::{Fate, Pair, config};
use crate::cc::{Ack, Congestion, Controller, ControllerFactory, Marks, Params};
use crate::config::EcnEcho;
use crate::{Config, Ecn, Flags, Profile, Segment, Span};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};

fn end(kind: char, controller: &str) -> Config {
    config(Profile::Linux, controller).with(|c| {
        c.ecn.enabled = kind != 'n';
        c.ecn.echo = if kind == 'a' { EcnEcho::Accurate } else { EcnEcho::UntilCwr };
    })
}

/// Feedback of both ends: n for none, c for classic, a for accurate; with `!` an AccECN end that sends no ECT.
fn modes(pair: &Pair) -> String {
    [&pair.a, &pair.b]
        .map(|end| match (end.connection.accurate_ecn(), end.connection.ecn_negotiated()) {
            (Some(state), _) if state.sends_ect => "a",
            (Some(_), _) => "a!",
            (None, true) => "c",
            (None, false) => "n",
        })
        .concat()
}

type Mangle = fn(&mut Segment, &mut Ecn);

fn clear_flags(segment: &mut Segment, _: &mut Ecn) {
    if segment.flags.contains(Flags::SYN) {
        segment.flags -= Flags::AE | Flags::CWR | Flags::ECE;
    }
}

fn clear_ae(segment: &mut Segment, _: &mut Ecn) {
    segment.flags -= Flags::AE;
}

fn clear_ace(segment: &mut Segment, _: &mut Ecn) {
    if !segment.flags.contains(Flags::SYN) {
        segment.flags -= Flags::AE | Flags::CWR | Flags::ECE;
    }
}

fn strip_options(segment: &mut Segment, _: &mut Ecn) {
    segment.options.accecn = None;
}

fn bleach(_: &mut Segment, ecn: &mut Ecn) {
    *ecn = Ecn::NotEct;
}

fn mark_all(_: &mut Segment, ecn: &mut Ecn) {
    *ecn = Ecn::Ce;
}

#[test]
fn rfc9768_3_1_every_pair_of_ends_by_what_the_path_does() {
    let pass: Mangle = |_, _| {};
    // The path's effect on the client's packets, and on the server's; the modes of the pairs nn nc na, cn cc ca,
    // an ac aa. A pair in which one end has no ECN has none.
    let table: [(&str, Mangle, Mangle, [&str; 9]); 9] = [
        ("passes", pass, pass, ["nn", "nn", "nn", "nn", "cc", "cc", "nn", "cc", "aa"]),
        ("clears the SYN", clear_flags, pass, ["nn"; 9]),
        ("clears AE", clear_ae, clear_ae, ["nn", "nn", "nn", "nn", "cc", "cc", "nn", "cc", "cc"]),
        (
            "clears the SYN-ACK",
            pass,
            clear_flags,
            ["nn", "nn", "nn", "nn", "nc", "nc", "nn", "nc", "na!"],
        ),
        (
            "clears AE of the server",
            pass,
            clear_ae,
            ["nn", "nn", "nn", "nn", "cc", "cc", "nn", "cc", "aa"],
        ),
        (
            "strips options",
            strip_options,
            strip_options,
            ["nn", "nn", "nn", "nn", "cc", "cc", "nn", "cc", "aa"],
        ),
        (
            "marks the client's packets",
            mark_all,
            pass,
            ["nn", "nn", "nn", "nn", "cc", "cc", "nn", "cc", "a!a"],
        ),
        (
            "marks the server's packets",
            pass,
            mark_all,
            ["nn", "nn", "nn", "nn", "cc", "cc", "nn", "cc", "aa!"],
        ),
        (
            "clears ACE",
            clear_ace,
            clear_ace,
            ["nn", "nn", "nn", "nn", "cc", "cc", "nn", "cc", "a!a!"],
        ),
    ];
    let kinds = ['n', 'c', 'a'];
    for (what, forth, back, expected) in table {
        let pairs = kinds.iter().flat_map(|a| kinds.map(|b| (*a, b)));
        for ((a, b), expected) in pairs.zip(expected) {
            let mut pair = Pair::new(end(a, "newreno"), end(b, "newreno"));
            (pair.a.mangle, pair.b.mangle) = (forth, back);
            pair.a.connection.write(5000).expect("room");
            pair.run_for(Span::from_secs(2));
            pair.b.connection.write(5000).expect("room");
            // Marks on all packets leave one segment per RTO.
            pair.run_for(Span::from_secs(8));
            assert_eq!(modes(&pair), expected, "{a} and {b}, the path {what}");
            assert_eq!(pair.b.connection.readable(), 5000, "{a} and {b}, the path {what}");
            assert_eq!(pair.a.connection.readable(), 5000, "{a} and {b}, the path {what}");
        }
    }
}

/// A transfer; every `every`th segment of the client is marked.
fn transfer(config: Config, every: u32, bytes: u64, change: impl FnOnce(&mut Pair)) -> Pair {
    let mut pair = Pair::new(config.clone(), config);
    change(&mut pair);
    assert_eq!(pair.a.connection.write(bytes), Ok(bytes));
    pair.b.connection.discard_incoming();
    let mut count = 0;
    let mark = |segment: &Segment| {
        count += u32::from(segment.payload_len > 0);
        if segment.payload_len > 0 && count % every == 0 { Fate::Mark } else { Fate::Pass }
    };
    pair.run(pair.now + Span::from_secs(200), mark, |_| Fate::Pass);
    assert_eq!(pair.a.connection.bytes_acked(), bytes);
    pair
}

#[test]
fn the_sender_knows_every_mark_and_every_byte_that_the_receiver_has_counted() {
    // Packets of BBR version 3 are Not-ECT.
    for controller in crate::cc::NAMES.iter().filter(|name| !["none", "bbr3"].contains(name)) {
        for every in [1, 2, 3, 10] {
            let pair = transfer(end('a', controller), every, 300_000, |_| {});
            let sender = pair.a.connection.accurate_ecn().expect("AccECN");
            let receiver = pair.b.connection.accurate_ecn().expect("AccECN");
            assert_eq!(sender.reported, receiver.received, "{controller}, every {every}.");
            assert!(sender.reported.ce_packets > 0 && sender.sends_ect);
            let cuts = pair.a.connection.stats().ecn_cuts;
            assert!(cuts > 0 && cuts <= sender.reported.ce_packets, "{controller}: {cuts}");
        }
    }
}

#[test]
fn without_options_the_packets_are_known_all_the_same() {
    let pair = transfer(end('a', "cubic"), 3, 300_000, |pair| pair.b.mangle = strip_options);
    let sender = pair.a.connection.accurate_ecn().expect("AccECN");
    let receiver = pair.b.connection.accurate_ecn().expect("AccECN");
    assert_eq!(sender.reported.ce_packets, receiver.received.ce_packets);
    assert_eq!(sender.reported.ce_bytes, 0);
}

#[test]
fn on_a_path_that_bleaches_no_mark_arrives_and_none_is_made_up() {
    let pair = transfer(end('a', "dctcp"), 3, 300_000, |pair| pair.a.mangle = bleach);
    let sender = pair.a.connection.accurate_ecn().expect("AccECN");
    assert_eq!(sender.reported, Default::default());
    assert_eq!(pair.a.connection.stats().ecn_cuts, 0);
}

/// A controller with a window of ten segments that adds up what it learns of marks.
#[derive(Clone, Debug, Default)]
struct Listener(Arc<[AtomicU64; 2]>);

impl ControllerFactory for Listener {
    fn name(&self) -> &'static str {
        "listener"
    }

    fn build(&self, _: &Params) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

impl Controller for Listener {
    fn cwnd(&self) -> f64 {
        10_000.0
    }

    fn ssthresh(&self) -> u64 {
        10_000
    }

    fn on_ack(&mut self, _: &Ack) {}

    fn on_congestion(&mut self, _: &Congestion) {}

    fn on_idle_restart(&mut self, _: u64) {}

    fn on_mss_change(&mut self, _: u32) {}

    fn counts_marks(&self) -> bool {
        true
    }

    fn on_marks(&mut self, marks: &Marks) {
        assert!(marks.exact && marks.marked <= marks.delivered, "{marks:?}");
        self.0[0].fetch_add(marks.delivered, Ordering::Relaxed);
        self.0[1].fetch_add(marks.marked, Ordering::Relaxed);
    }
}

#[test]
fn the_controller_learns_of_each_marked_byte_once() {
    let listener = Listener::default();
    let config = end('a', "reno").with(|c| c.congestion = Arc::new(listener.clone()));
    let pair = transfer(config, 4, 300_000, |_| {});
    let receiver = pair.b.connection.accurate_ecn().expect("AccECN");
    let [delivered, marked] = [0, 1].map(|index: usize| listener.0[index].load(Ordering::Relaxed));
    // Two connections are compared, and both count.
    assert_eq!((delivered, marked), (2 * 300_000, 2 * receiver.received.ce_bytes));
    assert!((70_000..80_000).contains(&receiver.received.ce_bytes), "{receiver:?}");
}

#[test]
fn both_ends_send_at_once_and_each_knows_its_marks() {
    let mut pair = Pair::new(end('a', "newreno"), end('a', "newreno"));
    for end in [&mut pair.a, &mut pair.b] {
        end.connection.discard_incoming();
    }
    pair.a.connection.write(200_000).expect("room");
    pair.run_for(Span::from_millis(200));
    pair.b.connection.write(200_000).expect("room");
    let (mut n, mut m) = (0, 0);
    let mark = |count: &mut u32, segment: &Segment| {
        *count += u32::from(segment.payload_len > 0);
        if segment.payload_len > 0 && count.is_multiple_of(7) { Fate::Mark } else { Fate::Pass }
    };
    pair.run(pair.now + Span::from_secs(100), |s| mark(&mut n, s), |s| mark(&mut m, s));
    let a = pair.a.connection.accurate_ecn().expect("AccECN");
    let b = pair.b.connection.accurate_ecn().expect("AccECN");
    assert_eq!((a.reported, b.reported), (b.received, a.received));
    assert!(a.reported.ce_packets > 10 && b.reported.ce_packets > 10, "{a:?} {b:?}");
    // No segment is longer than the path allows: the payload gives way to the option.
    let longest = |runs: &[crate::Run]| {
        runs.iter().map(|run| run.first.wire_bytes()).max().unwrap_or_default()
    };
    assert_eq!((longest(&pair.a.sent), longest(&pair.b.sent)), (1020, 1020));
}
