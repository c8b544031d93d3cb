//! Network namespaces on Linux, the TUN devices in them, and commands that run in them.
//!
//! A tool that runs a command in a network of its own takes these steps:
//!
//! 1. [`guard_main`], first in `main`: the tool starts itself again as the guard of its command.
//! 2. [`Signals::block`], before the process has a second thread.
//! 3. [`acquire_privilege`] or [`enter_user_namespace`], also before the second thread.
//! 4. On a thread that lives as long as the command: [`enter_new_network`], [`Device::create`],
//!    [`Guarded::spawn`].
//! 5. [`Signals::forward`] whenever a signal waits; [`exit_code`] of the guard at the end.
//!
//! Nothing is left behind, even if a process is killed. Devices are not persistent and namespaces
//! have no name. The kernel kills the processes in a namespace together with their guard, and the
//! guard together with the tool.
//!
//! On other systems the crate is empty.

#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod guard;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod netlink;
#[cfg(target_os = "linux")]
mod privilege;
#[cfg(target_os = "linux")]
mod signals;

#[cfg(target_os = "linux")]
pub use self::{
    device::{Device, DeviceConfig, MTU_DEFAULT, VIRTIO_HEADER_LEN},
    guard::{Guarded, Streams, guard_main},
    namespace::{Namespace, enter_new_network},
    privilege::{
        Privilege, User, acquire as acquire_privilege, enter_user_namespace, has_capabilities,
    },
    signals::{NOT_EXECUTABLE, NOT_FOUND, Signals, exit_code, exit_code_of},
};
