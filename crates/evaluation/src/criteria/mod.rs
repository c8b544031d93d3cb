//! The ten criteria of RFC 9743 (section 5): each a few traffics with figures, or a reason why it cannot be tested.

mod bufferbloat;
mod congestion_collapse;
mod fairness;
mod general_purpose;
mod packet_loss;
mod real_time;
mod short_and_long;
mod short_flows;
mod text;

use crate::traffic::{Figure, Traffic};

/// A criterion of RFC 9743.
#[derive(Debug)]
pub struct Criterion {
    /// Its name for options and in results.
    pub name: &'static str,
    /// Its section.
    pub section: &'static str,
    /// Its heading, shortened.
    pub title: &'static str,
    /// How the figures answer it, or why none can.
    pub about: &'static str,
    /// The traffics; none if it cannot be tested.
    pub traffics: &'static [Traffic],
}

/// The criteria in the order of the document.
pub static CRITERIA: [Criterion; 10] = [
    congestion_collapse::CRITERION,
    bufferbloat::CRITERION,
    packet_loss::CRITERION,
    fairness::CRITERION,
    short_flows::CRITERION,
    general_purpose::CRITERION,
    real_time::CRITERION,
    short_and_long::CRITERION,
    text::PRINCIPLES,
    text::DEPLOYMENT,
];

impl Criterion {
    /// The figures of all its traffics.
    pub fn figures(&self) -> impl Iterator<Item = &'static Figure> {
        self.traffics.iter().flat_map(|traffic| traffic.figures)
    }
}
