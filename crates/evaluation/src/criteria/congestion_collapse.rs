//! Protection against congestion collapse (section 5.1.1).

use super::Criterion;
use crate::traffic::{ACCESS, Figure, Scene, Seen, Traffic, flows};

pub(super) const CRITERION: Criterion = Criterion {
    name: "congestion-collapse",
    section: "5.1.1",
    title: "Congestion collapse",
    about: "Under extreme congestion the flows back off: little is sent in vain, and ever less without feedback.",
    traffics: &[
        Traffic {
            name: "overload",
            about: "As many flows as the path holds packets, at least 16 and at most 100.",
            tables: overload,
            figures: &[Figure {
                name: "wasted",
                title: "Share of the packets at the bottleneck that brought no new data",
                unit: "",
                of: wasted,
            }],
        },
        Traffic {
            name: "half-lost",
            about: "Four flows of whose packets half are lost from the beginning, before the bottleneck.",
            tables: half_lost,
            figures: &[Figure {
                name: "packets-per-rtt",
                title: "Packets that a flow sends in a round-trip time of the empty path",
                unit: "packets",
                of: packets_per_rtt,
            }],
        },
        Traffic {
            name: "silence",
            about: "Four flows of whose packets all are lost in the second half of the run, so that no feedback comes.",
            tables: silence,
            figures: &[Figure {
                name: "after-silence",
                title: "Packets that a flow sends again after the last feedback",
                unit: "packets",
                of: after_silence,
            }],
        },
    ],
};

const FLOWS: u32 = 4;
const LOST: f64 = 0.5;

fn overload(scene: &Scene) -> String {
    let count = scene.path.bdp_packets().clamp(16.0, 100.0) as u32;
    let keys = format!("start_step = \"1ms\"\ncount = {count}\n{}", scene.subject);
    flows("subject", 1, &keys, scene.path) + ACCESS
}

fn half_lost(scene: &Scene) -> String {
    let access = format!("[dumbbell]\naccess = [{{ delay = \"0ms\", loss = {LOST} }}]\n");
    flows("subject", FLOWS, scene.subject, scene.path) + &access
}

fn silence(scene: &Scene) -> String {
    let half = scene.duration_s / 2.0;
    let access = format!(
        "[dumbbell]\naccess = [{{ delay = \"0ms\", \
         outages = [{{ at = \"{half}s\", lasts = \"{half}s\", lose = true }}] }}]\n"
    );
    flows("subject", FLOWS, scene.subject, scene.path) + &access
}

fn wasted(seen: &Seen) -> f64 {
    let useful: f64 = seen.flows("subject").map(|flow| seen.acknowledged(flow)).sum();
    let arrived = seen.arrived();
    if arrived > 0.0 { (1.0 - useful / arrived).max(0.0) } else { 0.0 }
}

/// The senders' packets by those that arrived at the bottleneck, since half do.
fn packets_per_rtt(seen: &Seen) -> f64 {
    let round_trips = seen.summary.duration_s * 1e3 / seen.path.rtt_ms;
    seen.arrived() / (1.0 - LOST) / round_trips / f64::from(FLOWS)
}

fn after_silence(seen: &Seen) -> f64 {
    seen.repeated_late / f64::from(FLOWS)
}
