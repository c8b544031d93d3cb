//! The list of addresses that must not be probed.

use super::hosts;
use ipnet::IpNet;
use std::net::IpAddr;
use windlass_base::address::parse_network;
use windlass_base::special;

/// Addresses that are not to be probed.
#[derive(Clone, Debug, Default)]
pub struct Exclusions {
    /// Sorted, without nested networks.
    networks: Vec<IpNet>,
}

impl Exclusions {
    /// Reads a list with a network (CIDR) or an address per line, as [`parse_network`] reads them. Text
    /// after a blank, `#` or `;` is a comment.
    ///
    /// # Errors
    ///
    /// The error names the number of the invalid line and quotes its beginning.
    pub fn parse(text: &str) -> Result<Exclusions, String> {
        let mut networks = Vec::new();
        for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = line.split(['#', ';']).next().unwrap_or_default();
            let Some((word, comment)) = hosts::word_and_comment(line) else { continue };
            let wrong = |why: String| format!("line {}: {why}", index + 1);
            networks.push(parse_network(word).map_err(|why| wrong(why.to_string()))?);
            hosts::check_comment(comment).map_err(wrong)?;
        }
        let mut networks = IpNet::aggregate(&networks);
        networks.sort_unstable();
        Ok(Exclusions { networks })
    }

    /// The number of networks, adjacent ones merged.
    pub fn len(&self) -> usize {
        self.networks.len()
    }

    /// Whether the list has no network.
    pub fn is_empty(&self) -> bool {
        self.networks.is_empty()
    }

    /// Whether the address must not be probed: it is on the list, or belongs to no single host, or leads to
    /// such an IPv4 address through a translator ([`special::meant`]).
    pub fn contains(&self, address: IpAddr) -> bool {
        let meant = special::meant(address);
        let address = address.to_canonical();
        if meant != address && self.contains(meant) {
            return true;
        }
        let after = self.networks.partition_point(|network| network.network() <= address);
        let before = after.checked_sub(1).and_then(|index| self.networks.get(index));
        special::is_no_hosts(address) || before.is_some_and(|network| network.contains(&address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn networks_and_addresses_of_both_families_are_left_alone() {
        let list = "# ours\n192.0.2.0/24 a comment\n\n198.51.100.7;SBL1\r\n2001:db8:1::/48\n192.0.3.0/24\n";
        let list = Exclusions::parse(list).expect("a list");
        for inside in ["192.0.2.0", "192.0.3.255", "198.51.100.7", "2001:db8:1::5"] {
            assert!(list.contains(ip(inside)), "{inside}");
        }
        for outside in ["192.0.4.0", "192.0.1.255", "198.51.100.8", "2001:db8:2::"] {
            assert!(!list.contains(ip(outside)), "{outside}");
        }
        assert!(list.contains(ip("::ffff:192.0.2.9")), "IPv4 in IPv6's clothes");
        assert!(list.contains(ip("64:ff9b::192.0.2.9")), "through a translator (RFC 6052)");
    }

    #[test]
    fn a_mapped_exclusion_holds_for_the_ipv4_address() {
        for line in ["::ffff:10.0.0.7", "::ffff:10.0.0.0/104", "10.0.0.7/8", "::ffff:a00:7/128"] {
            let list = Exclusions::parse(line).expect("a list");
            assert!(
                list.contains(ip("10.0.0.7")) && list.contains(ip("::ffff:10.0.0.7")),
                "{line}"
            );
        }
    }

    #[test]
    fn what_two_programs_may_read_differently_is_refused_with_its_line() {
        for line in [
            "010.0.0.0/8",
            "010.0.0.7",
            "10.1",
            "0x0a000007",
            "167772167",
            "fe80::1%lo",
            "10.0.0.0/08",
        ] {
            let error = Exclusions::parse(&format!("# list\n{line} x\n")).expect_err("refused");
            assert!(error.starts_with(&format!("line 2: {line:?}")), "{error}");
        }
    }

    /// An exclusion that holds for one address where its author meant a network would let packets through.
    #[test]
    fn the_rest_of_a_network_is_no_comment() {
        for line in [
            "10.0.0.0 /8",
            "10.0.0.0 - 10.0.0.255",
            "10.0.0.0 -10.0.0.255",
            "10.0.0.0 \u{2013} 10.0.0.255",
            "10.0.0.0 10.0.0.255",
            "10.0.0.0 255.0.0.0",
            "10.0.0.0\t, 11.0.0.0",
            "10.0.0.0 2001:db8::/32",
            "10.0.0.0 to 10.0.0.255",
            "10.0.0.0 010.0.0.1",
        ] {
            let error = Exclusions::parse(&format!("# list\n{line}\n")).expect_err(line);
            assert!(error.starts_with("line 2: ") && error.contains("comment"), "{error}");
        }
        for line in [
            "10.0.0.0/8 2026-11-28 asked by 10 people",
            "10.0.0.0/8 # - 10.0.0.1",
            "10.0.0.0/8 a.b",
        ] {
            assert!(Exclusions::parse(line).is_ok(), "{line}");
        }
    }

    #[test]
    fn addresses_of_no_host_are_always_excluded() {
        let none = Exclusions::default();
        for address in [
            "0.0.0.0",
            "0.255.0.1",
            "255.255.255.255",
            "224.0.0.1",
            "240.0.0.1",
            "::",
            "ff02::1",
            "::ffff:224.0.0.1",
            "64:ff9b::e000:1",
        ] {
            assert!(none.contains(ip(address)), "{address}");
        }
        // A user may probe networks of one's own, and the host itself.
        for address in ["192.0.2.1", "127.0.0.1", "10.0.0.1", "::1", "fe80::1", "fc00::1"] {
            assert!(!none.contains(ip(address)), "{address}");
        }
        assert!(none.is_empty());
    }

    #[test]
    fn an_error_names_the_invalid_line_by_number() {
        let error = Exclusions::parse("10.0.0.0/8\nexample.org\n").expect_err("a name");
        assert!(error.starts_with("line 2: \"example.org\""), "{error}");
        assert!(Exclusions::parse("10.0.0.0/33").is_err());
    }

    proptest! {
        #[test]
        fn a_list_says_of_every_address_what_its_lines_say_one_by_one(
            networks in prop::collection::vec((any::<u32>(), 4u8..=32), 0..40),
            addresses in prop::collection::vec(any::<u32>(), 1..40),
        ) {
            let nets: Vec<ipnet::Ipv4Net> = networks
                .iter()
                .map(|(bits, len)| ipnet::Ipv4Net::new((*bits).into(), *len).expect("a length"))
                .collect();
            let text: String = nets.iter().map(|net| format!("{net}\n")).collect();
            let list = Exclusions::parse(&text).expect("a list");
            let edges = nets.iter().flat_map(|net| [net.network(), net.broadcast()]);
            for address in addresses.into_iter().map(std::net::Ipv4Addr::from).chain(edges) {
                let one_by_one = nets.iter().any(|net| net.contains(&address));
                let address = IpAddr::from(address);
                prop_assert_eq!(list.contains(address), one_by_one || special::is_no_hosts(address));
            }
        }

        #[test]
        fn any_text_is_a_list_or_an_error(text in "\\PC*[\n#;/.:0-9a-f ]{0,40}") {
            let _ = Exclusions::parse(&text);
        }
    }
}
