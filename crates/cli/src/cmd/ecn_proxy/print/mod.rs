//! What the proxy answers, for people.

mod counters;
mod status;

pub(super) use counters::{flow, stats};
pub(super) use status::text as status;
