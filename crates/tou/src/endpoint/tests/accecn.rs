//! AccECN over ToU (RFC 9768): between two ends that have it, with peers of the version before, whose bytes are written
//! by hand, and with cookies.

use super::network::{Network, Packet, address, config, pattern};
use crate::endpoint::ConnectionId;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use windlass_base::{Ecn, Span};
use windlass_tcp::config::EcnEcho;
use windlass_tcp::conn::Stats;
use windlass_tcp::{AccurateEcn, Config, State};

/// The option without its octet.
const OPTION: [u8; 6] = [253, 7, b'T', b'o', b'U', b'A'];

fn classic() -> Config {
    config().with(|c| c.ecn.enabled = true)
}

fn accurate() -> Config {
    classic().with(|c| c.ecn.echo = EcnEcho::Accurate)
}

/// Host 1 connects to host 2 over a path that marks every tenth ECT datagram. Returns the client's end and the server's,
/// after 500 kB from the former to the latter, with all datagrams and the number of marks.
fn transfer(client: Config, server: Config) -> (Network, [ConnectionId; 2], Vec<Packet>, u64) {
    let mut network = Network::new(2);
    network.host(2).listen(server, 4).expect("free");
    let seen = Rc::new(RefCell::new((Vec::new(), 0, 0)));
    let record = Rc::clone(&seen);
    network.changes = Box::new(move |packet| {
        let (packets, capable, marked) = &mut *record.borrow_mut();
        if packet.ecn == Ecn::Ect0 {
            *capable += 1;
            if *capable % 10 == 0 {
                (packet.ecn, *marked) = (Ecn::Ce, *marked + 1);
            }
        }
        packets.push(packet.clone());
    });
    let now = network.now;
    let client = network.host(1).connect(now, address(2), client).expect("new");
    network.run(Span::from_millis(100));
    let server = network.host(2).accept().expect("complete");
    let data = pattern(500_000);
    assert!(network.transfer((1, client), (2, server), &data) == data);
    network.run(Span::from_millis(500));
    let (packets, _, marked) = seen.take();
    assert!(marked > 10, "{marked} marks");
    (network, [client, server], packets, marked)
}

/// The engine's default leaves the flags out of the third SYN-ACK (RFC 9768 §3.1.2), which would mean no agreement.
#[test]
fn every_repeated_syn_ack_agrees_on_accecn() {
    let mut network = Network::new(2);
    network.host(2).listen(accurate(), 4).expect("free");
    let mut lost = 0;
    network.passes = Box::new(move |packet| {
        let is_answer = packet.from == address(2) && is_syn(&packet.bytes);
        lost += u32::from(is_answer && lost < 4);
        !is_answer || lost == 4
    });
    let now = network.now;
    let client = network.host(1).connect(now, address(2), accurate()).expect("new");
    network.run(Span::from_secs(60));
    let server = network.host(2).accept().expect("complete");
    assert!(accurate_ecn(&mut network, 1, client).is_some());
    let data = pattern(10_000);
    assert!(network.transfer((2, server), (1, client), &data) == data);
}

fn accurate_ecn(network: &mut Network, host: u8, id: ConnectionId) -> Option<AccurateEcn> {
    network.host(host).stream(id).expect("there").connection().accurate_ecn()
}

fn stats(network: &mut Network, host: u8, id: ConnectionId) -> Stats {
    *network.host(host).stream_mut(id).expect("there").connection_mut().stats()
}

fn is_syn(bytes: &[u8]) -> bool {
    bytes[13] & 0x02 != 0
}

fn sets_reserved_bits(bytes: &[u8]) -> bool {
    bytes[12] & 0x0f != 0 || bytes[13] & 0x80 != 0
}

fn has_option(bytes: &[u8]) -> bool {
    bytes.windows(OPTION.len()).any(|at| at == OPTION)
}

#[test]
fn two_ends_count_every_mark_of_the_path() {
    let (mut network, [client, server], packets, marked) = transfer(accurate(), accurate());
    let of_client = accurate_ecn(&mut network, 1, client).expect("agreed");
    let of_server = accurate_ecn(&mut network, 2, server).expect("agreed");
    assert_eq!(of_server.received.ce_packets, marked);
    assert_eq!(of_client.reported, of_server.received);
    assert!(of_client.sends_ect && stats(&mut network, 1, client).ecn_cuts > 0);
    // No SYN sets a reserved bit, and only SYNs have the option.
    for Packet { bytes, .. } in &packets {
        assert_eq!(has_option(bytes), is_syn(bytes));
        assert!(!is_syn(bytes) || !sets_reserved_bits(bytes));
    }
    assert!(packets.iter().any(|packet| sets_reserved_bits(&packet.bytes)), "AE was used");
    assert_eq!(network.host(1).counters().malformed + network.host(2).counters().malformed, 0);
}

