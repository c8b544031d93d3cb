//! Which destinations peers may reach through this host.

use ipnet::IpNet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Blocks of addresses that are not part of the public Internet, or that mean another address:
/// the IANA special-purpose registries (RFC 6890), and multicast. The last ones embed IPv4 addresses
/// (RFC 6052, RFC 8215, RFC 3056, RFC 4380), which could be any of the others.
const SPECIAL: [&str; 32] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "::/96",
    "::ffff:0:0/96",
    "100::/64",
    "100:0:0:1::/64",
    "2001:2::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:db8::/32",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "2001::/32",
];
/// 6to4 (RFC 3056).
const SIX_TO_FOUR: &str = "2002::/16";

/// Destinations that peers may reach through this host. By default none.
///
/// A special address (loopback, private, link-local, multicast and the like) can be reached only
/// through a network that lies in the same special block: `0.0.0.0/0` is the public Internet only,
/// `192.168.1.0/24` is that network.
#[derive(Clone, Debug, Default)]
pub struct ExitPolicy {
    networks: Vec<IpNet>,
    special: Vec<IpNet>,
}

/// What a user may write for networks: a CIDR, an address, or `internet`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitNetworks {
    /// All public addresses, IPv4 and IPv6.
    Internet,
    /// The addresses of one network.
    One(IpNet),
}

/// A text names no networks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseExitError(String);

impl fmt::Display for ParseExitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: expected a network such as 192.168.1.0/24, or internet", self.0)
    }
}

impl std::error::Error for ParseExitError {}

impl FromStr for ExitNetworks {
    type Err = ParseExitError;

    fn from_str(text: &str) -> Result<ExitNetworks, ParseExitError> {
        if text == "internet" {
            return Ok(ExitNetworks::Internet);
        }
        let network = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        let network = network.map_err(|_| ParseExitError(text.to_owned()))?;
        Ok(ExitNetworks::One(network.trunc()))
    }
}

impl fmt::Display for ExitNetworks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExitNetworks::Internet => f.write_str("internet"),
            ExitNetworks::One(network) => network.fmt(f),
        }
    }
}

impl ExitPolicy {
    /// The destinations of these networks.
    pub fn new(networks: impl IntoIterator<Item = ExitNetworks>) -> ExitPolicy {
        let parse = |text: &str| text.parse::<IpNet>().ok();
        let all = ["0.0.0.0/0", "::/0"];
        let networks = networks.into_iter().flat_map(|one| match one {
            ExitNetworks::Internet => all.iter().filter_map(|text| parse(text)).collect(),
            ExitNetworks::One(network) => vec![network],
        });
        let special = SPECIAL.iter().chain([&SIX_TO_FOUR]).filter_map(|text| parse(text));
        ExitPolicy { networks: networks.collect(), special: special.collect() }
    }

    /// Whether any destination can be reached.
    pub fn is_empty(&self) -> bool {
        self.networks.is_empty()
    }

    /// Whether peers may reach this address.
    pub fn allows(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let block = self.special.iter().find(|block| block.contains(&address));
        self.networks.iter().any(|network| {
            network.contains(&address) && block.is_none_or(|block| block.contains(network))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(networks: &[&str], address: &str) -> bool {
        let networks = networks.iter().map(|text| text.parse().expect("networks"));
        ExitPolicy::new(networks).allows(address.parse().expect("an address"))
    }

    #[test]
    fn every_special_block_is_read() {
        assert_eq!(ExitPolicy::new([]).special.len(), SPECIAL.len() + 1);
    }

    #[test]
    fn nothing_is_reached_by_default() {
        assert!(!allows(&[], "192.0.9.1"));
        assert!(ExitPolicy::new([]).is_empty());
    }

    #[test]
    fn the_internet_has_public_addresses_only() {
        for all in [&["internet"][..], &["0.0.0.0/0", "::/0"]] {
            assert!(allows(all, "9.9.9.9") && allows(all, "2620:fe::fe"));
            for special in [
                "127.0.0.1",
                "10.1.2.3",
                "192.168.1.1",
                "172.31.0.1",
                "169.254.169.254",
                "0.0.0.0",
                "100.64.0.1",
                "224.0.0.1",
                "255.255.255.255",
                "::1",
                "::",
                "fe80::1",
                "fd00::1",
                "ff02::1",
                "::ffff:127.0.0.1",
                "::127.0.0.1",
                "64:ff9b::7f00:1",
                "2002:7f00:1::",
            ] {
                assert!(!allows(all, special), "{special}");
            }
        }
    }

    #[test]
    fn a_special_network_is_reached_if_it_is_named() {
        assert!(allows(&["192.168.1.0/24"], "192.168.1.7"));
        assert!(allows(&["192.168.1.0/24"], "::ffff:192.168.1.7"));
        assert!(!allows(&["192.168.1.0/24"], "192.168.2.7"));
        assert!(allows(&["127.0.0.1"], "127.0.0.1"));
        assert!(!allows(&["127.0.0.1"], "127.0.0.2"));
        assert!(allows(&["fd00::/8"], "fd00::1"));
        // A network that only happens to cover a special block does not name it.
        assert!(!allows(&["10.0.0.0/7"], "10.0.0.1"));
        assert!(allows(&["10.0.0.0/7"], "11.0.0.1"));
        assert!(!allows(&["0.0.0.0/1", "128.0.0.0/1"], "127.0.0.1"));
    }

    #[test]
    fn other_words_are_refused() {
        let error = "intranet".parse::<ExitNetworks>().expect_err("no network");
        assert!(error.to_string().contains("\"intranet\": expected a network such as"));
        assert_eq!(
            "10.1.2.3/8".parse::<ExitNetworks>().expect("a network").to_string(),
            "10.0.0.0/8"
        );
    }
}
