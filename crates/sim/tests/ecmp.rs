//! Equal-cost multi-path in the networks of data centres.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use windlass_base::Time;
use windlass_sim::model::{LinkDirection, NodeId, TcpApp};
use windlass_sim::packet::{Address, Packet};
use windlass_sim::{Middlebox, Recorder, Scenario, Simulation, run};

/// Transfers of two segments from every host to the one that it faces.
fn scenario(topology: &str, flows_each: u32) -> Scenario {
    let text = format!(
        "schema = 2\nname = \"fabric\"\nduration = \"2s\"\nuntil_done = true\n\
         flows = [{{ from = \"each\", count = {flows_each}, start_step = \"10us\", \
         app = {{ kind = \"transfer\", size = \"2kB\" }} }}]\n{topology}\n\
         access = {{ rate = \"10Gbit/s\", delay = \"2us\" }}\n\
         fabric = {{ rate = \"40Gbit/s\", delay = \"2us\" }}\n"
    );
    windlass_scenario::from_toml("fabric.toml", &text, &[]).expect("a scenario").scenario
}

fn leaf_spine(flows_each: u32) -> Scenario {
    scenario("[leaf_spine]\nleaves = 8\nspines = 4\nhosts_per_leaf = 16", flows_each)
}

/// The upward links that packets take: those from `a` to `b`.
#[derive(Default)]
struct Upward(Vec<(usize, Packet)>);

impl Recorder for Upward {
    fn wants_packets(&self) -> bool {
        true
    }

    fn packet(&mut self, _: Time, direction: LinkDirection, packet: &Packet) {
        if !direction.reverse {
            self.0.push((direction.link, *packet));
        }
    }
}

/// The same hash as the simulator's, written down once more from its description.
fn hash(seed: u64, node: NodeId, packet: &Packet) -> u64 {
    fn split_mix(mut z: u64) -> u64 {
        z = z.wrapping_add(0x9E3779B97F4A7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58476D1CE4E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D049BB133111EB);
        z ^ (z >> 31)
    }
    let end = |Address { node, port }: Address| node as u64 * 65_536 + u64::from(port);
    let mut hash = split_mix(seed);
    for word in [node as u64, end(packet.source), end(packet.destination)] {
        hash = split_mix(hash ^ word);
    }
    hash
}

/// Checks each packet that leaves a switch upwards against the hash. Returns the link that each
/// connection takes in a direction from a switch, by connection, direction and switch.
fn checked_choices(scenario: &Scenario, seed: u64) -> BTreeMap<(u32, bool, NodeId), usize> {
    let mut upward = Upward::default();
    run(scenario, seed, &mut upward).expect("a sound scenario");
    let mut choices = BTreeMap::new();
    for (link, packet) in upward.0 {
        let switch = scenario.links[link].a;
        let is_host = |node: NodeId| scenario.nodes[node].starts_with('h');
        let ups: Vec<usize> = (0..scenario.links.len())
            .filter(|&up| scenario.links[up].a == switch && !is_host(scenario.links[up].b))
            .collect();
        if !ups.contains(&link) {
            continue;
        }
        let number = (u128::from(hash(seed, switch, &packet)) * ups.len() as u128) >> 64;
        assert_eq!(link, ups[number as usize], "{packet:?}");
        choices.insert((packet.connection, packet.reverse, switch), link);
    }
    choices
}

/// The statistic of how far counts are from being equal.
fn chi_square(counts: &BTreeMap<NodeId, u32>) -> f64 {
    let expected = f64::from(counts.values().sum::<u32>()) / counts.len() as f64;
    counts.values().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum()
}

#[test]
fn each_connection_takes_the_spine_that_its_hash_says() {
    let scenario = leaf_spine(16);
    assert_eq!(scenario.flows.len(), 2_048);
    let choices = checked_choices(&scenario, 1);
    assert_eq!(choices.len(), 2 * 2_048, "one leaf each way");
    for reverse in [false, true] {
        let mut shares = BTreeMap::new();
        for ((_, _, _), &link) in choices.iter().filter(|((_, back, _), _)| *back == reverse) {
            *shares.entry(scenario.links[link].b).or_default() += 1;
        }
        // The 0.999 quantile with three degrees of freedom.
        assert!(shares.len() == 4 && chi_square(&shares) < 16.27, "{shares:?}");
    }
    // The way back is chosen by itself: a quarter of 2048 connections has the same spine.
    let spine = |connection, reverse| {
        let mut of = choices.range((connection, reverse, 0)..=(connection, reverse, NodeId::MAX));
        of.next().map(|(_, &link)| scenario.links[link].b)
    };
    let same = (0..2_048).filter(|&it| spine(it, false) == spine(it, true)).count();
    assert!((450..575).contains(&same), "{same}");
}

