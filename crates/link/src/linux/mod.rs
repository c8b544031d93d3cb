//! The carrier on Linux: TUN devices, namespaces, and the loop that moves packets.
//!
//! Devices and namespaces end with this process, even if it is killed: devices are not persistent,
//! namespaces have no name, and the kernel kills the processes in them with the process that started
//! them.

mod addresses;
mod carrier;
mod device;
mod guard;
mod namespace;
mod nested;
mod netlink;
mod privilege;

pub use carrier::{Attendant, Carrier};
pub use device::{Device, DeviceConfig, MTU_DEFAULT};
pub use guard::{guard_main, stop_signals};
pub use namespace::Namespace;
pub use nested::{Nested, Surroundings};
pub use privilege::{Privilege, acquire as acquire_privilege};
