//! The keys of the networks of data centres.

use super::topology::PathKeys;
use windlass_keys::{Located, Positive, bounded, keys};

keys! {
    /// Leaves leaf1, leaf2, ..., each with a link to every one of the spines spine1, spine2, ... The
    /// hosts h1, h2, ... are at the leaves in order, and each faces the one in its place at the next leaf.
    struct LeafSpineKeys {
        /// Number of leaves.
        leaves: Located<Positive>,
        /// Number of spines.
        spines: Positive,
        /// Number of hosts at each leaf.
        hosts_per_leaf: Positive,
        /// Each link from a leaf to a host. Forward is to the host.
        access: PathKeys,
        /// Each link from a leaf to a spine. Forward is to the spine.
        fabric: PathKeys,
    }
}

keys! {
    /// A fat tree of switches with k ports: k pods of k/2 edge switches and k/2 aggregation switches,
    /// (k/2)^2 core switches, and k/2 hosts at each edge switch. The names are h1, edge1, agg1 and core1 and
    /// so on; each host faces the one in its place in the next pod.
    struct FatTreeKeys {
        /// Ports of a switch, an even number.
        k: Located<Ports>,
        /// Each link from an edge switch to a host. Forward is to the host.
        access: PathKeys,
        /// Each link between switches. Forward is towards the core.
        fabric: PathKeys,
    }
}

bounded! {
    /// The ports of a switch.
    pub(crate) struct Ports(u16) in 2..=64, "an even number from 2 to 64";
}