#[test]
fn one_end_without_accecn_makes_it_classic_ecn() {
    for (of_client, of_server) in [(accurate(), classic()), (classic(), accurate())] {
        let (mut network, [client, server], packets, marked) = transfer(of_client, of_server);
        for (host, id) in [(1, client), (2, server)] {
            assert_eq!(accurate_ecn(&mut network, host, id), None);
            let stream = network.host(host).stream(id).expect("there");
            assert!(stream.connection().ecn_negotiated());
        }
        assert_eq!(stats(&mut network, 2, server).ce_received, marked);
        assert!(stats(&mut network, 1, client).ecn_cuts > 0);
        assert!(!packets.iter().any(|packet| sets_reserved_bits(&packet.bytes)));
    }
}

/// A segment without options, as a peer of the version before writes it.
fn old(seq: u32, ack: u32, flags: u8) -> Vec<u8> {
    let mut bytes = vec![0; 16];
    bytes[..4].copy_from_slice(&seq.to_be_bytes());
    bytes[4..8].copy_from_slice(&[0x71, 0x94, 0xb3, 0x2e]);
    bytes[8..12].copy_from_slice(&ack.to_be_bytes());
    bytes[12..].copy_from_slice(&[0x40, flags, 0xff, 0xff]);
    bytes
}

fn number_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Host 1, and a peer at the address of host 2 that a test plays.
struct Alone {
    network: Network,
    sent: Rc<RefCell<Vec<Packet>>>,
}

impl Alone {
    fn new() -> Alone {
        let mut network = Network::new(1);
        let sent = Rc::new(RefCell::new(Vec::new()));
        let record = Rc::clone(&sent);
        network.changes = Box::new(move |packet| {
            if packet.from == address(1) {
                record.borrow_mut().push(packet.clone());
            }
        });
        Alone { network, sent }
    }

    /// Sends a datagram to host 1, and returns its answers.
    fn ask(&mut self, bytes: Vec<u8>) -> Vec<Packet> {
        let (from, to) = (address(2), address(1));
        self.network.send(Packet { from, to, ecn: Ecn::NotEct, bytes });
        self.run()
    }

    fn run(&mut self) -> Vec<Packet> {
        self.network.run(Span::from_millis(100));
        self.sent.take()
    }

    /// Begins a connection, whose SYN an old peer understands. Returns it with its sequence number.
    fn connect(&mut self) -> (ConnectionId, u32) {
        let now = self.network.now;
        let client = self.network.host(1).connect(now, address(2), accurate()).expect("new");
        let syn = self.run().remove(0).bytes;
        // 11 words, CWR, ECE and SYN.
        assert_eq!(syn[12..14], [0xb0, 0x62]);
        assert!(has_option(&syn));
        (client, number_at(&syn, 0))
    }

    fn negotiates_ecn(&mut self, id: ConnectionId) -> bool {
        assert_eq!(accurate_ecn(&mut self.network, 1, id), None);
        self.network.host(1).stream(id).expect("there").connection().ecn_negotiated()
    }
}

#[test]
fn an_old_server_answers_the_offer_by_classic_ecn() {
    let mut alone = Alone::new();
    let (client, isn) = alone.connect();
    let _ = alone.ask(old(1000, isn + 1, 0x32));
    assert!(alone.negotiates_ecn(client));
    alone.network.host(1).stream_mut(client).expect("there").write(b"hello").expect("open");
    let data = alone.run();
    assert!(data.iter().all(|packet| !sets_reserved_bits(&packet.bytes)));
    assert_eq!(data[0].ecn, Ecn::Ect0);
    // An echo, which is answered by CWR.
    let _ = alone.ask(old(1001, isn + 6, 0x30));
    assert_eq!(stats(&mut alone.network, 1, client).ecn_cuts, 1);
}

/// 0x72 are the flags of the SYN and ACK, 0x52 are CWR without ECE.
#[test]
fn an_old_server_that_reflects_or_ignores_the_flags_gets_no_ecn() {
    for flags in [0x12, 0x72, 0x52] {
        let mut alone = Alone::new();
        let (client, isn) = alone.connect();
        let _ = alone.ask(old(1000, isn + 1, flags));
        assert!(!alone.negotiates_ecn(client), "{flags:#x}");
        alone.network.host(1).stream_mut(client).expect("there").write(b"hello").expect("open");
        assert_eq!(alone.run()[0].ecn, Ecn::NotEct, "{flags:#x}");
    }
}

