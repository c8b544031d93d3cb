//! Runs in parts give the bytes of one thread.

use std::num::NonZeroUsize;
use windlass_base::{Rng, Span};
use windlass_sim::parts::{OneThread, PartsError, Plan};
use windlass_sim::series::columns::{ColumnSeries, Table};
use windlass_sim::{Scenario, run, run_in_parts};

fn scenario(text: &str) -> Scenario {
    let text = format!("schema = 2\nname = \"parts\"\n{text}");
    windlass_scenario::from_toml("parts.toml", &text, &[]).expect("a scenario").scenario
}

fn plan(scenario: &Scenario, parts: usize) -> Result<Plan, OneThread> {
    Plan::forced(scenario, NonZeroUsize::new(parts).expect("above zero"))
}

/// Summary and series of a run in one thread.
fn whole(scenario: &Scenario, seed: u64) -> (String, Vec<Table>) {
    let mut series = ColumnSeries::in_memory(scenario, true);
    let summary = run(scenario, seed, &mut series).expect("a network");
    (serde_json::to_string(&summary).expect("plain data"), series.into_tables())
}

/// The same in parts.
fn divided(
    scenario: &Scenario,
    seed: u64,
    plan: &Plan,
) -> Result<(String, Vec<Table>), PartsError> {
    let mut series = ColumnSeries::in_memory(scenario, true);
    let summary = run_in_parts(scenario, seed, plan, &mut series)?;
    Ok((serde_json::to_string(&summary).expect("plain data"), series.into_tables()))
}

fn assert_same(scenario: &Scenario, seed: u64, parts: usize) {
    let plan = plan(scenario, parts).expect("a plan");
    assert!(plan.parts() > 1);
    let (expected, tables) = whole(scenario, seed);
    let (found, found_tables) = divided(scenario, seed, &plan).expect("a result");
    assert_eq!(found, expected, "{parts} parts, seed {seed}");
    for (found, expected) in found_tables.iter().zip(&tables) {
        assert_eq!(found.name, expected.name);
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
        for (found, expected) in found.columns.iter().zip(&expected.columns) {
            let equal = found.values.len() == expected.values.len()
                && found.values.iter().zip(&expected.values).all(same);
            assert!(equal, "column {} differs", expected.name);
        }
    }
}

