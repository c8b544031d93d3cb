//! Probes of simulated stacks in virtual time: combinations of the behaviour of real stacks, and
//! middleboxes on the path.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::{A_TO_E_AND_S, Path, World, settings};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use windlass_base::{Span, Time};
use windlass_probe::split::{Limit, Reaction, Verdict};
use windlass_probe::wire::{self, Kind, Meta};
use windlass_probe::{Session, Target};
use windlass_probe_serve::{EngineServer, Server, page, says};
use windlass_tcp::cc::{ControllerFactory, Reno};
use windlass_tcp::config::Growth;
use windlass_tcp::{Config, Flags, Profile, Segment};

fn verdict(server: impl Server, rtt_ms: u64) -> Verdict {
    let path = Path { delay: Span::from_millis(rtt_ms / 2), loss: 0.0 };
    let mut world = World::new(path, 1).with("192.0.2.1:80", server);
    let target = Target::parse("http://192.0.2.1/").expect("a target");
    let mut session = Session::new(target, settings(&A_TO_E_AND_S, 1));
    world.run(&mut session, &[]);
    session.outcome().verdict.expect("measured")
}

fn config(growth: Growth, initial_window: u32, mss: u16) -> Config {
    Profile::Linux.config(mss, Arc::new(Reno)).with(|c| {
        c.window.initial = initial_window;
        c.growth.credit = growth;
        c.buffers.send = 1 << 20;
        c.buffers.receive = 64 << 10;
    })
}

fn by_bytes(limit: u32) -> Growth {
    Growth::PerByte { limit }
}

/// The L that one ACK for all of the first segments reveals: only an L below the number of segments
/// that it acknowledges shows.
fn visible_limit(limit: u32, initial_window: u32) -> Option<Limit> {
    match (limit, initial_window.min(3)) {
        (1, 2..) => Some(Limit::One),
        (2, 3) => Some(Limit::Two),
        (3.., 3) => Some(Limit::None),
        _ => None,
    }
}

/// Growth by RFC 2581, by RFC 3465 with L = 1 and 2, with L = 8 as in Windows, and without a limit as in
/// Linux. Initial windows from that of RFC 2001 to those of content networks. The smallest MSS of IPv4, one
/// of tunnels, and that of Ethernet. With Nagle's algorithm in a burst, and paced without it.
#[test]
fn growth_and_initial_window_are_recognized_whatever_the_mss_pacing_and_nagle() {
    let growths = [Growth::PerAck, by_bytes(1), by_bytes(2), by_bytes(8), by_bytes(u32::MAX)];
    for growth in growths {
        for initial_window in [1, 2, 3, 4, 10, 32] {
            for mss in [536, 1337, 1460] {
                for (pacing, nagle, rtt_ms) in [(false, true, 20), (true, false, 100)] {
                    let tcp = config(growth, initial_window, mss).with(|c| {
                        c.sending.pacing = pacing;
                        c.sending.nagle = nagle;
                    });
                    let case = format!("{growth:?} {initial_window} {mss} {pacing}");
                    let verdict = verdict(EngineServer::new(tcp, says(page(200_000))), rtt_ms);
                    let expected = match growth {
                        Growth::PerAck => Reaction::CountsAcks,
                        Growth::PerByte { limit } => {
                            Reaction::CountsBytes { limit: visible_limit(limit, initial_window) }
                        }
                    };
                    assert_eq!(verdict.reaction, expected, "{case}: {verdict:?}");
                    let window = verdict.initial_window.expect("seen");
                    assert_eq!((window.packets, window.exact), (initial_window, true), "{case}");
                }
            }
        }
    }
}

/// HyStart ends slow start by the spacing of ACKs or by delay. The test is over before either shows.
#[test]
fn cubic_with_hystart_is_in_slow_start_still() {
    let cubic: Arc<dyn ControllerFactory> = Arc::new(Profile::Linux.cubic());
    for initial_window in [10, 16, 40] {
        let tcp = Profile::Linux.config(1460, Arc::clone(&cubic)).with(|c| {
            c.window.initial = initial_window;
            c.sending.pacing = true;
            c.buffers.send = 1 << 20;
        });
        let verdict = verdict(EngineServer::new(tcp, says(page(300_000))), 50);
        let unlimited = Reaction::CountsBytes { limit: Some(Limit::None) };
        assert_eq!(verdict.reaction, unlimited, "{initial_window}");
        assert_eq!(verdict.initial_window.expect("seen").packets, initial_window);
    }
}

