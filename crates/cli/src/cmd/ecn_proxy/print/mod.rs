//! The answers of the proxy as text.

mod counters;
mod findings;
mod hosts;
mod status;

pub(super) use counters::{flow, stats};
pub(super) use findings::text as findings;
pub(super) use hosts::{summary as hosts_summary, table as hosts, total};
pub(super) use status::{interface, text as status};
