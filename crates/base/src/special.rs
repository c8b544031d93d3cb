//! IP addresses that are not those of hosts of the public Internet, and the rule that every tool
//! follows which lets somebody else send through its host.
//!
//! The blocks are those of the IANA special-purpose address registries (RFC 6890), and multicast.
//!
//! ```
//! use windlass_base::special::{self, Kind, Prefix};
//!
//! let address = |text: &str| text.parse().expect("an address");
//! assert_eq!(special::block_of(address("192.168.1.7")).map(|block| block.kind), Some(Kind::Private));
//! assert_eq!(special::block_of(address("9.9.9.9")), None);
//!
//! // All of IPv4 names no private address. The network itself does.
//! let all = Prefix::new(address("0.0.0.0"), 0).expect("a length");
//! let home = Prefix::new(address("192.168.0.0"), 16).expect("a length");
//! assert!(!special::is_named(address("192.168.1.7"), false, &[all]));
//! assert!(special::is_named(address("192.168.1.7"), false, &[all, home]));
//! ```

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    len: u8,
}

impl Prefix {
    /// The addresses whose first `len` bits are those of `address`. `None` if it has fewer bits.
    pub fn new(address: IpAddr, len: u8) -> Option<Prefix> {
        (len <= bits_of(address)).then_some(Prefix { address, len })
    }

    /// One address.
    pub fn host(address: IpAddr) -> Prefix {
        Prefix { address, len: bits_of(address) }
    }

    /// Whether the address begins with these bits.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differ = own.to_bits() ^ other.to_bits();
                differ.checked_shr(32 - u32::from(self.len)).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differ = own.to_bits() ^ other.to_bits();
                differ.checked_shr(128 - u32::from(self.len)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }

    /// Whether each address of `other` is one of these.
    pub fn covers(&self, other: &Prefix) -> bool {
        self.len <= other.len && self.contains(other.address)
    }
}

fn bits_of(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The reason why a block is special.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Networks of one's own: RFC 1918, RFC 4193, RFC 6598.
    Private,
    /// Examples in documents (RFC 5737, RFC 3849, RFC 9637). No network of the Internet has them;
    /// networks that imitate the Internet do.
    Documentation,
    /// An address of no single host: unspecified, multicast, broadcast, reserved.
    NoHost,
    /// The host itself, or its link: another host for each that reads it.
    Local,
    /// Its provider, a laboratory, or another address in disguise.
    Other,
}

/// A block of special addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its addresses.
    pub prefix: Prefix,
    /// The reason.
    pub kind: Kind,
}

const fn v4(octets: [u8; 4], len: u8, kind: Kind) -> Block {
    let [a, b, c, d] = octets;
    Block { prefix: Prefix { address: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), len }, kind }
}

const fn v6(begin: [u16; 4], len: u8, kind: Kind) -> Block {
    let [a, b, c, d] = begin;
    let address = IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0));
    Block { prefix: Prefix { address, len }, kind }
}

/// Special blocks of IPv4.
const IPV4: [Block; 15] = [
    // This network (RFC 791).
    v4([0, 0, 0, 0], 8, Kind::NoHost),
    v4([10, 0, 0, 0], 8, Kind::Private),
    // Between providers and their customers (RFC 6598).
    v4([100, 64, 0, 0], 10, Kind::Private),
    v4([127, 0, 0, 0], 8, Kind::Local),
    v4([169, 254, 0, 0], 16, Kind::Local),
    v4([172, 16, 0, 0], 12, Kind::Private),
    // Protocols of the IETF (RFC 6890), such as DS-Lite (RFC 7335).
    v4([192, 0, 0, 0], 24, Kind::Other),
    v4([192, 0, 2, 0], 24, Kind::Documentation),
    // Relays of 6to4 (RFC 7526).
    v4([192, 88, 99, 0], 24, Kind::Other),
    v4([192, 168, 0, 0], 16, Kind::Private),
    // Measurements (RFC 2544).
    v4([198, 18, 0, 0], 15, Kind::Other),
    v4([198, 51, 100, 0], 24, Kind::Documentation),
    v4([203, 0, 113, 0], 24, Kind::Documentation),
    v4([224, 0, 0, 0], 4, Kind::NoHost),
    // Reserved (RFC 1112), and limited broadcast (RFC 919).
    v4([240, 0, 0, 0], 4, Kind::NoHost),
];