/// A server that receives only some ACKs: `takes` decides by an ACK's number and by whether it ends a
/// segment.
struct Deaf<S, F> {
    server: S,
    takes: F,
    acks: u32,
    ends: BTreeSet<u32>,
    out: VecDeque<Vec<u8>>,
}

impl<S: Server, F: FnMut(u32, bool) -> bool> Deaf<S, F> {
    fn new(server: S, takes: F) -> Deaf<S, F> {
        Deaf { server, takes, acks: 0, ends: BTreeSet::new(), out: VecDeque::new() }
    }
}

fn segment_of(packet: &[u8]) -> Option<(Segment, usize)> {
    let incoming = wire::parse(packet, Meta::default())?;
    let Kind::Segment(received) = incoming.kind else { return None };
    Some((received.segment, received.payload.len()))
}

impl<S: Server, F: FnMut(u32, bool) -> bool> Server for Deaf<S, F> {
    fn handle_packet(&mut self, now: Time, packet: &[u8]) {
        // Once there are data to acknowledge.
        let is_ack = |(segment, payload): &(Segment, usize)| {
            segment.flags == Flags::ACK && *payload == 0 && !self.ends.is_empty()
        };
        let pure = segment_of(packet).filter(is_ack);
        if let Some((segment, _)) = pure {
            self.acks += 1;
            if !(self.takes)(self.acks, self.ends.contains(&segment.ack.0)) {
                return;
            }
        }
        self.server.handle_packet(now, packet);
    }

    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        while let Some(packet) = self.server.poll_packet(now) {
            if let Some((segment, payload @ 1..)) = segment_of(&packet) {
                self.ends.insert(segment.seq.at(payload as u64).0);
            }
            self.out.push_back(packet);
        }
        self.out.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.server.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.server.handle_timeout(now);
    }
}

/// Splitting gains nothing then, whether the stack counts ACKs or bytes.
#[test]
fn a_stack_that_ignores_acks_inside_a_segment_gains_nothing() {
    let server = EngineServer::new(config(Growth::PerAck, 10, 1460), says(page(200_000)));
    let verdict = verdict(Deaf::new(server, |_, ends_a_segment| ends_a_segment), 40);
    assert_eq!(verdict.reaction, Reaction::CountsBytes { limit: Some(Limit::One) }, "{verdict:?}");
    assert_eq!(verdict.gain, Some((4, 1.0)));
}

/// The middlebox hides the server's reaction: the probe must not report a wrong one, and a server that gains a
/// segment for so many ACKs would be one.
#[test]
fn a_middlebox_that_passes_one_ack_of_several_leaves_an_ack_counter_undecided() {
    for each in 2..=8 {
        for passed in 0..each {
            let server = EngineServer::new(config(Growth::PerAck, 10, 1460), says(page(200_000)));
            let verdict = verdict(Deaf::new(server, |number, _| number % each == passed), 40);
            let not_wrong =
                matches!(verdict.reaction, Reaction::CountsAcks | Reaction::Undecided { .. });
            assert!(not_wrong, "{passed} of {each}: {verdict:?}");
        }
    }
}

#[test]
fn where_every_second_ack_is_lost_the_reason_names_the_server_and_the_path() {
    let server = EngineServer::new(config(Growth::PerAck, 10, 1460), says(page(200_000)));
    let verdict = verdict(Deaf::new(server, |number, _| number % 2 == 1), 40);
    let Reaction::Undecided { why } = &verdict.reaction else { panic!("{verdict:?}") };
    let expected = "it gains 1 segment for every 2 ACKs: the server counts only one ACK of 2, or it counts each \
                    and the path loses or thins out ACKs; new packets at splits of 1, 2, 4, 8, 12: ";
    assert!(why.starts_with(expected), "{why}");
    assert_eq!((verdict.confidence, verdict.runs), (0.0, (0, 0)));
    let json = serde_json::to_value(&verdict.reaction).expect("a value");
    assert_eq!((json["kind"].as_str(), json["why"].as_str()), (Some("undecided"), Some(&**why)));
    assert_eq!(verdict.reaction.to_string(), format!("undecided: {why}"));
}
