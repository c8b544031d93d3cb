//! Which destinations peers may reach through this host. `services` asks before it connects.

use ipnet::IpNet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use windlass_base::address::{self, AddressError};
use windlass_base::special::{self, Prefix};
use windlass_rendezvous::own_addresses;

/// Destinations that peers may reach through this host. By default none.
///
/// A special address (loopback, private, link-local, multicast and the like) can be reached only
/// through a network that lies in the same special block: `0.0.0.0/0` is the public Internet only,
/// `192.168.1.0/24` is that network. A public address of this host itself can be reached only if it
/// is named alone.
#[derive(Clone, Debug, Default)]
pub struct ExitPolicy {
    networks: Vec<Prefix>,
}

/// Networks as a user writes them: a CIDR, an address, or `internet`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitNetworks {
    /// All public addresses, IPv4 and IPv6.
    Internet,
    /// The addresses of one network.
    One(IpNet),
}

/// A text names no networks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseExitError {
    text: String,
    why: AddressError,
}

impl fmt::Display for ParseExitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, why) = (&self.text, self.why.why());
        write!(f, "{text:?}: expected a network such as 192.168.1.0/24, or internet; {why}")
    }
}

impl std::error::Error for ParseExitError {}

impl FromStr for ExitNetworks {
    type Err = ParseExitError;

    fn from_str(text: &str) -> Result<ExitNetworks, ParseExitError> {
        if text == "internet" {
            return Ok(ExitNetworks::Internet);
        }
        let network = address::parse_network(text)
            .map_err(|why| ParseExitError { text: text.to_owned(), why })?;
        Ok(ExitNetworks::One(network))
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
        let all = [IpAddr::from([0; 4]), IpAddr::from([0; 16])];
        let networks = networks.into_iter().flat_map(|one| match one {
            ExitNetworks::Internet => all.iter().filter_map(|ip| Prefix::new(*ip, 0)).collect(),
            ExitNetworks::One(network) => {
                Vec::from_iter(Prefix::new(network.addr(), network.prefix_len()))
            }
        });
        ExitPolicy { networks: networks.collect() }
    }

    /// Whether any destination can be reached.
    pub fn is_empty(&self) -> bool {
        self.networks.is_empty()
    }

    /// Whether peers may reach this address.
    pub fn allows(&self, address: IpAddr) -> bool {
        self.allows_beside(address, &own_addresses())
    }

    /// Whether peers may reach this address, if `own` are those of this host.
    fn allows_beside(&self, address: IpAddr, own: &[IpAddr]) -> bool {
        let is_own = own.contains(&special::meant(address));
        special::is_named(address, is_own, &self.networks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn allows(networks: &[&str], address: &str) -> bool {
        let networks = networks.iter().map(|text| text.parse().expect("networks"));
        let policy = ExitPolicy::new(networks);
        policy.allows_beside(address.parse().expect("an address"), &OWN)
    }

    /// This host's addresses.
    const OWN: [IpAddr; 2] =
        [IpAddr::V4(Ipv4Addr::new(9, 9, 9, 10)), IpAddr::V4(Ipv4Addr::new(192, 168, 1, 1))];

    /// Services of this host that a firewall keeps from others do not expect connections from its
    /// own address.
    #[test]
    fn this_hosts_own_public_address_is_reached_only_if_it_is_named() {
        for own in ["9.9.9.10", "::ffff:9.9.9.10", "64:ff9b::9.9.9.10"] {
            assert!(!allows(&["internet"], own) && !allows(&["9.9.9.0/24"], own), "{own}");
            assert!(allows(&["internet", "9.9.9.10"], own), "{own}");
        }
        assert!(allows(&["192.168.1.0/24"], "192.168.1.1"), "its network is named");
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
                "192.0.0.8",
                "198.18.0.1",
                "240.0.0.1",
                "64:ff9b:1::7f00:1",
                "2001:0:7f00:1::",
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
    fn networks_are_read_strictly() {
        for text in ["010.0.0.0/8", "10.1", "0x7f.1", "2130706433", "10.0.0.0/08", "fe80::1%lo"] {
            assert!(text.parse::<ExitNetworks>().is_err(), "{text}");
        }
        let mapped = "::ffff:192.168.1.0/120".parse::<ExitNetworks>().map(|one| one.to_string());
        assert_eq!(mapped.as_deref(), Ok("192.168.1.0/24"));
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
