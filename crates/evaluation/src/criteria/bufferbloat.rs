//! Protection against bufferbloat (section 5.1.2).

use super::Criterion;
use crate::traffic::{ACCESS, Figure, Scene, Seen, Traffic, flows, milliseconds};

pub(super) const CRITERION: Criterion = Criterion {
    name: "bufferbloat",
    section: "5.1.2",
    title: "Bufferbloat",
    about: "The queue is no longer than that of the standards, while the path is used.",
    traffics: &[Traffic {
        name: "two-long",
        about: "Two long flows.",
        tables: two_long,
        figures: &[
            Figure {
                name: "queue-delay",
                title: "Wait in the bottleneck's queue, 95th percentile",
                unit: "ms",
                of: queue_delay,
            },
            Figure {
                name: "goodput",
                title: "Goodput of both flows together",
                unit: "Mbit/s",
                of: |seen| seen.goodput("subject"),
            },
        ],
    }],
};

fn two_long(scene: &Scene) -> String {
    flows("subject", 2, scene.subject, scene.path) + ACCESS
}

fn queue_delay(seen: &Seen) -> f64 {
    seen.summary.queues[0].queue_delay_ms.as_ref().map_or(0.0, |wait| milliseconds(wait.p95))
}
