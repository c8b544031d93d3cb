//! The queue disciplines through their public interface.

mod codel;
mod drop_tail;
mod dual_pi2;
mod fq_codel;
mod harness;
mod pie;
mod properties;
mod red;
mod red_adaptive;
mod responsive;
mod self_configuring;
mod sred;
mod tc_red;
