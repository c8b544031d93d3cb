//! Fairness within the proposed algorithm (section 5.1.4).

use super::Criterion;
use crate::traffic::{ACCESS, Figure, Scene, Seen, Traffic, flows};
use windlass_sim::fairness_index;

pub(super) const CRITERION: Criterion = Criterion {
    name: "fairness",
    section: "5.1.4",
    title: "Fairness among its own flows",
    about: "Similar flows of the subject share the path about equally.",
    traffics: &[Traffic {
        name: "four-long",
        about: "Four long flows, which begin one after the other.",
        tables: four_long,
        figures: &[
            Figure { name: "jain", title: "Jain's index of the four rates", unit: "", of: jain },
            Figure {
                name: "slowest",
                title: "Rate of the slowest flow over the mean of the four",
                unit: "",
                of: slowest,
            },
        ],
    }],
};

fn four_long(scene: &Scene) -> String {
    flows("subject", 4, scene.subject, scene.path) + ACCESS
}

fn rates(seen: &Seen) -> Vec<f64> {
    seen.flows("subject").map(|flow| flow.mbit_per_s.steady).collect()
}

/// Flows that all send nothing share nothing: the index is then that of one flow that has it all.
fn jain(seen: &Seen) -> f64 {
    let rates = rates(seen);
    fairness_index(&rates).unwrap_or(1.0 / rates.len().max(1) as f64)
}

fn slowest(seen: &Seen) -> f64 {
    let rates = rates(seen);
    let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    if mean > 0.0 { least / mean } else { 0.0 }
}
