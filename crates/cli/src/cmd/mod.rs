//! One folder for each tool: its arguments (`args`), its work (`run`), its output (`print`).

pub(crate) mod cc;
pub(crate) mod doctor;
#[cfg(feature = "drill")]
pub(crate) mod drill;
pub(crate) mod ecn_proxy;
#[cfg(feature = "judge")]
pub(crate) mod judge;
#[cfg(feature = "link")]
pub(crate) mod link;
pub(crate) mod new;
#[cfg(feature = "probe")]
pub(crate) mod probe;
pub(crate) mod sim;
pub(crate) mod split_ack;
#[cfg(feature = "tou")]
pub(crate) mod tou;
