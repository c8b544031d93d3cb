//! New-ECN for Linux: a BPF struct_ops program, and functions that load, inspect and unload it.
//!
//! A congestion controller has one name in all namespaces of the machine. [`load()`] registers New-ECN
//! under a free name and pins its objects under [`Pins::root`], so that it outlives the process.
//! [`unload()`] removes it. Connections that use it keep it until they end.
//!
//! All functions need root, or else CAP_BPF, CAP_PERFMON and write access to [`Pins::root`]. Mounting
//! the BPF file system needs CAP_SYS_ADMIN.

mod bpffs;
mod error;
mod flows;
mod kernel_names;
mod load;
mod name;
mod parameters;
mod paths;
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
