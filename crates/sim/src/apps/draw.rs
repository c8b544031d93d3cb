//! Random draws that all applications make.

use windlass_base::{Rng, Span, Time};

/// When an application starts, with its jitter: a uniform draw from 0 to `jitter`.
pub(crate) fn start_time(start: Span, jitter: Span, rng: &mut Rng) -> Time {
    Time::ZERO + start + Span::from_nanos(rng.between(0, jitter.as_nanos()))
}

/// A span as it stands, or as the mean of an exponential distribution.
pub(super) fn draw(span: Span, exponential: bool, rng: &mut Rng) -> Span {
    if exponential { Span::from_secs_f64(rng.exponential(span.as_secs_f64())) } else { span }
}