/// Special blocks of IPv6. Those with IPv4 addresses inside are special whatever these are; of mapped
/// addresses and of NAT64's own prefix, only the IPv4 address counts ([`meant`]).
const IPV6: [Block; 13] = [
    v6([0, 0, 0, 0], 128, Kind::NoHost),
    // Loopback, and IPv4 addresses inside (RFC 4291, RFC 2765).
    v6([0, 0, 0, 0], 64, Kind::Local),
    // NAT64 of one network (RFC 8215): the place of the IPv4 address is not known.
    v6([0x64, 0xff9b, 1, 0], 48, Kind::Other),
    // Discarded (RFC 6666), and dummy (RFC 9780).
    v6([0x100, 0, 0, 0], 63, Kind::Other),
    // Protocols of the IETF (RFC 2928): Teredo (RFC 4380), measurements (RFC 5180), ORCHID (RFC 7343).
    v6([0x2001, 0, 0, 0], 23, Kind::Other),
    v6([0x2001, 0xdb8, 0, 0], 32, Kind::Documentation),
    // 6to4 (RFC 3056).
    v6([0x2002, 0, 0, 0], 16, Kind::Other),
    v6([0x3fff, 0, 0, 0], 20, Kind::Documentation),
    // Segment routing (RFC 9602).
    v6([0x5f00, 0, 0, 0], 16, Kind::Other),
    v6([0xfc00, 0, 0, 0], 7, Kind::Private),
    v6([0xfe80, 0, 0, 0], 10, Kind::Local),
    // Site-local (RFC 3879).
    v6([0xfec0, 0, 0, 0], 10, Kind::Other),
    v6([0xff00, 0, 0, 0], 8, Kind::NoHost),
];

/// NAT64 (RFC 6052).
const NAT64: u128 = 0x64_ff9b << 96;

/// The address that packets to `address` are for: of an IPv4-mapped address and of one for NAT64
/// (RFC 6052) the IPv4 address inside, else `address` itself.
pub fn meant(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(ip) if ip.to_bits() >> 32 == NAT64 >> 32 => {
            Ipv4Addr::from_bits(ip.to_bits() as u32).into()
        }
        canonical => canonical,
    }
}

/// The special block of the address that is [`meant`]. `None`: it is a host's of the public Internet.
pub fn block_of(address: IpAddr) -> Option<Block> {
    let address = meant(address);
    let blocks: &[Block] = if address.is_ipv4() { &IPV4 } else { &IPV6 };
    blocks.iter().find(|block| block.prefix.contains(address)).copied()
}

/// Whether the address that is [`meant`] belongs to no single host: unspecified, multicast, broadcast or
/// reserved.
pub fn is_no_hosts(address: IpAddr) -> bool {
    block_of(address).is_some_and(|block| block.kind == Kind::NoHost)
}

/// Whether the address can be that of another host at all, near or far: it is one host's, and the same
/// one's for everybody who can reach it.
pub fn can_be_peer(address: IpAddr) -> bool {
    let kind = block_of(address).map(|block| block.kind);
    !matches!(kind, Some(Kind::NoHost | Kind::Local))
}

