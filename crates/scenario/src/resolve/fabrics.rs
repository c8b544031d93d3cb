//! Networks of data centres: leaf and spine, fat tree. Link 0 is that to the first host, the bottleneck of
//! an incast.

use super::builder::{Builder, MAX_HOSTS, Pairs};
use crate::keys::{FatTreeKeys, LeafSpineKeys, PathKeys};
use crate::registry::Context;
use windlass_keys::Located;
use windlass_sim::model::NodeId;

const LEAF_SPINE: [&str; 2] = ["leaf_spine.access", "leaf_spine.fabric"];
const FAT_TREE: [&str; 2] = ["fat_tree.access", "fat_tree.fabric"];

pub(super) fn leaf_spine(
    builder: &mut Builder,
    keys: &LeafSpineKeys,
    context: &mut Context,
) -> Option<Pairs> {
    let [leaves, spines, hosts] =
        [keys.leaves.value, keys.spines, keys.hosts_per_leaf].map(|count| count.0 as usize);
    if leaves.saturating_mul(spines.max(hosts)) > MAX_HOSTS {
        let message = format!("expected at most {MAX_HOSTS} hosts, and links to spines");
        context.wrong_at(&keys.leaves.location, message);
        return None;
    }
    let [access, fabric] = LEAF_SPINE;
    let leaf_nodes = nodes(builder, "leaf", leaves);
    let host_nodes = hosts_at(builder, &leaf_nodes, hosts, &keys.access, access, context);
    let spine_nodes = nodes(builder, "spine", spines);
    for &leaf in &leaf_nodes {
        for &spine in &spine_nodes {
            builder.link(leaf, spine, &keys.fabric, fabric, context);
        }
    }
    Some(facing(&host_nodes, hosts))
}

pub(super) fn fat_tree(
    builder: &mut Builder,
    keys: &FatTreeKeys,
    context: &mut Context,
) -> Option<Pairs> {
    let Located { value: ports, location } = &keys.k;
    let k = usize::from(ports.0);
    if k % 2 == 1 {
        context.wrong_at(location, format!("expected an even number from 2 to 64, found {k}"));
        return None;
    }
    let half = k / 2;
    let [access, fabric] = FAT_TREE;
    let edges = nodes(builder, "edge", k * half);
    let hosts = hosts_at(builder, &edges, half, &keys.access, access, context);
    let aggregations = nodes(builder, "agg", k * half);
    let cores = nodes(builder, "core", half * half);
    for (edges, aggregations) in edges.chunks(half).zip(aggregations.chunks(half)) {
        for &edge in edges {
            for &aggregation in aggregations {
                builder.link(edge, aggregation, &keys.fabric, fabric, context);
            }
        }
        // The switches in one place of each pod share their cores.
        for (&aggregation, cores) in aggregations.iter().zip(cores.chunks(half)) {
            for &core in cores {
                builder.link(aggregation, core, &keys.fabric, fabric, context);
            }
        }
    }
    Some(facing(&hosts, half * half))
}

/// Nodes `name`1, `name`2, ...
fn nodes(builder: &mut Builder, name: &str, count: usize) -> Vec<NodeId> {
    (1..=count).map(|number| builder.node(format!("{name}{number}"))).collect()
}

/// Hosts h1, h2, ..., as many at each of the switches.
fn hosts_at(
    builder: &mut Builder,
    switches: &[NodeId],
    each: usize,
    access: &PathKeys,
    origin: &str,
    context: &mut Context,
) -> Vec<NodeId> {
    let hosts = nodes(builder, "h", switches.len() * each);
    for (&switch, hosts) in switches.iter().zip(hosts.chunks(each)) {
        for &host in hosts {
            builder.link(switch, host, access, origin, context);
        }
    }
    hosts
}

/// Each host faces the one `further` on; the last ones face the first. Without another switch or pod, the
/// next host.
fn facing(hosts: &[NodeId], further: usize) -> Pairs {
    let further = if further == hosts.len() { 1 } else { further };
    let receivers = hosts.iter().cycle().skip(further);
    hosts.iter().copied().zip(receivers.copied()).filter(|(from, to)| from != to).collect()
}
