//! Helpers of Windlass's own tests: network namespaces on the running kernel, polling with a
//! deadline, the line that a skipped test prints, the number of cases of a property test, and the
//! replay of fuzz inputs.
//!
//! The crate is a dev-dependency only. Its functions panic where a test would: a command that
//! fails is a failed test, and the message names the command.
//!
//! ```no_run
//! use windlass_testbed::{Need, Namespace, join, skip_unless};
//!
//! if skip_unless(&[Need::Root, Need::Program("ip")]) {
//!     return;
//! }
//! let (left, right) = (Namespace::new("demo"), Namespace::new("demo"));
//! join((&left, "veth0"), (&right, "veth0"));
//! left.bring_up("veth0", &["10.9.0.1/24"]);
//! right.bring_up("veth0", &["10.9.0.2/24"]);
//! left.run("ping", "-c 1 10.9.0.2");
//! ```

mod cases;
mod fuzz;
mod need;
mod process;
#[cfg(unix)]
mod tmux;
mod wait;

#[cfg(target_os = "linux")]
mod namespace;
#[cfg(all(target_os = "linux", feature = "nat"))]
pub mod nat;
#[cfg(target_os = "linux")]
mod routed;
#[cfg(target_os = "linux")]
mod socket;

pub use cases::cases;
pub use fuzz::replay;
pub use need::{Need, skip, skip_unless};
pub use process::{Background, is_gone, output, run, text};
#[cfg(unix)]
pub use tmux::Tmux;
pub use wait::{PATIENCE, eventually, wait_until};

#[cfg(target_os = "linux")]
pub use namespace::{Namespace, join, unique};
#[cfg(target_os = "linux")]
pub use routed::{PATIENT_TIMERS, Routed};
#[cfg(target_os = "linux")]
pub use socket::{SocketOptions, connect};
