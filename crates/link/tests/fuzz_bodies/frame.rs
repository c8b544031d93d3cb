//! Any bytes as packets through a network with everything switched on: nothing panics, none is made
//! of nothing, and what can be marked is a valid packet afterwards.

use windlass_aqm::{Config, Packet, RedConfig};
use windlass_base::{BitRate, Ecn, Span, Time};
use windlass_link::config::ListedLossConfig;
use windlass_link::link_model::{Aggregation, Outage, RateOverTime, Steps, WifiJitter};
use windlass_link::{Frame, LinkConfig, Loss, Network, PathConfig, PortConfig, Variation};

/// One input of the target `frame`: packets, each behind its length in one byte.
pub(crate) fn run(bytes: &[u8]) {
    mark(bytes);
    let packets = split(bytes);
    packets.iter().for_each(|packet| mark(packet));
    carry(&packets);
}

fn mark(bytes: &[u8]) {
    let mut frame = Frame::new(bytes.to_vec());
    if frame.ecn() == Ecn::NotEct {
        return;
    }
    let destination = frame.destination();
    frame.set_ecn(Ecn::Ce);
    let again = Frame::new(frame.bytes().to_vec());
    assert_eq!((again.ecn(), again.destination()), (Ecn::Ce, destination));
    assert_eq!(again.flow_hash(), frame.flow_hash());
}

fn split(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut packets = Vec::new();
    while let Some((len, rest)) = bytes.split_first() {
        let (packet, rest) = rest.split_at(usize::from(*len).min(rest.len()));
        packets.push(packet);
        bytes = rest;
    }
    packets
}

fn carry(packets: &[&[u8]]) {
    let mut network = Network::new(&link()).expect("settings that work");
    let mut came_out = 0;
    for (n, packet) in packets.iter().enumerate() {
        let now = Time::from_nanos(n as u64 * 10_000);
        network.handle_packet(now, n % 3, packet.to_vec());
        came_out += std::iter::from_fn(|| network.poll_transmit(now)).count();
    }
    came_out += std::iter::from_fn(|| network.poll_transmit(Time::MAX)).count();
    assert_eq!(network.poll_timeout(), None);
    // Each direction may double a packet once.
    assert!(came_out <= 4 * packets.len());
}

/// A rate that changes, outages that hold and that lose packets, and batches.
fn variation() -> Variation {
    let steps = vec![
        (Span::ZERO, BitRate::from_bits_per_sec(10_000_000)),
        (Span::from_micros(70), BitRate::from_bits_per_sec(50_000_000)),
    ];
    let steps = Steps::new(steps, Some(Span::from_micros(200))).expect("in order");
    let outage = |at, lose| Outage {
        at: Span::from_micros(at),
        lasts: Span::from_micros(30),
        every: Some(Span::from_micros(100)),
        lose,
    };
    Variation {
        rate: Some(RateOverTime::Steps(steps)),
        aggregation: Some(Aggregation { interval: Span::from_micros(20), ..Aggregation::WIFI }),
        outages: vec![outage(50, true), outage(90, false)],
        wifi_jitter: Some(WifiJitter::new(Steps::constant(Span::from_millis(2)))),
        ..Variation::default()
    }
}

fn link() -> LinkConfig {
    let up = PathConfig {
        rate: BitRate::from_bits_per_sec(10_000_000),
        queue: Config::Red(RedConfig { min: 0.5, weight: Some(1.0), ..RedConfig::default() }),
        device_queue: Span::from_millis(1),
        delay: Span::from_micros(50),
        jitter: Span::from_micros(40),
        reorder: true,
        loss: Loss::Listed(ListedLossConfig { first: vec![2], retransmissions: vec![1] }),
        duplicate: 0.2,
        corrupt: 0.2,
        variation: variation(),
    };
    let port = |name: &str, network: &str| PortConfig {
        name: name.into(),
        networks: vec![network.parse().expect("a prefix")],
        up: up.clone(),
        down: PathConfig { loss: Loss::Random(0.1), ..up.clone() },
    };
    let ports = vec![port("a", "0.0.0.0/1"), port("b", "128.0.0.0/1"), port("c", "::/0")];
    LinkConfig { seed: 1, ports }
}