#[test]
fn an_old_client_gets_the_answer_that_it_knows() {
    for (offer, answer) in [(0x62, 0x32), (0x02, 0x12), (0x42, 0x12), (0x22, 0x12)] {
        let mut alone = Alone::new();
        alone.network.host(1).listen(accurate(), 4).expect("free");
        let syn_ack = alone.ask(old(1000, 0, offer)).remove(0).bytes;
        assert_eq!(syn_ack[13], answer, "{offer:#x}");
        assert!(!has_option(&syn_ack) && !sets_reserved_bits(&syn_ack));
        let _ = alone.ask(old(1001, number_at(&syn_ack, 0).wrapping_add(1), 0x10));
        let server = alone.network.host(1).accept().expect("complete");
        assert_eq!(alone.negotiates_ecn(server), offer == 0x62);
    }
}

#[test]
fn without_agreement_a_segment_with_ae_changes_nothing_and_gets_no_answer() {
    let mut alone = Alone::new();
    let (client, isn) = alone.connect();
    let _ = alone.ask(old(1000, isn + 1, 0x32));
    // RST, FIN and a bare ACK.
    for flags in [0x84, 0x91, 0x90] {
        assert!(alone.ask(old(1001, isn + 1, flags)).is_empty(), "{flags:#x}");
    }
    assert_eq!(alone.network.host(1).counters().malformed, 3);
    assert_eq!(alone.network.state(1, client), State::Established);
    // SYNs with the reserved bit are dropped whatever was agreed on.
    assert!(alone.ask(old(1001, isn + 1, 0x92)).is_empty());
    assert_eq!(alone.network.host(1).counters().malformed, 4);
}

/// RFC 9293 §3.10.7.1 and §3.5.1: an end that has lost its connection, or begins another one, resets the peer's.
#[test]
fn a_lost_connection_with_accecn_is_reset() {
    let mut alone = Alone::new();
    let reset = alone.ask(old(1001, 77, 0x90)).remove(0).bytes;
    assert_eq!((reset[13], number_at(&reset, 0)), (0x04, 77));
    let (_, isn) = alone.connect();
    let reset = alone.ask(old(1001, isn + 5000, 0x90)).remove(0).bytes;
    assert_eq!((reset[13], number_at(&reset, 0)), (0x04, isn + 5000));
}

/// One stranger fills the backlog, so that host 1 gets a cookie.
#[test]
fn a_cookie_answers_accecn_by_classic_ecn() {
    let mut network = Network::new(2);
    network.host(2).listen(accurate(), 1).expect("free");
    let from = SocketAddr::from(([100, 1, 1, 1], 1));
    let bytes = old(7, 0, 0x02);
    network.send(Packet { from, to: address(2), ecn: Ecn::NotEct, bytes });
    network.run(Span::from_millis(20));
    let now = network.now;
    let client = network.host(1).connect(now, address(2), accurate()).expect("new");
    network.run(Span::from_millis(100));
    assert_eq!(network.host(2).counters().cookies_redeemed, 1);
    let server = network.host(2).accept().expect("complete");
    for (host, id) in [(1, client), (2, server)] {
        assert_eq!(accurate_ecn(&mut network, host, id), None);
        assert!(network.host(host).stream(id).expect("there").connection().ecn_negotiated());
    }
    let data = pattern(100_000);
    assert!(network.transfer((1, client), (2, server), &data) == data);
}

/// An end sends an unverified address no longer datagram than it received from there: in the backlog, and by a cookie.
#[test]
fn no_syn_ack_with_accecn_is_longer_than_its_syn() {
    let (mut syns, mut answers) = (Vec::new(), Vec::new());
    let mut network = Network::new(3);
    network.host(2).listen(accurate(), 1).expect("free");
    let seen: Rc<RefCell<Vec<Packet>>> = Rc::default();
    let record = Rc::clone(&seen);
    network.passes = Box::new(move |packet| {
        record.borrow_mut().push(packet.clone());
        packet.to == address(2) && is_syn(&packet.bytes)
    });
    for host in [1, 3] {
        let now = network.now;
        let _ = network.host(host).connect(now, address(2), accurate()).expect("new");
        network.run(Span::from_millis(50));
    }
    for packet in seen.take() {
        let list = if packet.from == address(2) { &mut answers } else { &mut syns };
        list.push(packet.bytes.len());
    }
    assert_eq!(network.host(2).counters().cookies_sent, 1);
    assert_eq!((syns.len(), answers.len()), (2, 2));
    assert!(answers.iter().zip(&syns).all(|(answer, syn)| answer <= syn), "{answers:?} {syns:?}");
}
