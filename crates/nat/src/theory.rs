//! Which hosts can reach each other directly: the theory that the tests of NAT traversal compare
//! with. docs/internals/nat-traversal.md derives the rules.

use crate::Dependence;

/// Protocols that a host's network lets out, with the behaviour of the NAT for UDP.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// UDP passes, with this mapping and filtering. A public host is endpoint-independent in both;
    /// a stateful firewall has an endpoint-independent mapping: the identity. Behind a
    /// carrier's NAT with an endpoint-independent mapping, the strictest of both counts.
    Udp {
        /// How external endpoints depend on the remote one.
        mapping: Dependence,
        /// How the filter depends on the remote endpoint.
        filtering: Dependence,
    },
    /// Only TCP passes, to port 443.
    Tcp443,
    /// Nothing passes.
    Nothing,
}

/// Best path that a pair of hosts can have.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Datagrams from one to the other, without a relay.
    Direct,
    /// Datagrams by a relay only.
    Relayed,
    /// Nothing: one of them does not even reach the rendezvous.
    Impossible,
}

/// The best path between two hosts that send from one socket each, learn each other's external
/// endpoint from a rendezvous, and have a relay that takes UDP, and TCP at port 443. They are not
/// behind the same NAT, and guess no ports.
pub fn outcome(a: Access, b: Access) -> Outcome {
    match (a, b) {
        (Access::Nothing, _) | (_, Access::Nothing) => Outcome::Impossible,
        (Access::Tcp443, _) | (_, Access::Tcp443) => Outcome::Relayed,
        (
            Access::Udp { mapping: mapping_a, filtering: filtering_a },
            Access::Udp { mapping: mapping_b, filtering: filtering_b },
        ) => {
            let (a, b) = ((mapping_a, filtering_a), (mapping_b, filtering_b));
            if can_be_direct(a, b) { Outcome::Direct } else { Outcome::Relayed }
        }
    }
}

/// The best path between two hosts behind the same NAT, if it passes all their packets to each
/// other.
pub fn outcome_behind_one(access: Access, hairpin: bool) -> Outcome {
    match (access, hairpin) {
        (Access::Udp { .. }, false) => Outcome::Relayed,
        _ => outcome(access, access),
    }
}

type Behavior = (Dependence, Dependence);

/// Whether two external endpoints exist at which both mappings and both filters agree.
fn can_be_direct(a: Behavior, b: Behavior) -> bool {
    use Dependence::{Address, AddressAndPort, Independent};
    match (a.0, b.0) {
        // Each sends to the endpoint that the other one really uses.
        (Independent, Independent) => true,
        // The dependent side comes from an endpoint that the other one does not know beforehand.
        (Independent, _) => a.1 != AddressAndPort,
        (_, Independent) => b.1 != AddressAndPort,
        // Neither knows where the other one comes from. One must take packets from anywhere, so that
        // it learns that; its answer comes from an endpoint that the other does not know either, of
        // a known address. They agree at last if one of them keeps its endpoint from there on.
        _ => {
            let one_is_open = a.1 == Independent || b.1 == Independent;
            let none_is_strict = a.1 != AddressAndPort && b.1 != AddressAndPort;
            one_is_open && none_is_strict && (a.0 == Address || b.0 == Address)
        }
    }
}
