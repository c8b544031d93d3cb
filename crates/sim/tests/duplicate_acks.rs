//! The proxy of Sprenger 2016 in the network of the paper: what its duplicate ACKs do to a sender.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::Witness;
use std::sync::Arc;
use windlass_base::Ecn;
use windlass_sim::Simulation;
use windlass_sim::packet::{Body, Packet};
use windlass_sim::summary::{DuplicateAckCounters, MiddleboxCounters, Summary};
use windlass_tcp::{Connection, Flags, Profile, Segment, SeqNumber, Time, cc};

fn text(policy: &str, tcp: &str) -> String {
    format!(
        r#"
schema = 1
name = "duplicate-acks"
duration = "200s"
until_done = true
nodes = ["client", "proxy", "router", "server"]
bottleneck = "router-server"
links = [
  {{ a = "client", b = "proxy", delay = "0ms" }},
  {{ a = "proxy", b = "router", delay = "1ms" }},
  {{ a = "router", b = "server", rate = "10Mbit/s", delay = "9ms", queue = "marking" }},
]
[queues]
marking = {{ kind = "tc-red", limit = "40000B", min = "2000B", max = "8000B", avpkt_bytes = 1000, burst = 4, probability = 0.3 }}

[[flows]]
name = "flow"
from = "client"
to = "server"
profile = "linux"
rack = false
ecn = false
receiver = {{ ecn = true }}
app = {{ kind = "transfer", size = "3MB" }}
{tcp}

[[middleboxes]]
kind = "ecn-proxy"
node = "proxy"
served = ["client"]
policy = "{policy}"
"#
    )
}

/// Senders with SACK, and without.
const SENDERS: [&str; 2] = ["", "sack = false"];

/// A run, and the packets that reached the client.
fn run(policy: &str, tcp: &str, seed: u64) -> (Summary, Vec<Packet>) {
    let document =
        windlass_scenario::from_toml("x.toml", &text(policy, tcp), &[]).expect("a scenario");
    let mut simulation = Simulation::new(&document.scenario, seed).expect("a network");
    let witness = Witness::default();
    simulation.add_middlebox(0, witness.clone());
    let summary = simulation.run(&mut ());
    let packets = witness.0.borrow().iter().map(|(_, packet)| *packet).collect();
    (summary, packets)
}

fn counters(summary: &Summary) -> DuplicateAckCounters {
    let MiddleboxCounters::DuplicateAcks(counters) = summary.middleboxes[0].did else {
        panic!("the paper's proxy")
    };
    counters
}

fn completed(summary: &Summary) -> bool {
    summary.flows[0].transfers.as_ref().expect("a transfer").completed == 1
}

#[test]
fn the_client_never_sees_ecn() {
    for policy in ["duplicate-acks", "duplicate-acks-with-cwr", "duplicate-acks-as-printed"] {
        let (summary, packets) = run(policy, "", 1);
        let counters = counters(&summary);
        assert_eq!((counters.upgraded, counters.proxied), (1, 1));
        assert!(counters.ect > 1000 && counters.signals > 10, "{counters:?}");
        for packet in packets {
            let Body::Tcp(segment) = packet.body else { panic!("a segment") };
            assert_eq!(packet.ecn, Ecn::NotEct);
            assert!(!segment.flags.intersects(Flags::ECE | Flags::CWR));
        }
    }
}

/// With SACK, an ACK that reports nothing new is no duplicate (RFC 6675 section 2): the marks go
/// unheard, and the queue drops what it has no room for.
#[test]
fn a_sender_with_sack_does_not_slow_down() {
    let (summary, _) = run("duplicate-acks", "", 2);
    let flow = &summary.flows[0];
    assert!(completed(&summary));
    assert!(flow.marks > 1000 && flow.drops > 50, "{flow:?}");
    assert!(flow.fast_retransmits < 10, "{flow:?}");
}

/// One ACK of four keeps its number. A window of at most three segments therefore waits for a
/// timeout, and each further timeout brings one ACK more.
#[test]
fn a_sender_without_sack_stalls_for_want_of_cwr() {
    for seed in 1..=3 {
        let (summary, _) = run("duplicate-acks", "sack = false", seed);
        assert!(!completed(&summary));
        assert!(summary.flows[0].timeouts > 10, "{:?}", summary.flows[0]);
        let counters = counters(&summary);
        assert!(counters.rewritten <= 3 * counters.signals);
        assert!(counters.rewritten + 3 >= 3 * counters.signals);
    }
}

/// CWR ends the far host's ECE, so that a mark is one reduction and no timeout.
#[test]
fn with_cwr_a_sender_without_sack_slows_down() {
    for seed in 1..=3 {
        let (summary, _) = run("duplicate-acks-with-cwr", "sack = false", seed);
        let (flow, counters) = (&summary.flows[0], counters(&summary));
        assert!(completed(&summary));
        assert_eq!((flow.timeouts, flow.drops), (0, 0));
        assert!(flow.fast_retransmits >= 10, "{flow:?}");
        assert!(counters.cwr >= counters.signals - 2, "{counters:?}");
    }
}

/// 2^24 is no number of these connections: their senders drop such ACKs with all that they report.
#[test]
fn as_printed_the_wrong_number_is_no_signal() {
    for tcp in SENDERS {
        let (summary, packets) = run("duplicate-acks-as-printed", tcp, 2);
        let wrong = |packet: &&Packet| matches!(packet.body, Body::Tcp(segment) if segment.ack == SeqNumber(1 << 24));
        let wrong = packets.iter().filter(wrong).count() as u64;
        assert_eq!(wrong, counters(&summary).rewritten, "{tcp}");
        assert!(wrong > 50 && summary.flows[0].fast_retransmits < 10, "{tcp}");
        assert_eq!(completed(&summary), tcp.is_empty(), "{tcp}");
    }
}

/// Where 2^24 lies in flight, the sender takes the ACK, and does not send again what is below: the
/// receiver waits for it for ever.
#[test]
fn as_printed_a_number_in_flight_loses_data() {
    let now = Time::ZERO;
    let acknowledged = 5_000;
    let config = Profile::Linux.config(1460, Arc::new(cc::NewReno));
    let [isn, wrong] = [SeqNumber((1 << 24) - 1 - acknowledged), SeqNumber(1 << 24)];
    let mut sender = Connection::connect(config, now, isn);
    let syn = sender.poll_transmit(now, 1, &mut ()).expect("a SYN").first;
    let (flags, window) = (Flags::SYN | Flags::ACK, 60_000);
    let answer = Segment { flags, window, ack: syn.seq.at(1), ..Segment::default() };
    sender.handle_segment(now, &answer, Ecn::NotEct, &mut ());
    sender.write(10_000).expect("it is open");
    while sender.poll_transmit(now, 1, &mut ()).is_some() {}
    let flags = Flags::ACK;
    let ack = Segment { flags, window, seq: SeqNumber(1), ack: wrong, ..Segment::default() };
    sender.handle_segment(now, &ack, Ecn::NotEct, &mut ());
    let due = sender.poll_timeout().expect("a timer");
    sender.handle_timeout(due, &mut ());
    let again = sender.poll_transmit(due, 1, &mut ()).expect("a retransmission").first;
    assert_eq!(again.seq, wrong);
}
