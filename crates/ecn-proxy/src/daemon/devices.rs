//! Devices: the addresses of served hosts, grouped by the host that has them.
//!
//! 1. Addresses whose packets come from the same MAC address are one device.
//! 2. A MAC address with more than `IPV4_MAX` IPv4 addresses is that of a router: behind it are
//!    several hosts. There, and where packets have no MAC address, the MAC address in the DHCP lease
//!    counts instead.
//! 3. An address without either is a device of its own.

use super::leases::Leases;
use crate::datapath::{EcnUse, HostBytes, HostConnections, MacAddress, ServedHost};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

/// The most IPv4 addresses of a host within a day: one, and another after a change of its lease.
const IPV4_MAX: usize = 2;

/// A host with all of its addresses.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Device {
    /// The host's name in its DHCP lease.
    pub name: Option<String>,
    /// The host's MAC address, if it is known.
    pub mac: Option<MacAddress>,
    /// The MAC address of the router between the host and the proxy, if there is one.
    pub router: Option<MacAddress>,
    /// The end that gives its connections ECN.
    pub ecn: EcnUse,
    /// Its connections by outcome.
    pub connections: HostConnections,
    /// Their payload.
    pub bytes: HostBytes,
    /// Times that its sender slowed down for a mark on a served connection.
    pub reductions: u64,
    /// CE on packets for the host, on served connections.
    pub marks: u64,
    /// Connections that lost ECT because the host's sender did not slow down for marks.
    pub unresponsive: u64,
    /// Time since the first connection.
    pub age: Duration,
    /// Time since the last packet of a connection, or since the last handshake.
    pub idle: Duration,
    /// Its addresses, in ascending order.
    pub addresses: Vec<ServedHost>,
}

/// How many devices and of their connections have ECN, from themselves or from the proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EcnShare {
    /// Devices of served hosts.
    pub devices: u64,
    /// Those of any class but [`EcnUse::Without`].
    pub devices_with_ecn: u64,
    /// Their connections.
    pub connections: u64,
    /// Those with ECN at both ends: [`HostConnections::own`] and [`HostConnections::served`].
    pub connections_with_ecn: u64,
}

impl<'a> FromIterator<&'a Device> for EcnShare {
    fn from_iter<I: IntoIterator<Item = &'a Device>>(devices: I) -> EcnShare {
        let mut share = EcnShare::default();
        for Device { ecn, connections, .. } in devices {
            share.devices += 1;
            share.devices_with_ecn += u64::from(*ecn != EcnUse::Without);
            share.connections += connections.total();
            share.connections_with_ecn += connections.own + connections.served;
        }
        share
    }
}

/// By which addresses are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    Mac(MacAddress),
    Address(IpAddr),
}

impl Device {
    fn new(identity: Identity, host: ServedHost, router: Option<MacAddress>) -> Device {
        Device {
            name: None,
            mac: match identity {
                Identity::Mac(mac) => Some(mac),
                Identity::Address(_) => None,
            },
            router,
            ecn: host.ecn,
            connections: host.connections,
            bytes: host.bytes,
            reductions: host.reductions,
            marks: host.marks,
            unresponsive: host.unresponsive,
            age: host.age,
            idle: host.idle,
            addresses: vec![host],
        }
    }

    fn add(&mut self, host: ServedHost) {
        self.connections += host.connections;
        self.ecn = self.connections.ecn_use();
        self.bytes += host.bytes;
        self.reductions += host.reductions;
        self.marks += host.marks;
        self.unresponsive += host.unresponsive;
        self.age = self.age.max(host.age);
        self.idle = self.idle.min(host.idle);
        self.addresses.push(host);
    }

    fn named(mut self, leases: &Leases) -> Device {
        let own = self.mac.and_then(|mac| leases.name(mac));
        let of_address = || self.addresses.iter().find_map(|host| leases.name_at(host.address));
        self.name = own.or_else(of_address).map(str::to_owned);
        self
    }
}