#[test]
fn a_fat_tree_chooses_at_the_edge_and_at_the_aggregation() {
    let scenario = scenario("[fat_tree]\nk = 8", 8);
    assert_eq!(scenario.flows.len(), 1_024);
    let choices = checked_choices(&scenario, 3);
    assert_eq!(choices.len(), 2 * 2 * 1_024, "an edge and an aggregation switch each way");
    let mut cores = BTreeMap::new();
    for &link in choices.values() {
        let name = &scenario.nodes[scenario.links[link].b];
        if name.starts_with("core") {
            *cores.entry(scenario.links[link].b).or_default() += 1;
        }
    }
    // The 0.999 quantile with 15 degrees of freedom.
    assert!(cores.len() == 16 && chi_square(&cores) < 37.70, "{cores:?}");
}

#[test]
fn a_seed_is_one_choice_and_another_seed_another() {
    let scenario = leaf_spine(2);
    let [first, again, other] = [5, 5, 6].map(|seed| checked_choices(&scenario, seed));
    assert_eq!(first, again);
    let same = first.iter().filter(|(key, link)| other.get(key) == Some(link)).count();
    assert!((80..180).contains(&same), "a quarter of {}: {same}", first.len());
}

#[test]
fn without_multi_path_all_packets_take_the_first_link() {
    let mut scenario = leaf_spine(2);
    scenario.ecmp = false;
    let mut upward = Upward::default();
    run(&scenario, 1, &mut upward).expect("a sound scenario");
    let spines: BTreeSet<&str> = upward
        .0
        .iter()
        .map(|(link, _)| scenario.links[*link].b)
        .map(|node| scenario.nodes[node].as_str())
        .filter(|name| name.starts_with("spine"))
        .collect();
    assert_eq!(spines, BTreeSet::from(["spine1"]));
}

/// Counts the packets that pass.
struct Counter(Rc<Cell<u64>>);

impl Middlebox for Counter {
    fn handle_packet(&mut self, _: Time, packet: Packet, out: &mut Vec<Packet>) {
        self.0.set(self.0.get() + 1);
        out.push(packet);
    }
}

/// A packet that passes a middlebox goes on on its connection's path.
#[test]
fn middleboxes_leave_packets_on_their_paths() {
    let scenario = leaf_spine(2);
    let plain = run(&scenario, 1, &mut ()).expect("a sound scenario");
    for node in ["leaf2", "spine3", "h17"] {
        let seen = Rc::new(Cell::new(0));
        let mut simulation = Simulation::new(&scenario, 1).expect("a sound scenario");
        let number = scenario.node(node).expect("its name");
        simulation.add_middlebox(number, Counter(Rc::clone(&seen)));
        let summary = simulation.run(&mut ());
        assert!(seen.get() > 10, "{node}: {}", seen.get());
        let arrived = |summary: &windlass_sim::Summary| -> Vec<u64> {
            summary.queues.iter().map(|queue| queue.arrived).collect()
        };
        assert_eq!(arrived(&summary), arrived(&plain), "{node}");
        assert_eq!(summary.delivered_segments, plain.delivered_segments);
    }
}

fn incast() -> Scenario {
    let text = r#"
schema = 2
name = "incast"
duration = "1s"
until_done = true
flows = [{ from = "each", to = "h1", app = { kind = "transfer", size = "64kB" } }]
[leaf_spine]
leaves = 5
spines = 4
hosts_per_leaf = 13
access = { rate = "10Gbit/s", delay = "2us", queue = { kind = "droptail", limit = "10000 packets" } }
fabric = { rate = "40Gbit/s", delay = "2us", queue = { kind = "droptail", limit = "10000 packets" } }
"#;
    windlass_scenario::from_toml("incast.toml", text, &[]).expect("a scenario").scenario
}

/// 64 hosts send 64 kB each to one. Its link, with room for all that comes, is busy from the first
/// segment to the last.
#[test]
fn an_incast_takes_the_time_of_its_bytes_on_the_receivers_link() {
    let scenario = incast();
    assert_eq!(scenario.flows.len(), 64);
    let summary = run(&scenario, 1, &mut ()).expect("a sound scenario");
    assert_eq!(summary.drops, 0);
    let transfers = summary.flows.iter().flat_map(|flow| &flow.transfers);
    let last = transfers.flat_map(|transfers| &transfers.completion_s).fold(0.0, |a, b| b.max(a));
    // 45 segments with 52 bytes of headers, at 10 Gbit/s.
    let expected = 64.0 * (64_000.0 + 45.0 * 52.0) * 8.0 / 10e9;
    assert!((last / expected - 1.0).abs() < 0.02, "{last} s, not {expected} s");
}

/// A middlebox on any node turns early delivery off.
#[test]
fn early_delivery_changes_nothing_but_the_number_of_events() {
    let mut scenario = incast();
    scenario.duration = windlass_base::Span::from_millis(4);
    // A sender that has closed gets no packet early.
    scenario.flows.iter_mut().for_each(|flow| flow.app = TcpApp::Bulk);
    let early = run(&scenario, 1, &mut ()).expect("a sound scenario");
    let mut simulation = Simulation::new(&scenario, 1).expect("a sound scenario");
    simulation.add_middlebox(scenario.node("h9").expect("its name"), Counter(Rc::default()));
    let mut late = simulation.run(&mut ());
    assert!(early.events < late.events, "{} and {} events", early.events, late.events);
    late.events = early.events;
    assert_eq!(early, late);
}
