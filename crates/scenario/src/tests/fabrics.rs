//! Networks of data centres.

use super::*;
use std::collections::BTreeSet;

fn text(topology: &str) -> String {
    format!(
        r#"schema = 2
name = "fabric"
duration = "1s"
flows = [{{ name = "all", from = "each" }}]
{topology}
access = {{ rate = "10Gbit/s", delay = "2us", back = {{ delay = "3us" }} }}
fabric = {{ rate = "40Gbit/s", delay = "5us", queue = {{ kind = "droptail", limit = "200 packets" }} }}
"#
    )
}

fn leaf_spine() -> String {
    text("[leaf_spine]\nleaves = 3\nspines = 2\nhosts_per_leaf = 4")
}

/// The names of the links, and the ends of the flows.
fn names(scenario: &Scenario) -> (BTreeSet<String>, Vec<(String, String)>) {
    let node = |node: usize| scenario.nodes[node].clone();
    let ends = scenario.flows.iter().map(|flow| (node(flow.from), node(flow.to)));
    (scenario.links.iter().map(|link| link.name.clone()).collect(), ends.collect())
}

#[test]
fn leaves_and_spines_are_linked_and_hosts_face_the_next_leaf() {
    let scenario = scenario(&leaf_spine(), &[]);
    let (links, flows) = names(&scenario);
    assert_eq!(links.len(), 12 + 6);
    for link in ["leaf1-h1", "leaf1-h4", "leaf2-h5", "leaf3-h12", "leaf1-spine1", "leaf3-spine2"] {
        assert!(links.contains(link), "{link}");
    }
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    assert_eq!(flows.len(), 12);
    assert_eq!((&flows[0], &flows[11]), (&pair("h1", "h5"), &pair("h12", "h4")));
    assert!(scenario.ecmp);
    let first = &scenario.links[scenario.bottleneck.link];
    assert_eq!((first.name.as_str(), scenario.bottleneck.reverse), ("leaf1-h1", false));
    assert_eq!(first.forward.delay, windlass_base::Span::from_micros(2), "to the host");
    let named = self::scenario(&leaf_spine(), &["bottleneck=spine2-leaf1", "ecmp=false"]);
    assert_eq!(named.links[named.bottleneck.link].name, "leaf1-spine2");
    assert!(named.bottleneck.reverse && !named.ecmp);
}

#[test]
fn an_incast_comes_from_every_other_host() {
    let scenario = scenario(&leaf_spine(), &["flows.0.to=h1"]);
    let (_, flows) = names(&scenario);
    assert_eq!(flows.len(), 11);
    assert!(flows.iter().all(|(from, to)| from != "h1" && to == "h1"));
}

#[test]
fn a_fat_tree_of_four_ports_has_twenty_switches() {
    let scenario = scenario(&text("[fat_tree]\nk = 4"), &[]);
    let (links, flows) = names(&scenario);
    let switches = scenario.nodes.iter().filter(|name| !name.starts_with('h')).count();
    assert_eq!((scenario.nodes.len() - switches, switches, links.len()), (16, 20, 48));
    // The first switch of each pod leads to the first two cores, the second to the others.
    for link in ["edge1-h1", "edge8-h16", "edge1-agg2", "edge2-agg1", "agg1-core2", "agg8-core4"] {
        assert!(links.contains(link), "{link}");
    }
    for link in ["edge1-agg3", "agg1-core3", "agg8-core1"] {
        assert!(!links.contains(link), "{link}");
    }
    assert_eq!(flows[0], ("h1".to_owned(), "h5".to_owned()), "in the next pod");
    assert!(scenario.ecmp);
    let ports = |node: &str| {
        let node = scenario.node(node).expect("its name");
        scenario.links.iter().filter(|link| link.a == node || link.b == node).count()
    };
    assert_eq!(["edge5", "agg3", "core4", "h9"].map(ports), [4, 4, 4, 1]);
}

#[test]
fn other_topologies_have_one_path_unless_they_ask() {
    assert!(!scenario(GOOD, &[]).ecmp);
    assert!(scenario(GOOD, &["ecmp=true"]).ecmp);
}

#[test]
fn faults_of_data_centres_are_named() {
    let cases = [
        (
            text("[fat_tree]\nk = 5"),
            "x.toml:6:5: fat_tree.k: expected an even number from 2 to 64, found 5",
        ),
        (
            text("[fat_tree]\nk = 100"),
            "x.toml:6:5: fat_tree.k: expected an even number from 2 to 64, found the bare number 100",
        ),
        (
            text("[leaf_spine]\nleaves = 300\nspines = 2\nhosts_per_leaf = 400"),
            "x.toml:6:10: leaf_spine.leaves: expected at most 100000 hosts, and links to spines",
        ),
        (
            text("[leaf_spine]\nleaves = 0\nspines = 2\nhosts_per_leaf = 4"),
            "leaf_spine.leaves: expected a whole number from 1",
        ),
        (
            text("[leaf_spine]\nleaves = 3\nspine = 2\nhosts_per_leaf = 4"),
            "leaf_spine.spine: unknown key; did you mean \"spines\"?",
        ),
        (
            leaf_spine().replace(
                "[leaf",
                "[fat_tree]\nk = 4\naccess.delay = \"1ms\"\nfabric.delay = \"1ms\"\n[leaf",
            ),
            "fat_tree: a second topology: expected one of `dumbbell`, `parking_lot`, `leaf_spine`, \
             `fat_tree` and `links`",
        ),
        (
            leaf_spine().replace("\"each\"", "\"server\""),
            "expected the name of a node (leaf1, leaf2, ... spine2), found \"server\"",
        ),
    ];
    for (text, expected) in cases {
        let message = from_toml("x.toml", &text, &[]).expect_err("a fault").to_string();
        assert!(message.contains(expected), "{message}\n{expected}");
    }
    let alone = ["flows.0.to=s1".to_owned(), "flows.0.from=each".to_owned()];
    let message = from_toml("x.toml", GOOD, &alone).expect_err("a fault").to_string();
    assert!(message.contains("flows.0.to: expected another host than the sender"), "{message}");
}
