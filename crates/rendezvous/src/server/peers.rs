//! The peers that a relay sends to.

use std::collections::BTreeSet;
use std::net::IpAddr;

use windlass_base::special::{self, Kind, Prefix};

/// The peers that a relay sends to. Of special addresses (loopback, link-local, multicast, reserved and
/// the like), and of its own ones, only those that [`Config::relay_peers`](super::Config::relay_peers)
/// names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerPolicy {
    /// Public addresses only: the relay does not let hosts into its own network. The addresses for
    /// documentation count as public, since networks that imitate the Internet use them.
    Public,
    /// Private addresses (RFC 1918, RFC 4193, RFC 6598) too.
    PublicAndPrivate,
}

/// The policy of one relay.
pub(super) struct Peers {
    policy: PeerPolicy,
    named: Vec<Prefix>,
    own: BTreeSet<IpAddr>,
}

impl Peers {
    pub(super) fn new(policy: PeerPolicy, named: Vec<Prefix>) -> Peers {
        Peers { policy, named, own: BTreeSet::new() }
    }

    /// The addresses of the relay's host are now these.
    pub(super) fn set_own(&mut self, own: impl IntoIterator<Item = IpAddr>) {
        self.own = own.into_iter().map(special::meant).collect();
    }

    /// Whether the relay sends to this address.
    pub(super) fn admits(&self, peer: IpAddr) -> bool {
        let is_own = self.own.contains(&special::meant(peer));
        let by_policy = match special::block_of(peer).map(|block| block.kind) {
            None | Some(Kind::Documentation) => true,
            Some(Kind::Private) => self.policy == PeerPolicy::PublicAndPrivate,
            Some(_) => false,
        };
        (by_policy && !is_own) || special::is_named(peer, is_own, &self.named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_relay_does_not_lead_into_its_own_network() {
        let public = ["9.9.9.9", "198.51.100.1", "2620:fe::fe", "2001:db8::1", "64:ff9b::9.9.9.9"];
        let private = ["10.0.0.1", "100.64.0.1", "172.31.0.1", "192.168.0.1", "fd00::1"];
        let never = [
            "127.0.0.1",
            "0.0.0.0",
            "169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "198.18.0.1",
            "192.0.0.8",
            "192.88.99.1",
            "::1",
            "::",
            "fe80::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b:1::127.0.0.1",
            "2002:7f00:1::1",
            "2001:0:7f00:1::1",
            "100::1",
            "fec0::1",
        ];
        for (addresses, expected) in
            [(&public[..], [true, true]), (&private, [false, true]), (&never, [false, false])]
        {
            for address in addresses {
                let policies = [PeerPolicy::Public, PeerPolicy::PublicAndPrivate];
                let admitted = policies.map(|one| Peers::new(one, Vec::new()).admits(ip(address)));
                assert_eq!(admitted, expected, "{address}");
            }
        }
    }

    #[test]
    fn special_and_own_addresses_are_reached_if_they_are_named() {
        let named = [("198.18.0.0", 15), ("203.0.113.7", 32), ("10.0.0.0", 8)];
        let named = named.map(|(address, len)| Prefix::new(ip(address), len).expect("a length"));
        let mut peers = Peers::new(PeerPolicy::Public, named.into());
        peers.set_own(["9.9.9.9", "203.0.113.7", "10.0.0.1", "2620:fe::fe"].map(ip));
        for admitted in ["198.18.0.1", "203.0.113.7", "10.0.0.1", "9.9.9.8"] {
            assert!(peers.admits(ip(admitted)), "{admitted}");
        }
        for home in ["9.9.9.9", "2620:fe::fe", "64:ff9b::9.9.9.9"] {
            assert!(!peers.admits(ip(home)), "{home}");
        }
        let mut peers = Peers::new(PeerPolicy::PublicAndPrivate, Vec::new());
        peers.set_own([ip("10.0.0.1")]);
        assert!(peers.admits(ip("10.0.0.2")) && !peers.admits(ip("10.0.0.1")));
    }
}
