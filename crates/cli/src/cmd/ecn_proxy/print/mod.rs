//! The answers of the proxy as text.

mod counters;
mod findings;
mod hosts;
mod status;

pub(super) use counters::{flow, stats};
pub(super) use findings::text as findings;
pub(super) use hosts::{
    counted, summary as devices_summary, table as devices, title as device_title, total,
};
pub(super) use status::{interface, text as status};
