//! The cgroup of the command: a child of this process's cgroup, in the hierarchy of version 2. If that is
//! not mounted, as after `ip netns exec`, the process makes a private mount.

use crate::Error;
use rustix::fs::{self, AtFlags, Dir, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{self, FsMountFlags, FsOpenFlags, MountAttrFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{io, process, thread};

const PREFIX: &str = "windlass-split-ack-";
/// CGROUP2_SUPER_MAGIC of include/uapi/linux/magic.h.
const MAGIC: u32 = 0x6367_7270;
/// Attempts to remove a cgroup whose last process may be about to end.
const TRIES: u32 = 20;

/// A cgroup for one command. Dropping the value removes it. If processes remain in it, the next
/// [`Cgroup::new`] after their end removes it.
#[derive(Debug)]
pub struct Cgroup {
    parent: OwnedFd,
    name: String,
    /// Locked, so that other processes see it in use before the command is in it.
    dir: OwnedFd,
    path: PathBuf,
}

impl Cgroup {
    /// Makes a cgroup, and removes leftover ones of earlier runs.
    ///
    /// # Errors
    ///
    /// Cgroups of version 2 are not usable here, or this user may not make one.
    pub fn new() -> Result<Cgroup, Error> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // Before own_path(): the kernel lists no cgroup of version 2 until the hierarchy is mounted.
        let root = mounted().map_or_else(mount_privately, Ok);
        let root = root.map_err(|error| Error::Cgroup("/".into(), error.into()))?;
        let own = own_path()?;
        let in_own = |error: Errno| Error::Cgroup(own.clone(), error.into());
        let relative = own.strip_prefix("/").ok().filter(|path| path.iter().next().is_some());
        let parent = open_folder(&root, relative.unwrap_or(Path::new("."))).map_err(in_own)?;
        remove_left_behind(&parent);
        loop {
            let next = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{PREFIX}{}-{next}", process::id());
            let made = fs::mkdirat(&parent, &name, Mode::from_raw_mode(0o755));
            match made.and_then(|()| lock(&parent, &name)) {
                Ok(dir) => {
                    let path = own.join(&name);
                    return Ok(Cgroup { parent, name, dir, path });
                }
                // Another process removed it as a leftover, or has a cgroup of that name.
                Err(Errno::NOENT | Errno::EXIST | Errno::WOULDBLOCK) => {}
                Err(error) => return Err(in_own(error)),
            }
        }
    }

    /// Its path in the hierarchy.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves this process into the cgroup.
    ///
    /// # Errors
    ///
    /// The kernel refuses the move.
    pub fn enter(&self) -> Result<(), Error> {
        self.with_path(move_into(&self.dir))
    }

    /// Moves this process back to its former cgroup.
    ///
    /// # Errors
    ///
    /// The kernel refuses the move.
    pub fn leave(&self) -> Result<(), Error> {
        self.with_path(move_into(&self.parent))
    }

    fn with_path(&self, result: rustix::io::Result<()>) -> Result<(), Error> {
        result.map_err(|error| Error::Cgroup(self.path.clone(), error.into()))
    }
}

impl AsFd for Cgroup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for _ in 0..TRIES {
            match fs::unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR) {
                Err(Errno::BUSY) => thread::sleep(Duration::from_millis(10)),
                _ => return,
            }
        }
    }
}

/// The cgroup of this process, as it is seen from the root of its cgroup namespace.
fn own_path() -> Result<PathBuf, Error> {
    let file = "/proc/self/cgroup";
    let text = std::fs::read_to_string(file).map_err(|error| Error::Cgroup(file.into(), error))?;
    let own = text.lines().find_map(|line| line.strip_prefix("0::"));
    own.map(PathBuf::from).ok_or_else(|| {
        let lacking = "this kernel has no cgroups of version 2 (CONFIG_CGROUPS, CONFIG_CGROUP_BPF)";
        Error::Cgroup(file.into(), io::Error::other(lacking))
    })
}

fn open_folder(at: impl AsFd, path: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    fs::openat(at, path, flags, Mode::empty())
}

/// The root of the hierarchy, if it is mounted and writable.
fn mounted() -> Option<OwnedFd> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().filter_map(mount_point).find_map(|point| {
        let root = open_folder(fs::CWD, point).ok()?;
        // Another mount may cover it.
        (fs::fstatfs(&root).ok()?.f_type as u32 == MAGIC).then_some(root)
    })
}

/// The mount point in a line of mountinfo (proc(5)), if it mounts the whole hierarchy writable.
fn mount_point(line: &str) -> Option<&str> {
    let (mount, kind) = line.split_once(" - ")?;
    let fields: Vec<&str> = mount.split(' ').collect();
    let writable = fields.get(5)?.split(',').any(|option| option == "rw");
    (kind.starts_with("cgroup2 ") && *fields.get(3)? == "/" && writable).then(|| fields[4])
}

/// Mounts the hierarchy without a mount point: no other process sees the mount, and the kernel removes it
/// with the last descriptor.
fn mount_privately() -> rustix::io::Result<OwnedFd> {
    let context = mount::fsopen("cgroup2", FsOpenFlags::FSOPEN_CLOEXEC)?;
    mount::fsconfig_create(&context)?;
    let safe = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, safe)
}

/// Opens and locks a cgroup. Fails if another process removes it in between.
fn lock(parent: &OwnedFd, name: &str) -> rustix::io::Result<OwnedFd> {
    let dir = open_folder(parent, name)?;
    fs::flock(&dir, FlockOperation::NonBlockingLockExclusive)?;
    fs::statat(parent, name, AtFlags::empty())?;
    Ok(dir)
}

/// Removes leftover cgroups. The kernel keeps those with processes; the lock protects those whose command
/// has not started yet.
fn remove_left_behind(parent: &OwnedFd) {
    let Ok(entries) = Dir::read_from(parent) else { return };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        if name.starts_with(PREFIX) && lock(parent, name).is_ok() {
            let _ = fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
        }
    }
}

fn move_into(dir: &OwnedFd) -> rustix::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let processes = fs::openat(dir, "cgroup.procs", flags, Mode::empty())?;
    // 0 stands for the writing process.
    rustix::io::write(processes, b"0").map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_and_writable_hierarchy_of_version_2_is_taken() {
        let line = |root, option, kind| {
            format!("36 35 0:26 {root} /sys/fs/cgroup {option},nosuid shared:4 - {kind} none rw")
        };
        assert_eq!(mount_point(&line("/", "rw", "cgroup2")), Some("/sys/fs/cgroup"));
        assert_eq!(mount_point(&line("/a", "rw", "cgroup2")), None);
        assert_eq!(mount_point(&line("/", "ro", "cgroup2")), None);
        assert_eq!(mount_point(&line("/", "rw", "cgroup")), None);
        assert_eq!(mount_point("36 35 - cgroup2 none rw"), None);
    }
}
