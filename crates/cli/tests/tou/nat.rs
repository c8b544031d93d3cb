//! `windlass tou nat` behind gateways of the testbed, as root.

use crate::bed::text;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::process::Output;
use windlass_testbed::nat::{Crossing, Family, Gateway};
use windlass_testbed::{Need, skip_unless};

fn cannot_run() -> bool {
    let programs = ["ip", "nft", "turnserver"].map(Need::Program);
    skip_unless(&[&[Need::Root, Need::Tun], &programs[..]].concat())
}

/// The command of a host, with the rendezvous as the server.
fn nat(crossing: &Crossing, host: usize, arguments: &[&str]) -> Output {
    let mut command = crossing.hosts[host].command(env!("CARGO_BIN_EXE_windlass"));
    let server = crossing.rendezvous_addresses()[0].to_string();
    command.args(["tou", "nat", "--via", &server]).args(arguments).output().expect("starts")
}

#[test]
fn a_host_behind_masquerade_learns_what_it_can_have() {
    if cannot_run() {
        return;
    }
    let random = Gateway::MasqueradeRandom;
    let crossing = Crossing::new("nc", Family::V4, Gateway::Masquerade, random);
    let _coturn = crossing.start_coturn(&["--stun-only"]);
    let printed = nat(&crossing, 0, &[]);
    assert_eq!(printed.status.code(), Some(0), "{}", text(&printed.stderr));
    let printed = text(&printed.stdout);
    for line in [
        "server        203.0.113.10:3478\n",
        "(translated, same port)\n",
        "mapping       endpoint-independent\n",
        "filtering     address and port-dependent\n",
        "hairpinning   no\n",
        "Direct sessions work with every peer but one behind a symmetric NAT.",
    ] {
        assert!(printed.contains(line), "{line}\n{printed}");
    }
    let printed = nat(&crossing, 1, &["--json"]);
    let document: Value = serde_json::from_slice(&printed.stdout).expect("JSON");
    assert_eq!((&document["schema"], &document["kind"]), (&json!(1), &json!("tou.nat")));
    let result = &document["results"][0];
    assert_eq!(result["mapping"], json!("address-and-port-dependent"));
    assert_eq!(result["same_port"], json!(false));
    let sessions: Vec<&Value> =
        result["peers"].as_array().expect("a list").iter().map(|peer| &peer["session"]).collect();
    assert_eq!(sessions, ["direct", "direct", "relayed", "relayed", "relayed"]);
}

#[test]
fn a_host_without_udp_learns_whether_tcp_443_is_left() {
    if cannot_run() {
        return;
    }
    let sealed = Gateway::Sealed;
    let crossing = Crossing::new("nc", Family::V6, Gateway::UdpBlocked, sealed);
    let _coturn = crossing.start_coturn(&["--stun-only"]);
    let server = crossing.rendezvous_addresses()[0];
    let listener = crossing.rendezvous.inside(|| TcpListener::bind((server, 443)));
    let _listener = listener.expect("listens");
    let (blocked, cut_off) = std::thread::scope(|scope| {
        let blocked = scope.spawn(|| nat(&crossing, 0, &[]));
        (blocked.join().expect("runs"), nat(&crossing, 1, &["--json"]))
    });
    assert_eq!(blocked.status.code(), Some(1));
    assert!(text(&blocked.stdout).contains("TCP port 443  reachable\n"), "{blocked:?}");
    assert!(text(&blocked.stdout).contains("sessions use a relay over TLS"), "{blocked:?}");
    assert!(text(&blocked.stderr).contains(": no answer from port 3478 by UDP"), "{blocked:?}");
    assert_eq!(cut_off.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&cut_off.stdout).expect("JSON");
    assert_eq!(document["results"][0]["tcp443"], json!(false));
    assert_eq!(document["results"][0]["peers"][0]["session"], json!("none"));
}
