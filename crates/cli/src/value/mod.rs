//! Parsers of the values that arguments and files have: one for each kind of value, for all tools.

#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "only the link, which needs Linux, uses some of these parsers")
)]

mod controller;
mod host_port;
#[cfg(feature = "link")]
mod loss;
mod name;
mod number;
mod over_time;
mod path;
#[cfg(feature = "link")]
mod port;
mod quantity;

pub(crate) use controller::parse_controller;
pub(crate) use host_port::{HostPort, Local};
#[cfg(feature = "link")]
pub(crate) use loss::{LossKeys, parse_loss};
#[cfg(feature = "probe")]
pub(crate) use name::parse_test;
pub(crate) use name::{
    Named, VARIANTS, echo_names, parse_echo, parse_profile, parse_rto_rule, parse_variant,
    profile_names, rto_rule_names,
};
pub(crate) use number::{parse_count, parse_seed, parse_seeds, whole};
pub(crate) use over_time::{
    OverTime, parse_aggregation, parse_delay_over_time, parse_outage, parse_policer,
    parse_rate_over_time, parse_shaper, parse_wifi_jitter,
};
pub(crate) use path::{Side, Sided, all, last, parse_queue, sided};
#[cfg(feature = "link")]
pub(crate) use port::{PortArg, parse_block, parse_port};
pub(crate) use quantity::{
    parse_buffer, parse_bytes, parse_connection_rate, parse_nonzero_time, parse_probability,
    parse_rate, parse_time, with_seconds,
};