/// Whether a user who named these networks for others to reach meant this address too: one of them
/// contains it, and lies within its special block, if it has one. A network that only happens to
/// cover a special block does not name it. A public address of the host itself (`is_own`) must be
/// named alone: its services expect a firewall before them.
pub fn is_named<'a>(
    address: IpAddr,
    is_own: bool,
    networks: impl IntoIterator<Item = &'a Prefix>,
) -> bool {
    let meant = meant(address);
    let own = is_own.then(|| Prefix::host(meant));
    let within = block_of(meant).map(|block| block.prefix).or(own);
    networks.into_iter().any(|network| {
        let contains = network.contains(meant) || network.contains(address);
        contains && within.is_none_or(|within| within.covers(network))
    })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn prefix(text: &str) -> Prefix {
        let (address, len) = text.split_once('/').expect("a network");
        Prefix::new(ip(address), len.parse().expect("a number")).expect("a length")
    }

    fn kind(text: &str) -> Option<Kind> {
        block_of(ip(text)).map(|block| block.kind)
    }

    /// The first and the last address of each block, and their neighbours.
    #[test]
    fn blocks_of_ipv4_end_where_the_registry_says() {
        for (before, first, last, after) in [
            ("", "0.0.0.0", "0.255.255.255", "1.0.0.0"),
            ("9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"),
            ("100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"),
            ("126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"),
            ("169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"),
            ("172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"),
            ("191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"),
            ("192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"),
            ("192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"),
            ("192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"),
            ("198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"),
            ("198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"),
            ("203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"),
            ("223.255.255.255", "224.0.0.0", "255.255.255.255", ""),
        ] {
            for inside in [first, last] {
                assert!(kind(inside).is_some(), "{inside}");
            }
            for outside in [before, after].iter().filter(|text| !text.is_empty()) {
                assert_eq!(kind(outside), None, "{outside}");
            }
        }
    }

    #[test]
    fn blocks_of_ipv6_are_those_of_the_registry() {
        for special in [
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b:1::8.8.8.8",
            "100::1",
            "100:0:0:1::1",
            "2001::1",
            "2001:1::2",
            "2001:2::1",
            "2001:10::1",
            "2001:2f::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:808:808::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(kind(special).is_some(), "{special}");
        }
        for public in ["2001:200::1", "2001:4860:4860::8888", "2620:fe::fe", "2a00::1", "2003::1"] {
            assert_eq!(kind(public), None, "{public}");
        }
    }

    /// RFC 6052, section 3.1: NAT64's prefix stands for no address that is not global.
    #[test]
    fn an_ipv4_address_inside_counts() {
        for special in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "240.0.0.1", "0.0.0.0"] {
            for around in ["::ffff:", "64:ff9b::"] {
                let text: std::string::String = [around, special].concat();
                assert_eq!(kind(&text), kind(special), "{text}");
            }
        }
        assert_eq!(kind("64:ff9b::9.9.9.9"), None);
        assert_eq!(kind("::ffff:9.9.9.9"), None);
        assert_eq!(meant(ip("64:ff9b::9.9.9.9")), ip("9.9.9.9"));
    }

    #[test]
    fn no_peer_is_many_hosts_or_this_one() {
        for none in [
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "224.0.0.251",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:224.0.0.1",
            "64:ff9b::127.0.0.1",
            "fe80::1",
            "ff02::1",
        ] {
            assert!(!can_be_peer(ip(none)), "{none}");
        }
        for peer in [
            "9.9.9.9",
            "10.0.0.1",
            "100.64.0.1",
            "192.168.1.1",
            "198.18.0.1",
            "203.0.113.1",
            "64:ff9b::9.9.9.9",
            "2001:db8::1",
            "2002:808:808::1",
            "2a00::1",
            "fd00::1",
        ] {
            assert!(can_be_peer(ip(peer)), "{peer}");
        }
    }

    #[test]
    fn a_special_address_is_named_by_a_network_within_its_block() {
        let named = |networks: &[&str], address: &str| {
            let networks: Vec<_> = networks.iter().map(|text| prefix(text)).collect();
            is_named(ip(address), false, &networks)
        };
        assert!(named(&["192.168.1.0/24"], "192.168.1.7"));
        assert!(named(&["192.168.1.0/24"], "::ffff:192.168.1.7"));
        assert!(!named(&["192.168.1.0/24"], "192.168.2.7"));
        assert!(!named(&["10.0.0.0/7"], "10.0.0.1") && named(&["10.0.0.0/7"], "11.0.0.1"));
        assert!(!named(&["0.0.0.0/1", "128.0.0.0/1"], "127.0.0.1"));
        assert!(named(&["::/0"], "64:ff9b::9.9.9.9") && named(&["0.0.0.0/0"], "64:ff9b::9.9.9.9"));
        assert!(!named(&["::/0", "0.0.0.0/0"], "64:ff9b::127.0.0.1"));
        assert!(named(&["2002::/16"], "2002:7f00:1::1") && !named(&["2000::/3"], "2002:7f00:1::1"));
    }

    #[test]
    fn a_public_address_of_the_host_itself_is_named_alone() {
        let own = |network: &str, address| is_named(ip(address), true, &[prefix(network)]);
        assert!(!own("0.0.0.0/0", "9.9.9.9") && !own("9.9.9.0/24", "9.9.9.9"));
        assert!(own("9.9.9.9/32", "9.9.9.9") && !own("9.9.9.9/32", "9.9.9.8"));
        assert!(!own("::/0", "64:ff9b::9.9.9.9") && own("9.9.9.9/32", "64:ff9b::9.9.9.9"));
        assert!(own("192.168.1.0/24", "192.168.1.1"), "a private network is named");
    }

    #[test]
    fn a_prefix_has_no_more_bits_than_its_address() {
        assert!(Prefix::new(ip("1.2.3.4"), 33).is_none());
        assert!(Prefix::new(ip("::"), 129).is_none());
        assert!(
            prefix("1.2.3.4/0").contains(ip("9.9.9.9")) && prefix("::/0").contains(ip("ff::1"))
        );
        assert!(!prefix("0.0.0.0/0").contains(ip("::1")));
    }
}
