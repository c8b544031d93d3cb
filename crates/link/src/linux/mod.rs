//! The carrier on Linux: TUN devices, namespaces, and the loop that moves packets.
//!
//! Devices and namespaces end with this process, even if it is killed: devices are not persistent,
//! namespaces have no name, and the kernel kills the processes in them with the process that started
//! them.

mod addresses;
mod carrier;
mod nested;
mod reach;

pub use carrier::{Attendant, Carrier};
pub use nested::Nested;
pub use windlass_namespace::{
    Device, DeviceConfig, MTU_DEFAULT, Namespace, Privilege, acquire_privilege, guard_main,
};

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use windlass_namespace::Signals;

/// A file descriptor that becomes readable on Ctrl-C, SIGTERM, SIGHUP or SIGQUIT. From this call on
/// these signals have no other effect. Call it before the process starts a second thread.
///
/// # Errors
///
/// The kernel refuses to block the signals or to make the descriptor.
pub fn stop_signals() -> io::Result<OwnedFd> {
    Signals::block()?.as_fd().try_clone_to_owned()
}
