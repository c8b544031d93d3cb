//! Protection against high packet loss (section 5.1.3).

use super::Criterion;
use crate::traffic::{ACCESS, Figure, Scene, Traffic, flows};

pub(super) const CRITERION: Criterion = Criterion {
    name: "packet-loss",
    section: "5.1.3",
    title: "High packet loss",
    about: "Several flows do not keep a queue overflowing. The start counts too: an excessive increase is a cause of loss.",
    traffics: &[Traffic {
        name: "six-long",
        about: "Six long flows.",
        tables: six_long,
        figures: &[Figure {
            name: "loss",
            title: "Share of the data packets that queues and policers dropped, in the whole run",
            unit: "",
            of: |seen| seen.loss("subject"),
        }],
    }],
};

fn six_long(scene: &Scene) -> String {
    flows("subject", 6, scene.subject, scene.path) + ACCESS
}
