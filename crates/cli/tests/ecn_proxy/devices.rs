//! Devices: two clients of the router, one of them with an IPv4 and two IPv6 addresses, and the leases
//! of the router's DHCP server.

use crate::bed::{Bed, LAN, Proxy, eventually, get, metrics_address, skipped, text};
use crate::hosts::{devices, send};
use serde_json::{Value, json};
use std::fs;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::path::Path;
use windlass_testbed::{Namespace, join};

/// The router's interface to the second client.
const SECOND_LAN: &str = "lan2";
const FIRST: [&str; 3] = ["10.9.1.2", "fd09:1::2", "fd09:1::77"];
const SECOND: &str = "10.9.3.2";
const FIRST_MAC: &str = "02:00:00:00:00:14";
const SECOND_MAC: &str = "02:00:00:00:00:15";

/// Gives the first client its other address, and the router a second client.
fn build(bed: &Bed) -> Namespace {
    let network = bed.network();
    network.client.ip(&format!("link set router address {FIRST_MAC}"));
    network.client.ip("address add fd09:1::77/64 dev router");
    let second = Namespace::new("wepd");
    join((&network.router, SECOND_LAN), (&second, "router"));
    network.router.bring_up(SECOND_LAN, &["10.9.3.1/24"]);
    second.bring_up("router", &[format!("{SECOND}/24")]);
    second.ip(&format!("link set router address {SECOND_MAC}"));
    second.ip("route add default via 10.9.3.1");
    second.sysctl("ipv4/tcp_ecn", "0");
    second
}

/// A proxy that serves both clients and reads these leases.
fn run(bed: &Bed, leases: &Path) -> Proxy {
    let leases = leases.display().to_string();
    let interfaces = ["--client-side", LAN, "--client-side", SECOND_LAN];
    bed.run(&[&interfaces[..], &["--leases", &leases, "--metrics", "127.0.0.1:0"]].concat())
}

/// A connection from each address, all open.
fn connect_all(bed: &Bed, second: &Namespace) -> Vec<[TcpStream; 2]> {
    let network = bed.network();
    // Of both families: net.ipv6.bindv6only is off.
    let far = network.server.inside(|| TcpListener::bind("[::]:0")).expect("a port");
    let one = |client: &Namespace, from: &str| {
        let from: IpAddr = from.parse().expect("an address");
        send(client, &far, from, network.server_address(from.is_ipv6()), 1000)
    };
    let mut open: Vec<_> = FIRST.iter().map(|from| one(&network.client, from)).collect();
    open.push(one(second, SECOND));
    open
}

/// Name, MAC address, class and addresses of each device.
fn known(bed: &Bed) -> Vec<Value> {
    let known = |device: &Value| {
        let addresses = device["addresses"].as_array().into_iter().flatten();
        let addresses: Vec<&Value> = addresses.map(|host| &host["address"]).collect();
        json!([device["name"], device["mac"], device["ecn"], addresses])
    };
    devices(bed, &["--sort", "address"]).iter().map(known).collect()
}

#[test]
fn the_addresses_of_a_client_are_one_device_with_the_name_in_its_lease() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let second = build(&bed);
    let leases = bed.path("dnsmasq.leases");
    let lease = |mac: &str, address: &str, name: &str| format!("1 {mac} {address} {name} *\n");
    let first_lease = lease(FIRST_MAC, FIRST[0], "laptop");
    fs::write(&leases, &first_lease).expect("writable");
    let proxy = run(&bed, &leases);
    let metrics = metrics_address(&proxy);
    proxy.wait_for("running");
    let _open = connect_all(&bed, &second);

    let first = json!(["laptop", FIRST_MAC, "served", FIRST]);
    assert_eq!(known(&bed), [first.clone(), json!([null, SECOND_MAC, "served", [SECOND]])]);
    let laptop = &devices(&bed, &["--sort", "address"])[0];
    assert_eq!(laptop["connections"]["served"], 3, "the sum of its addresses: {laptop}");
    let listed = bed.ask(&["hosts", "--sort", "address"]);
    let table = text(&listed.stdout);
    let begins: Vec<&str> =
        table.lines().skip(2).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(begins, ["laptop", FIRST[0], FIRST[1], FIRST[2], SECOND], "{table}");
    assert!(text(&listed.stderr).starts_with("2 devices: 0 own, 2 served,"), "{listed:?}");
    let status = text(&bed.ask(&["status"]).stdout);
    let share = "ecn     2 of 2 devices (100 %), 4 of 4 connections (100 %)\n";
    assert!(status.contains(share), "{status}");

    let page = get(&bed, metrics, "/metrics");
    assert!(page.contains("windlass_ecn_proxy_served_hosts{ecn=\"served\"} 2"), "{page}");
    assert!(!page.contains("laptop") && !page.contains(FIRST_MAC), "{page}");

    // A new lease counts at once. Without the file devices have no names, and a reload warns.
    fs::write(&leases, first_lease + &lease(SECOND_MAC, SECOND, "tablet")).expect("writable");
    assert_eq!(known(&bed), [first, json!(["tablet", SECOND_MAC, "served", [SECOND]])]);
    fs::remove_file(&leases).expect("there");
    assert!(known(&bed).iter().all(|device| device[0].is_null()));
    proxy.signal("HUP");
    let warning = format!("leases not read from {}: No such file", leases.display());
    let warns = || bed.json("status")["warnings"].to_string().contains(&warning);
    assert!(eventually(warns), "{}", bed.json("status"));
}
