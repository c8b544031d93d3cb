//! The answers of the proxy as text.

mod counters;
mod status;

pub(super) use counters::{flow, stats};
pub(super) use status::text as status;
