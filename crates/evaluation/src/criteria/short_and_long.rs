//! Beside short and long flows of common algorithms (section 5.2.3).

use super::Criterion;
use crate::traffic::{ACCESS, Figure, Scene, Traffic, flows, transfers};

pub(super) const CRITERION: Criterion = Criterion {
    name: "short-and-long",
    section: "5.2.3",
    title: "Beside short and long flows",
    about: "Short and long flows of CUBIC suffer no more from the subject than from the standards, and its own short flows are not stifled.",
    traffics: &[
        Traffic {
            name: "long-beside-short",
            about: "Two long flows beside a long one of CUBIC and short ones of CUBIC, which come at random and need 20 % of the rate.",
            tables: long_beside_short,
            figures: &[
                Figure {
                    name: "others-short-slowdown",
                    title: "Completion time of CUBIC's short flows over the least that the idle path allows, mean",
                    unit: "",
                    of: |seen| seen.slowdown("short"),
                },
                OTHERS_LONG,
            ],
        },
        Traffic {
            name: "short-beside-long",
            about: "Short flows, which come at random and need 30 % of the rate, beside two long ones of CUBIC.",
            tables: short_beside_long,
            figures: &[
                OTHERS_LONG,
                Figure {
                    name: "own-short-slowdown",
                    title: "Completion time of the subject's short flows over the least that the idle path allows, mean",
                    unit: "",
                    of: |seen| seen.slowdown("subject"),
                },
            ],
        },
    ],
};

const OTHERS_LONG: Figure = Figure {
    name: "others-long-goodput",
    title: "Goodput of CUBIC's long flows",
    unit: "Mbit/s",
    of: |seen| seen.goodput("other"),
};
const CUBIC: &str = "controller = \"cubic\"";

fn long_beside_short(scene: &Scene) -> String {
    let short = format!("{CUBIC}\n{}", transfers(0.2, scene.path));
    flows("other", 1, CUBIC, scene.path)
        + &flows("short", 1, &short, scene.path)
        + &flows("subject", 2, scene.subject, scene.path)
        + ACCESS
}

fn short_beside_long(scene: &Scene) -> String {
    let short = format!("{}\n{}", scene.subject, transfers(0.3, scene.path));
    flows("other", 2, CUBIC, scene.path) + &flows("subject", 1, &short, scene.path) + ACCESS
}
