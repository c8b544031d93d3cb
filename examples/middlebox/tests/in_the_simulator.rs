//! The middlebox on paths of the simulator.

use std::cell::RefCell;
use std::rc::Rc;
use windlass_example_middlebox::{Bleach, Bleacher};
use windlass_sim::{Simulation, Summary};

const SCENARIO: &str = include_str!("../path.toml");

/// `path.toml` with a box at the node named; the box is given back with the summary.
fn with_box(node: &str, bleach: Bleach) -> (Summary, Bleacher) {
    let document =
        windlass_scenario::from_toml("path.toml", SCENARIO, &[]).expect("a sound scenario");
    let node = document.scenario.node(node).expect("a node of path.toml");
    let bleacher = Rc::new(RefCell::new(Bleacher::new(bleach)));
    let mut simulation =
        Simulation::new(&document.scenario, document.seed).expect("it can be built");
    simulation.add_middlebox(node, Rc::clone(&bleacher));
    let summary = simulation.run(&mut ());
    let bleacher = *bleacher.borrow();
    (summary, bleacher)
}

fn without_box() -> Summary {
    let document =
        windlass_scenario::from_toml("path.toml", SCENARIO, &[]).expect("a sound scenario");
    windlass_sim::run(&document.scenario, document.seed, &mut ()).expect("it can be built")
}

fn cuts_by_ecn(summary: &Summary) -> u64 {
    summary.flows.iter().map(|flow| flow.window_cuts_by_ecn).sum()
}

#[test]
fn a_clean_path_marks_and_hardly_drops() {
    let clean = without_box();
    assert!(clean.marks > 100 && clean.marks > 10 * clean.drops, "{clean:?}");
    assert!(cuts_by_ecn(&clean) > 100);
}

/// RFC 3168 section 6.1.1: a SYN without ECE and CWR does not ask for ECN, and the answer to it
/// does not offer it; such a connection sends Not-ECT and reacts to losses.
#[test]
fn a_bleached_handshake_leaves_connections_without_ecn_on_either_side_of_the_queue() {
    for node in ["before", "after"] {
        let (summary, bleacher) = with_box(node, Bleach::Handshake);
        assert_eq!((summary.marks, cuts_by_ecn(&summary)), (0, 0), "{node}");
        assert!(summary.drops > 50, "{node}: {} drops", summary.drops);
        // The SYN of each; the SYN-ACK of an end that was not asked has nothing to erase.
        assert_eq!(bleacher.changed, 4, "{node}");
        let retransmitted = summary.flows.iter().map(|flow| flow.fast_retransmits).sum::<u64>();
        assert!(retransmitted > 50, "{node}: {retransmitted} fast retransmits");
    }
}

/// The ends negotiate ECN, but the queue sees Not-ECT: as many losses as without ECN.
#[test]
fn a_bleached_field_before_the_queue_turns_marks_into_drops() {
    let (summary, bleacher) = with_box("before", Bleach::Field);
    assert_eq!((summary.marks, cuts_by_ecn(&summary)), (0, 0));
    assert!(summary.drops > 50, "{} drops", summary.drops);
    assert!(bleacher.changed > 10_000, "{} changed", bleacher.changed);
}

/// Erased marks slow no sender down (RFC 3168 section 18.1.1). The queue grows until it drops, and
/// stays longer than on a path that preserves marks.
#[test]
fn erased_marks_fill_the_queue_until_it_drops() {
    let clean = without_box();
    let (summary, bleacher) = with_box("after", Bleach::Marks);
    assert_eq!(cuts_by_ecn(&summary), 0);
    assert!(summary.marks > clean.marks, "{} marks", summary.marks);
    assert!(bleacher.changed > 100 && bleacher.changed <= summary.marks);
    assert!(summary.drops > 5 * clean.drops.max(1), "{} drops", summary.drops);
    let queued = |summary: &Summary| summary.mean_queue_packets.steady.expect("time has passed");
    assert!(queued(&summary) > 1.5 * queued(&clean), "{} packets", queued(&summary));
}

#[test]
fn a_box_that_finds_nothing_to_erase_leaves_the_run_as_it_is() {
    let (summary, bleacher) = with_box("before", Bleach::Marks);
    assert_eq!(bleacher.changed, 0, "no router before it marks");
    // The work may differ (a box wants to be called), what comes of it may not.
    let clean = without_box();
    assert_eq!(Summary { events: clean.events, ..summary }, clean);
}
