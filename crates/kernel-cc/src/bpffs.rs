//! The BPF file system: an object pinned in it outlives the process that made the object.

use crate::Error;
use crate::paths::MOUNT_POINT;
use rustix::fs::statfs;
use rustix::mount::{MountFlags, mount};
use std::fs;

/// BPF_FS_MAGIC of include/uapi/linux/magic.h.
const MAGIC: u32 = 0xcafe_4a11;

/// Mounts the file system if it is not mounted. Returns true if it had to.
pub(crate) fn ensure() -> Result<bool, Error> {
    if is_mounted()? {
        return Ok(false);
    }
    mount("bpf", MOUNT_POINT, "bpf", MountFlags::empty(), None)
        .map_err(|error| Error::io(MOUNT_POINT, error.into()))?;
    Ok(true)
}

/// Whether it is mounted. Fails if it is not mounted in a private mount namespace: it may be mounted
/// outside, and a mount made here would not last.
pub(crate) fn is_mounted() -> Result<bool, Error> {
    let found = statfs(MOUNT_POINT).map_err(|error| Error::io(MOUNT_POINT, error.into()))?;
    if found.f_type as u32 == MAGIC {
        return Ok(true);
    }
    if mounts_are_private() { Err(Error::PrivateMounts) } else { Ok(false) }
}

/// Whether the mount namespace differs from that of an ancestor: `ip netns exec` makes one for each
/// command.
fn mounts_are_private() -> bool {
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    let own = namespace("self");
    let mut process = "self".to_owned();
    while let Some(parent) = parent_of(&process) {
        // The namespace of some processes, such as init, is not readable.
        if namespace(&parent).is_some_and(|its| Some(its) != own) {
            return true;
        }
        process = parent;
    }
    false
}

fn parent_of(process: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim();
    (parent != "0").then(|| parent.to_owned())
}
