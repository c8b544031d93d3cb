//! New-ECN for Linux: a BPF struct_ops program, and what loads it, looks at it and takes it away.
//!
//! The kernel knows a congestion controller by a name, the same in all namespaces of the machine.
//! [`load()`] registers New-ECN under a name that is free, and pins what it made under
//! [`Pins::root`], so that it stays when the process ends; [`unload()`] takes it away. Connections
//! that use it then go on with it until they end.
//!
//! All functions want root, or rather CAP_BPF, CAP_PERFMON and the right to write [`Pins::root`], and
//! CAP_SYS_ADMIN where the BPF file system is still to be mounted.

mod bpffs;
mod error;
mod flows;
mod kernel_names;
mod load;
mod name;
mod parameters;
mod pins;
mod registration;
mod status;

pub use error::Error;
pub use flows::{Flow, flows};
pub use load::{load, tracing_is_permitted, unload};
pub use name::Name;
pub use parameters::Parameters;
pub use pins::Pins;
pub use status::{Status, status};
