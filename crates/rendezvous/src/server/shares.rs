//! The networks that an address belongs to, and their shares of a table.
//!
//! A host of IPv6 has a whole /64, a subscriber often a /48, and some providers give a /32 away. So
//! each of these has a share of a table. Of IPv4 the address, its /24 and its /16 have the same: ten
//! addresses of one /24 would otherwise take a thousand relayed addresses.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Networks that count, the narrowest first.
const IPV4: [u8; LEVELS] = [32, 24, 16];
const IPV6: [u8; LEVELS] = [64, 48, 32];
pub(crate) const LEVELS: usize = 3;

/// How many shares of the narrowest network the wider ones have: an IPv6 /48 or an IPv4 /24, and an
/// IPv6 /32 or an IPv4 /16.
const SITE: usize = 16;
const PROVIDER: usize = 64;

/// The addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Network {
    is_ipv6: bool,
    len: u8,
    bits: u64,
}

/// The networks of an address, the narrowest first.
pub(crate) fn networks(address: SocketAddr) -> [Network; LEVELS] {
    let (is_ipv6, lens, bits, width) = match address.ip().to_canonical() {
        IpAddr::V4(ip) => (false, IPV4, u64::from(ip.to_bits()), 32),
        IpAddr::V6(ip) => (true, IPV6, (ip.to_bits() >> 64) as u64, 64),
    };
    lens.map(|len| Network { is_ipv6, len, bits: bits >> (width - u32::from(len)) })
}

/// How many entries of a table each network has, and may have.
#[derive(Debug)]
pub(crate) struct Shares {
    max: [usize; LEVELS],
    used: BTreeMap<Network, usize>,
}

impl Shares {
    /// Shares of a table with `table` entries: `narrow` of an IPv4 address or an IPv6 /64. A /48 or
    /// /24 gets at most half of the table, a /32 or /16 at most three quarters.
    pub(crate) fn new(table: usize, narrow: usize) -> Shares {
        let wider = |times, part: usize| narrow.saturating_mul(times).min(part).max(narrow);
        let (site, provider) = (wider(SITE, table / 2), wider(PROVIDER, table - table / 4));
        Shares { max: [narrow, site, provider], used: BTreeMap::new() }
    }

    /// The entries of a network.
    pub(crate) fn of(&self, network: Network) -> usize {
        self.used.get(&network).copied().unwrap_or(0)
    }

    /// The narrowest network of the address whose share is used up.
    pub(crate) fn full(&self, address: SocketAddr) -> Option<Network> {
        let mut counted = networks(address).into_iter().zip(self.max);
        counted.find(|(network, max)| self.of(*network) >= *max).map(|(network, _)| network)
    }

    /// Whether an entry of the address `held` is to make room in a full table for one of `new`: of the
    /// widest networks that differ, that of `held` has at least two more. So a flood pushes out its
    /// own entries, and each network is sure of as much as the greatest has.
    pub(crate) fn yields(&self, held: SocketAddr, new: SocketAddr) -> bool {
        let both = networks(held).into_iter().zip(networks(new)).rev();
        let mut differ = both.filter(|(held, new)| held != new);
        differ.next().is_some_and(|(held, new)| self.of(held) > self.of(new) + 1)
    }

    pub(crate) fn add(&mut self, address: SocketAddr) {
        for network in networks(address) {
            *self.used.entry(network).or_default() += 1;
        }
    }

    pub(crate) fn remove(&mut self, address: SocketAddr) {
        for network in networks(address) {
            if let Some(used) = self.used.get_mut(&network) {
                *used -= 1;
                if *used == 0 {
                    self.used.remove(&network);
                }
            }
        }
    }

    /// Asserts that the counts are those of these addresses, and within the shares.
    pub(crate) fn check(&self, addresses: impl IntoIterator<Item = SocketAddr>) {
        let mut counted = BTreeMap::new();
        for address in addresses {
            for (level, network) in networks(address).into_iter().enumerate() {
                let used: &mut usize = counted.entry(network).or_default();
                *used += 1;
                assert!(*used <= self.max[level], "{network:?}");
            }
        }
        assert_eq!(self.used, counted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        SocketAddr::new(text.parse().expect("an address"), 1)
    }

    fn filled(table: usize, narrow: usize, addresses: impl Iterator<Item = String>) -> Shares {
        let mut shares = Shares::new(table, narrow);
        for text in addresses {
            if shares.full(address(&text)).is_none() {
                shares.add(address(&text));
            }
        }
        shares
    }

    #[test]
    fn networks_of_ipv6_have_shares_of_64_48_and_32_bits() {
        let flood = |net: &str, count: u32| {
            let subnets: Vec<_> = (0..count).map(|one| format!("{net}{one:x}::1")).collect();
            filled(1000, 10, subnets.into_iter().flat_map(|one| vec![one; 20]))
        };
        let used = |shares: &Shares, text: &str| networks(address(text)).map(|one| shares.of(one));
        assert_eq!(used(&flood("2a00:1:2:", 40), "2a00:1:2:1::"), [10, 160, 160]);
        assert_eq!(used(&flood("2a00:1:", 200), "2a00:1:2::"), [10, 10, 640]);
        assert_eq!(Shares::new(100, 10).max, [10, 50, 75]);
        assert_eq!(Shares::new(3, 1000).max, [1000; 3]);
    }

    #[test]
    fn networks_of_ipv4_have_shares_of_32_24_and_16_bits() {
        let flood = |net: &str, count: u32| {
            let addresses: Vec<_> = (0..count).map(|one| format!("{net}{one}")).collect();
            filled(1000, 10, addresses.into_iter().flat_map(|one| vec![one; 20]))
        };
        let used = |shares: &Shares, text: &str| networks(address(text)).map(|one| shares.of(one));
        assert_eq!(used(&flood("9.9.9.", 50), "::ffff:9.9.9.7"), [10, 160, 160]);
        let hosts = (0..50).flat_map(|net| (0..2).map(move |host| format!("9.9.{net}.{host}")));
        let of_a_provider = filled(1000, 10, hosts.flat_map(|one| vec![one; 20]));
        assert_eq!(used(&of_a_provider, "9.9.7.0"), [10, 20, 640]);
    }

    #[test]
    fn the_greater_network_yields() {
        let mut shares = Shares::new(100, 100);
        for one in ["2a00:1::1", "2a00:1::2", "2a00:2::1", "2a00:1:1::1"] {
            shares.add(address(one));
        }
        let yields = |held: &str, new: &str| shares.yields(address(held), address(new));
        assert!(yields("2a00:1::1", "9.9.9.9"), "three of a /32 and none of a /16");
        assert!(yields("2a00:1::1", "2a00:2::2"), "three and one");
        assert!(!yields("2a00:2::1", "2a00:1::1"), "one and three");
        assert!(!yields("2a00:1::1", "2a00:1:1::2"), "of the same /32, two and one");
        assert!(!yields("2a00:1::1", "2a00:1::9"), "the same network");
    }
}
