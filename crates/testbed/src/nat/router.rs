//! Routers in namespaces: nftables, or the user-space NAT between two TUN devices.

use super::{Family, plan};
use crate::namespace::Namespace;
use std::io::Write;
use std::net::IpAddr;
use std::process::Stdio;
use windlass_link::linux::{self, Device, DeviceConfig};
use windlass_nat::driver::Driver;
use windlass_nat::{Config, Nat};

/// The routing table for packets from inner hosts: to the NAT.
const FROM_INSIDE: u32 = 100;
/// The routing table for packets that the NAT has let out: to the Internet, even if their destination
/// is an address of an inner host.
const TO_OUTSIDE: u32 = 101;

/// A namespace that forwards packets. Its device towards the Internet is called `uplink`, those
/// towards inner hosts begin with `lan`.
#[derive(Debug)]
pub(super) struct Router {
    pub(super) namespace: Namespace,
}

impl Router {
    pub(super) fn new(prefix: &str) -> Router {
        let namespace = Namespace::new(prefix);
        for key in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
            namespace.sysctl(key, "1");
        }
        // The way back from a NAT's device is another than the way there.
        for scope in ["all", "default"] {
            namespace.sysctl(&format!("ipv4/conf/{scope}/rp_filter"), "0");
            // A second address of a device outlives the first.
            namespace.sysctl(&format!("ipv4/conf/{scope}/promote_secondaries"), "1");
        }
        Router { namespace }
    }

    /// Gives the kernel rules for nft(8).
    pub(super) fn nftables(&self, rules: &str) {
        let mut command = self.namespace.command("nft");
        let mut nft = command.args(["-f", "-"]).stdin(Stdio::piped()).spawn().expect("nftables");
        nft.stdin.take().expect("piped").write_all(rules.as_bytes()).expect("nft reads");
        let status = nft.wait().expect("a child");
        assert!(status.success(), "nft: {status} from\n{rules}");
    }

    /// Starts the user-space NAT between the inner devices and the uplink, behind which is the router
    /// `next`.
    pub(super) fn user_space_nat(&self, lans: &[&str], next: IpAddr, config: Config) -> Driver {
        let family = if next.is_ipv4() { Family::V4 } else { Family::V6 };
        let external = &config.external;
        let device = |name: &str, routes: &[IpAddr]| {
            let network = |address: &IpAddr| {
                format!("{address}/{}", plan::host_prefix(family)).parse().expect("a network")
            };
            let settings = DeviceConfig {
                name: name.to_owned(),
                namespace: linux::Namespace::Named(self.namespace.name().to_owned()),
                addresses: vec![],
                routes: routes.iter().map(network).collect(),
                mtu: linux::MTU_DEFAULT,
            };
            Device::create(&settings).expect("a TUN device")
        };
        let (inside, outside) = (device("natin", &[]), device("natout", external));
        let ip = version(family);
        let route = |to: &str, table| {
            self.namespace.ip(&format!("{ip} route add default {to} table {table}"));
        };
        route("dev natin", FROM_INSIDE);
        route(&format!("via {next}"), TO_OUTSIDE);
        for lan in lans {
            self.namespace.ip(&format!("{ip} rule add iif {lan} table {FROM_INSIDE}"));
        }
        self.namespace.ip(&format!("{ip} rule add iif natout table {TO_OUTSIDE}"));
        Driver::start(Nat::new(config, 1), inside, outside).expect("a thread")
    }
}

/// The option of ip(8) for a family.
pub(super) fn version(family: Family) -> &'static str {
    match family {
        Family::V4 => "-4",
        Family::V6 => "-6",
    }
}

/// Rules that hide inner hosts behind the uplink's address; `how` says how ports are chosen.
pub(super) fn masquerade(how: &str) -> String {
    format!(
        "table inet nat {{
           chain postrouting {{
             type nat hook postrouting priority srcnat
             oifname \"uplink\" masquerade {how}
           }}
         }}
         "
    )
}

/// Rules that admit from outside only answers, and do with other packets what `outgoing` says.
/// Packets from outside for the router itself are dropped. If it took them, the kernel would remember
/// them as connections of its own, and give the next packet of an inner host another port.
pub(super) fn filter(outgoing: &str) -> String {
    format!(
        "table inet filter {{
           chain input {{
             type filter hook input priority filter
             iifname \"uplink\" meta l4proto ipv6-icmp accept
             iifname \"uplink\" ct state established,related accept
             iifname \"uplink\" drop
           }}
           chain forward {{
             type filter hook forward priority filter
             ct state established,related accept
             iifname \"uplink\" drop
             {outgoing}
           }}
         }}
         "
    )
}
