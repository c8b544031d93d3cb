//! Short flows beside long ones of the same algorithm (section 5.1.5).

use super::Criterion;
use crate::traffic::{ACCESS, Figure, Scene, Traffic, flows, transfers};

pub(super) const CRITERION: Criterion = Criterion {
    name: "short-flows",
    section: "5.1.5",
    title: "Short flows",
    about: "Short flows of the subject beside a long one do not hinder it, and are not hindered.",
    traffics: &[Traffic {
        name: "short-and-long",
        about: "One long flow, and short ones that come at random and need 30 % of the rate.",
        tables: short_and_long,
        figures: &[
            Figure {
                name: "slowdown",
                title: "Completion time of a short flow over the least that the idle path allows, mean",
                unit: "",
                of: |seen| seen.slowdown("short"),
            },
            Figure {
                name: "long-goodput",
                title: "Goodput of the long flow",
                unit: "Mbit/s",
                of: |seen| seen.goodput("subject"),
            },
        ],
    }],
};

fn short_and_long(scene: &Scene) -> String {
    let short = format!("{}\n{}", scene.subject, transfers(0.3, scene.path));
    flows("subject", 1, scene.subject, scene.path) + &flows("short", 1, &short, scene.path) + ACCESS
}
