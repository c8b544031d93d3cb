//! The command in its namespace, the TUN device, and the loop that joins the stack to the far ends.

mod carried;
mod direct;
mod driver;
mod handover;
mod host_resolver;
mod inside;
mod mounts;
mod run;
mod tun;
mod wakes;

pub use direct::DirectDialer;
pub use driver::Counters;
pub use host_resolver::{HostResolver, ask};
pub use inside::child_main;
pub use run::{Capture, Outcome};
pub use windlass_namespace::Signals;
