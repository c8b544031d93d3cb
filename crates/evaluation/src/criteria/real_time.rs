//! Beside real-time congestion control (section 5.2.2).

use super::Criterion;
use crate::traffic::{ACCESS, Figure, Scene, Seen, Traffic, flows};

pub(super) const CRITERION: Criterion = Criterion {
    name: "real-time",
    section: "5.2.2",
    title: "Beside real-time media",
    about: "A call keeps its deadlines beside the subject as well as beside the standards. Its rate is fixed: the simulator has no congestion control of media.",
    traffics: &[Traffic {
        name: "beside-media",
        about: "Two long flows beside paced video frames at a tenth of the path's rate, at most 1.5 Mbit/s, which are late 100 ms after the path's delay.",
        tables: beside_media,
        figures: &[Figure {
            name: "missed",
            title: "Share of the frames that were late or lost",
            unit: "",
            of: missed,
        }],
    }],
};

fn beside_media(scene: &Scene) -> String {
    let bits_per_s = (scene.path.rate_mbit * 1e5).min(1.5e6);
    let deadline_ms = scene.path.rtt_ms / 2.0 + 100.0;
    let media = format!(
        "[[udp]]\nname = \"media\"\nfrom = \"s1\"\nmedia = {{ bitrate = \"{bits_per_s}bit/s\", \
         deadline = \"{deadline_ms}ms\", spread = 1 }}\n\n"
    );
    flows("subject", 2, scene.subject, scene.path) + &media + ACCESS
}

fn missed(seen: &Seen) -> f64 {
    let media = seen.summary.udp.iter().find_map(|source| source.media.as_ref());
    media.and_then(|media| media.miss_ratio).unwrap_or(1.0)
}