const FABRIC: &str = "
[leaf_spine]
leaves = 4
spines = 2
hosts_per_leaf = 4
access = { rate = \"1Gbit/s\", delay = \"3us\", queue = \"port\" }
fabric = { rate = \"2Gbit/s\", delay = \"5us\", queue = \"port\" }
[queues.port]
kind = \"droptail\"
limit = \"50 packets\"
";

#[test]
fn a_fabric_in_lockstep_is_the_same_in_any_number_of_parts() {
    // All hosts start at once, and many events tie.
    let text = format!(
        "duration = \"20ms\"\nflows = [{{ from = \"each\", controller = \"cubic\" }}]\n{FABRIC}"
    );
    let scenario = scenario(&text);
    for parts in [2, 3, 4] {
        assert_same(&scenario, 1, parts);
    }
}

#[test]
fn a_fabric_with_jitter_is_the_same() {
    let text = format!(
        "duration = \"20ms\"\nflows = [{{ from = \"each\", controller = \"dctcp\", count = 2, ecn = true }}]\n{FABRIC}"
    );
    let mut scenario = scenario(&text);
    scenario.jitter = Span::from_micros(100);
    for seed in 1..4 {
        assert_same(&scenario, seed, 2);
    }
}

/// A random tree of routers with hosts, links of all kinds, and flows of all applications that can be divided.
fn random_scenario(seed: u64) -> Scenario {
    let rng = &mut Rng::new(seed);
    let (routers, hosts) = (rng.between(2, 5), rng.between(4, 10));
    let names = (0..routers).map(|n| format!("r{n}")).chain((0..hosts).map(|n| format!("h{n}")));
    let names: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
    let mut text =
        format!("duration = \"300ms\"\njitter = \"{}us\"\n", [0, 0, 700][rng.below(3) as usize]);
    text += &format!("nodes = [{}]\n", names.join(", "));
    for node in 1..routers {
        let other = rng.below(node);
        text += &link(rng, &format!("r{other}"), &format!("r{node}"));
    }
    for host in 0..hosts {
        let router = rng.below(routers);
        text += &link(rng, &format!("h{host}"), &format!("r{router}"));
    }
    for number in 0..rng.between(2, 12) {
        text += &flow(rng, number, hosts);
    }
    text += "[queues.small]\nkind = \"droptail\"\nlimit = \"20 packets\"\n[queues.marking]\nkind = \"red\"\n\
             min = \"5 packets\"\nmax = \"15 packets\"\nlimit = \"60 packets\"\n";
    scenario(&text)
}

/// Delays and rates of a few values, so that many events tie.
fn link(rng: &mut Rng, a: &str, b: &str) -> String {
    let delay = [0, 1_000, 1_000, 2_000, 5_000, 10_000][rng.below(6) as usize];
    let rate = [10, 20, 100][rng.below(3) as usize];
    let queue = ["small", "small", "marking", "marking", "codel"][rng.below(5) as usize];
    let loss = if rng.chance(0.1) { "loss = 0.01\n" } else { "" };
    format!(
        "[[links]]\na = \"{a}\"\nb = \"{b}\"\nrate = \"{rate}Mbit/s\"\ndelay = \"{delay}us\"\nqueue = \"{queue}\"\n{loss}"
    )
}

fn flow(rng: &mut Rng, number: u64, hosts: u64) -> String {
    let from = rng.below(hosts);
    let to = (from + 1 + rng.below(hosts - 1)) % hosts;
    let ends = format!(
        "name = \"f{number}\"\nfrom = \"h{from}\"\nto = \"h{to}\"\nstart = \"{}ms\"\n",
        rng.below(4) * 5
    );
    if rng.chance(0.2) {
        return format!("[[udp]]\n{ends}rate = \"2Mbit/s\"\npacket_bytes = 700\n");
    }
    let app = match rng.below(6) {
        0 => "app = { kind = \"transfer\", size = \"60kB\" }\n",
        1 => "stop = \"100ms\"\n",
        _ => "",
    };
    let controller = ["cubic", "reno", "new-ecn", "bbr3"][rng.below(4) as usize];
    let ecn = rng.chance(0.5);
    format!("[[flows]]\n{ends}controller = \"{controller}\"\necn = {ecn}\n{app}")
}

/// Compares random scenarios with one thread. Returns how many could be divided.
fn compare_random(seeds: std::ops::Range<u64>) -> usize {
    let mut divided_runs = 0;
    for seed in seeds {
        let scenario = random_scenario(seed);
        let (expected, tables) = whole(&scenario, seed);
        let mut counted = false;
        for parts in [2, 4] {
            let Ok(plan) = plan(&scenario, parts) else { continue };
            let (found, found_tables) = match divided(&scenario, seed, &plan) {
                // One thread has the result.
                Err(PartsError::Ended { .. }) => continue,
                result => result.expect("a result"),
            };
            assert_eq!(found, expected, "seed {seed}, {parts} parts");
            assert!(format!("{found_tables:?}") == format!("{tables:?}"), "series of seed {seed}");
            counted = true;
        }
        divided_runs += usize::from(counted);
    }
    divided_runs
}

#[test]
fn random_scenarios_are_the_same() {
    let divided_runs = compare_random(0..40);
    assert!(divided_runs >= 10, "only {divided_runs} of 40 scenarios could be divided");
}

/// `make verify-threads`.
#[test]
#[ignore = "takes many minutes"]
fn twenty_thousand_random_scenarios_are_the_same() {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get) as u64;
    let share = 20_000 / threads;
    let divided_runs: usize = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..threads)
            .map(|n| {
                scope.spawn(move || compare_random(1_000 + n * share..1_000 + (n + 1) * share))
            })
            .collect();
        runs.into_iter().map(|run| run.join().expect("the same bytes")).sum()
    });
    println!("{divided_runs} of 20000 scenarios could be divided");
}

/// The committed scenarios, cut short, with 2 and 4 parts. Returns how many could be divided.
fn compare_committed(duration: Span) -> usize {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let folders = std::fs::read_dir(root).expect("experiments").flatten();
    let files =
        folders.filter_map(|folder| std::fs::read_dir(folder.path()).ok()).flatten().flatten();
    let mut divided_runs = 0;
    for file in files.filter(|file| file.path().extension().is_some_and(|it| it == "toml")) {
        let path = file.path();
        let text = std::fs::read_to_string(&path).expect("text");
        // Those that name kinds of other crates are read by the command alone.
        let Ok(document) = windlass_scenario::from_toml(&path.to_string_lossy(), &text, &[]) else {
            continue;
        };
        let mut scenario = document.scenario;
        scenario.duration = scenario.duration.min(duration);
        scenario.steady_from = Span::ZERO;
        for parts in [2, 4] {
            if plan(&scenario, parts).is_ok() {
                assert_same(&scenario, document.seed, parts);
                divided_runs += 1;
            }
        }
    }
    divided_runs
}

#[test]
fn committed_scenarios_are_the_same() {
    assert!(compare_committed(Span::from_millis(2)) >= 2);
}

/// `make verify-threads`.
#[test]
#[ignore = "takes minutes"]
fn committed_scenarios_are_the_same_for_longer() {
    println!("{} runs in parts", compare_committed(Span::from_millis(50)));
}
