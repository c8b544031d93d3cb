use super::*;
use crate::config::{PathConfig, PortConfig};
use crate::frame::tests::packet;
use windlass_base::{BitRate, Ecn, Span};

const MS: u64 = 1_000_000;

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * MS)
}

fn delay(ms: u64) -> PathConfig {
    PathConfig { delay: Span::from_millis(ms), ..PathConfig::default() }
}

fn port(name: &str, up: PathConfig, down: PathConfig) -> PortConfig {
    PortConfig { name: name.into(), networks: vec![], up, down }
}

fn network(ports: Vec<PortConfig>) -> Network {
    Network::new(&LinkConfig { seed: 1, ports }).expect("a link that works")
}

fn drain(network: &mut Network, now: Time) -> Vec<(usize, Time)> {
    std::iter::from_fn(|| network.poll_transmit(now)).map(|out| (out.port, out.due)).collect()
}

/// From 10.0.0.1 to 10.0.0.2, 1500 bytes.
fn full() -> Vec<u8> {
    packet(17, Ecn::NotEct, &[0; 1480])
}

#[test]
fn a_packet_takes_its_ports_way_up_and_the_others_way_down() {
    let mut network = network(vec![port("a", delay(1), delay(2)), port("b", delay(10), delay(20))]);
    network.handle_packet(at(0), 0, full());
    network.handle_packet(at(5), 1, full());
    assert_eq!(network.poll_timeout(), Some(at(15)), "b's way up");
    assert_eq!(drain(&mut network, Time::MAX), [(0, at(17)), (1, at(21))]);
    assert_eq!(network.poll_timeout(), None);
}

#[test]
fn who_comes_late_does_not_move_the_times_that_should_be() {
    let rate = BitRate::from_bits_per_sec(12_000_000);
    let up = PathConfig { rate, ..delay(3) };
    let mut network = network(vec![port("a", up, delay(0)), port("b", delay(0), delay(4))]);
    for _ in 0..3 {
        network.handle_packet(at(0), 0, full());
    }
    let due: Vec<Time> = drain(&mut network, at(1000)).iter().map(|(_, due)| *due).collect();
    assert_eq!(due, [at(8), at(9), at(10)], "1 ms each, and 7 ms of delay");
}

#[test]
fn with_three_ports_the_destination_decides() {
    let behind = |name: &str, networks: &[&str]| PortConfig {
        name: name.into(),
        networks: networks.iter().map(|n| n.parse().expect("a prefix")).collect(),
        ..PortConfig::default()
    };
    let mut network = network(vec![
        behind("a", &["10.0.0.1/32"]),
        behind("b", &["10.0.0.0/24"]),
        behind("c", &["10.0.0.2/32", "0.0.0.0/0"]),
    ]);
    network.handle_packet(at(0), 0, full());
    assert_eq!(drain(&mut network, at(0)), [(2, at(0))]);
    // Not back to where it came from, nor anywhere if it is no packet.
    network.handle_packet(at(0), 2, full());
    network.handle_packet(at(0), 0, vec![0; 20]);
    assert_eq!(drain(&mut network, at(0)), []);
    assert_eq!(network.stats().unroutable, 2);
}

#[test]
fn ports_that_cannot_work_are_refused() {
    let error = |ports: Vec<PortConfig>| {
        Network::new(&LinkConfig { seed: 1, ports }).map(|_| ()).expect_err("refused")
    };
    let plain = |name: &str| port(name, delay(0), delay(0));
    assert_eq!(error(vec![plain("a")]), ConfigError::Ports);
    assert_eq!(error(vec![plain("a"), plain("a")]), ConfigError::SameName("a".into()));
    let three = vec![plain("a"), plain("b"), plain("c")];
    assert_eq!(error(three), ConfigError::NoNetworks("a".into()));
}
