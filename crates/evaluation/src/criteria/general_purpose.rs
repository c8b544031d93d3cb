//! Beside existing general-purpose congestion control (section 5.2.1).

use super::Criterion;
use crate::traffic::{ACCESS, Figure, Scene, Traffic, flows};

pub(super) const CRITERION: Criterion = Criterion {
    name: "general-purpose",
    section: "5.2.1",
    title: "Beside Reno and CUBIC",
    about: "Flows of Reno and of CUBIC suffer no more from the subject than from each other, in throughput, delay and loss; and the subject does not starve.",
    traffics: &[
        Traffic {
            name: "beside-reno",
            about: "Two long flows beside two of Reno.",
            tables: |scene| beside("reno", scene),
            figures: &FIGURES,
        },
        Traffic {
            name: "beside-cubic",
            about: "Two long flows beside two of CUBIC.",
            tables: |scene| beside("cubic", scene),
            figures: &FIGURES,
        },
    ],
};

const FIGURES: [Figure; 4] = [
    Figure {
        name: "other-goodput",
        title: "Goodput of the other two flows together",
        unit: "Mbit/s",
        of: |seen| seen.goodput("other"),
    },
    Figure {
        name: "other-queue-delay",
        title: "Wait of the others' packets in queues, mean",
        unit: "ms",
        of: |seen| seen.queue_delay_ms("other"),
    },
    Figure {
        name: "other-loss",
        title: "Share of the others' data packets that queues and policers dropped, in the whole run",
        unit: "",
        of: |seen| seen.loss("other"),
    },
    Figure {
        name: "own-goodput",
        title: "Goodput of the subject's two flows together",
        unit: "Mbit/s",
        of: |seen| seen.goodput("subject"),
    },
];

fn beside(other: &str, scene: &Scene) -> String {
    let other = format!("controller = \"{other}\"");
    flows("other", 2, &other, scene.path) + &flows("subject", 2, scene.subject, scene.path) + ACCESS
}
