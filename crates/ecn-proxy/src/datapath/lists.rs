//! The lists that allow or deny new connections, and the tables of bpf/tables.h that hold them. bpf/lists.h looks
//! a connection up there at its first SYN.

use super::bytes::mapped;
use super::error::doing;
use super::{Error, load};
use ipnet::IpNet;
use libbpf_rs::{MapCore, MapFlags, Object};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Networks and ports that a new connection is compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionFilter {
    /// Matches a connection with an end in one of these networks.
    pub networks: Vec<IpNet>,
    /// Matches a connection to one of these ports.
    pub ports: Vec<RangeInclusive<u16>>,
}

/// Which connections the proxy takes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    /// With networks, one end must be in one of them. With ports, the connection must be to one.
    pub allow: ConnectionFilter,
    /// Neither end may be in one of these networks, nor the port among these ports. A denial wins over
    /// `allow`, whatever the prefix lengths.
    pub deny: ConnectionFilter,
}

/// enum lists of bpf/tables.h
const ALLOW_NETWORKS: u8 = 1;
const ALLOW_PORTS: u8 = 2;
const DENY_NETWORKS: u8 = 4;
const DENY_PORTS: u8 = 8;
const PORT_ALLOWED: u8 = 1;
const PORT_DENIED: u8 = 2;

impl Lists {
    /// The lists that are not empty, as `enum lists`.
    pub(super) fn bits(&self) -> u8 {
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        bit(!self.allow.networks.is_empty(), ALLOW_NETWORKS)
            | bit(!self.allow.ports.is_empty(), ALLOW_PORTS)
            | bit(!self.deny.networks.is_empty(), DENY_NETWORKS)
            | bit(!self.deny.ports.is_empty(), DENY_PORTS)
    }

    /// Updates the tables. New entries go in before old ones are removed, so none is missing meanwhile.
    pub(super) fn write(&self, object: &Object) -> Result<(), Error> {
        replace(object, "allow_networks", &networks(&self.allow))?;
        replace(object, "deny_networks", &networks(&self.deny))?;
        let mut ports = BTreeMap::new();
        for (rules, bit) in [(&self.allow, PORT_ALLOWED), (&self.deny, PORT_DENIED)] {
            for port in rules.ports.iter().cloned().flatten() {
                *ports.entry(port.to_ne_bytes().to_vec()).or_insert(0) |= bit;
            }
        }
        replace(object, "ports", &ports)
    }
}

fn networks(rules: &ConnectionFilter) -> BTreeMap<Vec<u8>, u8> {
    let key = |network: &IpNet| {
        let above = if matches!(network, IpNet::V4(_)) { 96 } else { 0 };
        let bits = u32::from(network.prefix_len()) + above;
        [bits.to_ne_bytes().as_slice(), &mapped(network.network())].concat()
    };
    rules.networks.iter().map(|network| (key(network), 1)).collect()
}

fn replace(object: &Object, name: &str, entries: &BTreeMap<Vec<u8>, u8>) -> Result<(), Error> {
    let table = load::table(object, name)?;
    for (key, value) in entries {
        table.update(key, &[*value], MapFlags::ANY).map_err(doing("filling a list"))?;
    }
    let old: Vec<_> = table.keys().filter(|key| !entries.contains_key(key)).collect();
    old.iter().try_for_each(|key| table.delete(key)).map_err(doing("emptying a list"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv4_network_is_a_network_of_mapped_addresses() {
        let rules =
            ConnectionFilter { networks: vec!["10.1.0.0/16".parse().expect("one")], ports: vec![] };
        let keys: Vec<_> = networks(&rules).into_keys().collect();
        assert_eq!(keys[0][..4], 112u32.to_ne_bytes());
        assert_eq!(keys[0][14..], [0xff, 0xff, 10, 1, 0, 0]);
    }
}
