//! More connections than there is room for, as single frames.

use crate::frames::{ACK, CWR, ECE, ON, PSH, RST, SYN_ACK, Shape, Tcp, program, syn, timestamps};
use crate::skip;
use windlass_ecn_proxy::datapath::{Datapath, Settings};

const SOURCES: u32 = 1_000_000;
/// Of the frames here: Ethernet, IPv4 without options.
const SOURCE_AT: usize = 26;
const CODEPOINT_AT: usize = 15;
const FLAGS_AT: usize = 47;

fn load(flows_max: u32) -> Datapath {
    // A busy machine takes minutes over a million frames, and this test renews no lease.
    let settings = Settings { flows_max, lease: None, ..Settings::default() };
    Datapath::load(&settings).unwrap_or_else(|error| panic!("{error}"))
}

fn shape(network: u8) -> Shape {
    let mut shape = Shape::plain(false);
    shape.network = network;
    shape
}

/// Codepoint and flags as the program leaves them.
fn run(datapath: &Datapath, network: u8, from_host: bool, codepoint: u8, tcp: &Tcp) -> (u8, u8) {
    let frame = shape(network).frame(from_host, codepoint, tcp);
    let (action, out) = datapath.run_frame(program(from_host), &frame).expect("runs");
    assert_eq!(action, ON);
    (out[CODEPOINT_AT], out[FLAGS_AT])
}

fn syn_ack() -> Tcp {
    Tcp { seq: 5000, ack: 1001, flags: SYN_ACK | ECE, ..syn() }
}

fn ack() -> Tcp {
    Tcp { seq: 1001, ack: 5001, flags: ACK, options: timestamps(), payload: vec![] }
}

fn data() -> Tcp {
    Tcp { payload: vec![9; 99], ..ack() }
}

fn open(datapath: &Datapath, network: u8) {
    run(datapath, network, true, 0, &syn());
    run(datapath, network, false, 0, &syn_ack());
    run(datapath, network, true, 0, &ack());
}

#[test]
fn a_flood_of_syns_pushes_out_no_connection_that_is_served() {
    if skip() {
        return;
    }
    let datapath = load(1 << 18);
    for network in 1..=100 {
        open(&datapath, network);
    }
    for from_host in [false, true] {
        // A far host's is noted down only if it asks for ECN.
        let flags = syn().flags | if from_host { 0 } else { ECE | CWR };
        let mut frame = shape(200).frame(from_host, 0, &Tcp { flags, ..syn() });
        for source in 0..SOURCES / 2 {
            frame[SOURCE_AT..SOURCE_AT + 4].copy_from_slice(&(0x0b00_0000 + source).to_be_bytes());
            datapath.run_frame(program(from_host), &frame).expect("runs");
        }
    }
    assert_eq!(datapath.flow_count().expect("readable"), 100);
    // An unanswered SYN shows nothing about a host.
    assert_eq!(datapath.hosts().expect("readable").len(), 100);
    for network in 1..=100 {
        assert_eq!(run(&datapath, network, true, 0, &data()), (2, ACK), "connection {network}");
        let marked = Tcp { seq: 5001, ack: 1001, ..data() };
        assert_eq!(run(&datapath, network, false, 3, &marked), (0, ACK | PSH), "{network}");
        let echo = Tcp { seq: 1100, ack: 5100, ..ack() };
        assert_eq!(run(&datapath, network, true, 0, &echo), (0, ACK | ECE), "{network}");
    }
}

#[test]
fn connections_beyond_the_table_pass_unchanged() {
    if skip() {
        return;
    }
    // A sixteenth is kept for handshakes under way.
    let datapath = load(32);
    for network in 1..=30 {
        open(&datapath, network);
    }
    for network in 31..=40 {
        assert_eq!(run(&datapath, network, true, 0, &syn()), (0, syn().flags));
        let plain = Tcp { flags: SYN_ACK, ..syn_ack() };
        assert_eq!(run(&datapath, network, false, 0, &plain), (0, SYN_ACK));
        assert_eq!(run(&datapath, network, true, 0, &data()), (0, ACK));
    }
    let counters = datapath.counters().expect("readable");
    assert_eq!((counters.proxied, counters.no_room), (30, 10), "{counters:?}");
    for network in 1..=30 {
        assert_eq!(run(&datapath, network, true, 0, &data()), (2, ACK), "connection {network}");
    }
}

/// Handshakes begin while there is room, and all are proven at once: some find the table full. No room is
/// counted as taken by these.
#[test]
fn a_full_table_has_all_its_room_again_once_its_connections_have_ended() {
    const ROOM: u32 = 32;
    if skip() {
        return;
    }
    let datapath = load(ROOM);
    for network in 1..=40 {
        run(&datapath, network, true, 0, &syn());
        run(&datapath, network, false, 0, &syn_ack());
    }
    for network in 1..=40 {
        run(&datapath, network, true, 0, &ack());
    }
    let counters = datapath.counters().expect("readable");
    assert_eq!((counters.flows_added, counters.no_room), (u64::from(ROOM), 8), "{counters:?}");
    assert_eq!(datapath.flow_count().expect("readable"), u64::from(ROOM));
    for network in 1..=40 {
        let reset = Tcp { flags: RST | ACK, ..ack() };
        run(&datapath, network, true, 0, &reset);
    }
    assert_eq!(datapath.flow_count().expect("readable"), 0);
}
