//! Probes of smoltcp, in virtual time: what reading its source predicts.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::smoltcp::{v0_12, v0_14};
use common::{A_TO_E_AND_S, PATH, Path, World, settings};
use windlass_probe::session::{Outcome, TestRow};
use windlass_probe::split::Reaction;
use windlass_probe::{Session, Target};
use windlass_probe_serve::{Server, page};

const ADDRESSES: [&str; 2] = ["192.0.2.1", "2001:db8::1"];

fn measure(address: &str, server: impl Server) -> Outcome {
    measure_across(PATH, address, server)
}

fn measure_across(path: Path, address: &str, server: impl Server) -> Outcome {
    let ip: std::net::IpAddr = address.parse().expect("an address");
    let at = std::net::SocketAddr::new(ip, 80).to_string();
    let mut world = World::new(path, 1).with(&at, server);
    let target = Target::parse(&format!("http://{at}/")).expect("a target");
    let mut session = Session::new(target, settings(&A_TO_E_AND_S, 5));
    world.run(&mut session, &[]);
    session.outcome()
}

/// Data packets of each test, the same in each run.
fn packets(outcome: &Outcome) -> Vec<u64> {
    let same = |row: &TestRow| {
        let all = row.data_packets;
        assert!(all.min == all.max, "{:?}: {} to {}", row.test, all.min, all.max);
        all.median
    };
    outcome.tests.iter().map(same).collect()
}

/// The reaction, and the packets and bytes of the initial window.
fn verdict(outcome: Outcome) -> (Reaction, (u32, u64, bool)) {
    let verdict = outcome.verdict.expect("measured");
    let window = verdict.initial_window.expect("seen");
    (verdict.reaction, (window.packets, window.bytes, window.exact))
}

/// `Reno::on_ack` and `Cubic::on_ack` (src/socket/tcp/congestion) add the bytes that an ACK
/// acknowledges, at most a segment; both begin with 2,048 bytes. With Nagle's algorithm
/// (`Socket::seq_to_transmit`) these are one segment.
#[test]
fn smoltcp_0_14_counts_bytes() {
    for address in ADDRESSES {
        let ip = address.parse().expect("an address");
        for control in [v0_14::CongestionControl::Reno, v0_14::CongestionControl::Cubic] {
            let server = v0_14::WebServer::new(ip, control, true, page(200_000));
            let outcome = measure(address, server);
            assert_eq!(packets(&outcome), [3; 6], "{address} {control:?}");
            let window = (1, if ip.is_ipv4() { 1460 } else { 1440 }, true);
            assert_eq!(verdict(outcome), (Reaction::CountsBytes { limit: None }, window));
        }
    }
}

/// Without Nagle's algorithm it fills the window to the byte: with one packet for each part of a
/// segment that is acknowledged, of twice its size. More packets, but no more bytes.
#[test]
fn more_packets_are_no_growth_where_they_are_shorter() {
    for address in ADDRESSES {
        let ip = address.parse().expect("an address");
        for control in [v0_14::CongestionControl::Reno, v0_14::CongestionControl::Cubic] {
            let server = v0_14::WebServer::new(ip, control, false, page(200_000));
            let outcome = measure(address, server);
            assert_eq!(packets(&outcome), [5, 6, 10, 18, 26, 5], "{address} {control:?}");
            let bytes: Vec<u64> = outcome
                .runs
                .iter()
                .flat_map(|run| &run.observation)
                .map(|run| run.grown_bytes)
                .collect();
            let stretch = 2048 + if ip.is_ipv4() { 1460 } else { 1440 };
            assert!(bytes.iter().all(|bytes| [4096, stretch].contains(bytes)), "{bytes:?}");
            let notes = &outcome.verdict.as_ref().expect("measured").notes;
            assert!(notes.iter().any(|note| note.contains("shorter")), "{notes:?}");
            assert_eq!(verdict(outcome), (Reaction::CountsBytes { limit: None }, (2, 2048, true)));
        }
    }
}

/// `Socket::seq_to_transmit` (src/socket/tcp.rs) compares what it could send with the congestion
/// window, but not what is in flight: no window but the receiver's bounds the flight.
#[test]
fn smoltcp_0_12_has_no_congestion_window_whatever_its_controller_says() {
    for address in ADDRESSES {
        let ip = address.parse().expect("an address");
        for control in [
            v0_12::CongestionControl::None,
            v0_12::CongestionControl::Reno,
            v0_12::CongestionControl::Cubic,
        ] {
            let server = v0_12::WebServer::new(ip, control, true, page(900_000));
            let (reaction, (_, _, exact)) = verdict(measure(address, server));
            assert_eq!((reaction, exact), (Reaction::NoCongestionWindow, false), "{control:?}");
        }
    }
}

/// Packets that are missing in the flight, or at its end, were sent too.
#[test]
fn loss_does_not_hide_that_there_is_no_congestion_window() {
    for loss in [0.003, 0.01, 0.03] {
        let path = Path { loss, ..PATH };
        let ip = ADDRESSES[0].parse().expect("an address");
        let new = v0_14::WebServer::new(ip, v0_14::CongestionControl::None, true, page(900_000));
        let old = v0_12::WebServer::new(ip, v0_12::CongestionControl::Reno, true, page(900_000));
        let outcomes =
            [measure_across(path, ADDRESSES[0], new), measure_across(path, ADDRESSES[0], old)];
        for outcome in outcomes {
            let verdict = outcome.verdict.expect("measured");
            assert_eq!(verdict.reaction, Reaction::NoCongestionWindow, "{loss}: {verdict:?}");
            assert_eq!(verdict.runs, (30, 30), "{loss}");
        }
    }
}