/// Groups served hosts, which are in ascending order of their addresses, into devices.
pub(super) fn group(hosts: Vec<ServedHost>, leases: &Leases) -> Vec<Device> {
    let routers = routers(&hosts);
    let mut devices: BTreeMap<Identity, Device> = BTreeMap::new();
    for host in hosts {
        let router = host.mac.filter(|mac| routers.contains(mac));
        let own = if router.is_some() { None } else { host.mac };
        let mac = own.or_else(|| leases.mac(host.address));
        let identity = mac.map_or(Identity::Address(host.address), Identity::Mac);
        // A router may have a lease itself.
        let router = router.filter(|router| mac != Some(*router));
        match devices.get_mut(&identity) {
            Some(device) => device.add(host),
            None => {
                devices.insert(identity, Device::new(identity, host, router));
            }
        }
    }
    devices.into_values().map(|device| device.named(leases)).collect()
}

/// The MAC addresses with too many IPv4 addresses for one host. The number of IPv6 addresses says
/// nothing: a host makes new temporary ones all the time (RFC 8981).
fn routers(hosts: &[ServedHost]) -> BTreeSet<MacAddress> {
    let mut counts: BTreeMap<MacAddress, usize> = BTreeMap::new();
    for mac in hosts.iter().filter(|host| host.address.is_ipv4()).filter_map(|host| host.mac) {
        *counts.entry(mac).or_default() += 1;
    }
    counts.into_iter().filter(|(_, count)| *count > IPV4_MAX).map(|(mac, _)| mac).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mac(last: u8) -> MacAddress {
        MacAddress([2, 0, 0, 0, 0, last])
    }

    /// A host with so many connections with ECN of its own, and served ones.
    fn host(address: &str, mac: Option<MacAddress>, own: u64, served: u64) -> ServedHost {
        let connections = HostConnections { own, served, ..HostConnections::default() };
        ServedHost {
            address: address.parse().expect("an address"),
            mac,
            ecn: connections.ecn_use(),
            connections,
            bytes: HostBytes { served: 1000 * served, own: 1000 * own, without: 0 },
            reductions: served,
            marks: 2 * served,
            takeovers: 0,
            unresponsive: 1,
            age: Duration::from_secs(10 * (own + 1)),
            idle: Duration::from_secs(own + 1),
        }
    }

    fn grouped(hosts: Vec<ServedHost>, leases: &str) -> Vec<Device> {
        group(hosts, &Leases::parse(leases.as_bytes()))
    }

    /// The addresses of each device, the sets in ascending order.
    fn sets(devices: &[Device]) -> Vec<Vec<String>> {
        let addresses = |device: &Device| {
            device.addresses.iter().map(|host| host.address.to_string()).collect()
        };
        let mut sets: Vec<Vec<String>> = devices.iter().map(addresses).collect();
        sets.sort();
        sets
    }

    #[test]
    fn addresses_of_one_mac_address_are_one_device_with_the_sums() {
        let laptop = Some(mac(1));
        let hosts = vec![
            host("192.168.1.20", laptop, 2, 0),
            host("192.168.1.21", Some(mac(2)), 0, 0),
            host("2001:db8::a", laptop, 0, 3),
            host("2001:db8::b", laptop, 0, 1),
        ];
        let devices = grouped(hosts, "");
        let [laptop, other] = &devices[..] else { panic!("{devices:?}") };
        assert_eq!(sets(&devices)[0], ["192.168.1.20", "2001:db8::a", "2001:db8::b"]);
        assert_eq!((laptop.mac, laptop.router, &laptop.name), (Some(mac(1)), None, &None));
        let expected = HostConnections { own: 2, served: 4, ..HostConnections::default() };
        assert_eq!((laptop.ecn, laptop.connections), (EcnUse::Mixed, expected));
        assert_eq!(laptop.bytes, HostBytes { served: 4000, own: 2000, without: 0 });
        assert_eq!((laptop.reductions, laptop.marks, laptop.unresponsive), (4, 8, 3));
        assert_eq!((laptop.age.as_secs(), laptop.idle.as_secs()), (30, 1));
        assert_eq!((other.ecn, other.addresses.len()), (EcnUse::Without, 1));
        let share: EcnShare = devices.iter().collect();
        let expected =
            EcnShare { devices: 2, devices_with_ecn: 1, connections: 6, connections_with_ecn: 6 };
        assert_eq!(share, expected);
    }

    #[test]
    fn addresses_without_a_mac_address_are_devices_of_their_own() {
        let devices = grouped(vec![host("10.0.0.1", None, 1, 0), host("fd00::1", None, 0, 1)], "");
        assert_eq!(sets(&devices), [["10.0.0.1"], ["fd00::1"]]);
        assert!(devices.iter().all(|device| device.mac.is_none() && device.router.is_none()));
    }

    #[test]
    fn the_hosts_behind_a_router_are_devices_of_their_own() {
        let router = Some(mac(9));
        let mut hosts = vec![host("10.1.0.1", router, 1, 0), host("10.1.0.2", router, 1, 0)];
        assert_eq!(grouped(hosts.clone(), "").len(), 1, "a host whose lease has changed");
        hosts.extend([host("10.1.0.3", router, 1, 0), host("fd01::3", router, 1, 0)]);
        let devices = grouped(hosts, "");
        assert_eq!(sets(&devices), [["10.1.0.1"], ["10.1.0.2"], ["10.1.0.3"], ["fd01::3"]]);
        assert!(devices.iter().all(|device| device.router == router && device.mac.is_none()));
    }

    #[test]
    fn many_ipv6_addresses_are_no_router() {
        let addresses = (1..40).map(|n| host(&format!("2001:db8::{n}"), Some(mac(1)), 0, 1));
        assert_eq!(grouped(addresses.collect(), "").len(), 1);
    }

    #[test]
    fn leases_name_devices_and_tell_hosts_behind_a_router_apart() {
        let router = Some(mac(9));
        let hosts = vec![
            host("10.1.0.1", router, 1, 0),
            host("10.1.0.2", router, 1, 0),
            host("10.1.0.3", router, 1, 0),
            host("10.1.0.4", None, 1, 0),
            host("fd01::5", router, 1, 0),
            host("fd01::6", Some(mac(6)), 1, 0),
        ];
        let leases = "1 02:00:00:00:00:09 10.1.0.1 router *\n1 02:00:00:00:00:02 10.1.0.2 tablet *\n\
                      1 02:00:00:00:00:02 10.1.0.4 tablet *\n1 77 fd01::5 phone 00:01\n\
                      1 02:00:00:00:00:06 10.1.0.99 desktop *\n";
        let devices = grouped(hosts, leases);
        let known = |device: &Device| (device.name.clone(), device.mac, device.router);
        let known: Vec<_> = devices.iter().map(known).collect();
        let expected = [
            (Some("tablet".to_owned()), Some(mac(2)), router),
            (Some("desktop".to_owned()), Some(mac(6)), None),
            (Some("router".to_owned()), Some(mac(9)), None),
            (None, None, router),
            (Some("phone".to_owned()), None, router),
        ];
        assert_eq!(known, expected);
        assert_eq!(sets(&devices)[1], ["10.1.0.2", "10.1.0.4"]);
    }

    #[test]
    fn the_mac_address_of_the_packets_counts_before_that_of_the_lease() {
        let hosts =
            vec![host("10.0.0.1", Some(mac(1)), 1, 0), host("10.0.0.2", Some(mac(2)), 1, 0)];
        let leases = "1 02:00:00:00:00:02 10.0.0.1 past *\n";
        let devices = grouped(hosts, leases);
        assert_eq!(devices.len(), 2);
        assert_eq!((devices[0].name.as_deref(), devices[1].name.as_deref()), (None, Some("past")));
    }
}
