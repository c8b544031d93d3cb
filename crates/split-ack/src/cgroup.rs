//! The cgroup of the command: a child of this process's own, in the hierarchy of version 2. Where that
//! is not mounted, as behind `ip netns exec`, a mount of this process alone serves.

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
/// How often it is tried to remove a cgroup whose last process may be about to go.
const TRIES: u32 = 20;

/// A cgroup that was made for one command. It goes when the value is dropped; if processes are left in
/// it, when the next one is made.
#[derive(Debug)]
pub struct Cgroup {
    parent: OwnedFd,
    name: String,
    /// Locked: so the next one knows that it is in use, though no process is in it yet.
    dir: OwnedFd,
    path: PathBuf,
}

impl Cgroup {
    /// Makes one, and removes those that were left behind.
    ///
    /// # Errors
    ///
    /// Version 2 cannot be used here, or this user may not make one.
    pub fn new() -> Result<Cgroup, Error> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // First: the kernel names no cgroup of version 2 before somebody has mounted the hierarchy.
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
                // Another process took it for one left behind, or has that name.
                Err(Errno::NOENT | Errno::EXIST | Errno::WOULDBLOCK) => {}
                Err(error) => return Err(in_own(error)),
            }
        }
    }

    /// Where it is in the hierarchy.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts this process into it.
    ///
    /// # Errors
    ///
    /// The kernel refuses.
    pub fn enter(&self) -> Result<(), Error> {
        self.with_path(move_into(&self.dir))
    }

    /// Puts this process back to where it was.
    ///
    /// # Errors
    ///
    /// The kernel refuses.
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

/// The root of the hierarchy, where somebody has mounted it to be written.
fn mounted() -> Option<OwnedFd> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().filter_map(mount_point).find_map(|point| {
        let root = open_folder(fs::CWD, point).ok()?;
        // Another mount may cover it.
        (fs::fstatfs(&root).ok()?.f_type as u32 == MAGIC).then_some(root)
    })
}

/// Where a line of mountinfo (proc(5)) says that all of the hierarchy is mounted.
fn mount_point(line: &str) -> Option<&str> {
    let (mount, kind) = line.split_once(" - ")?;
    let fields: Vec<&str> = mount.split(' ').collect();
    let writable = fields.get(5)?.split(',').any(|option| option == "rw");
    (kind.starts_with("cgroup2 ") && *fields.get(3)? == "/" && writable).then(|| fields[4])
}

/// Mounts the hierarchy without a place in the file system: no other process sees the mount, and it
/// goes with the last descriptor.
fn mount_privately() -> rustix::io::Result<OwnedFd> {
    let context = mount::fsopen("cgroup2", FsOpenFlags::FSOPEN_CLOEXEC)?;
    mount::fsconfig_create(&context)?;
    let safe = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, safe)
}

/// Opens and locks a cgroup; an error if it was removed meanwhile.
fn lock(parent: &OwnedFd, name: &str) -> rustix::io::Result<OwnedFd> {
    let dir = open_folder(parent, name)?;
    fs::flock(&dir, FlockOperation::NonBlockingLockExclusive)?;
    fs::statat(parent, name, AtFlags::empty())?;
    Ok(dir)
}

/// The kernel keeps those with processes; the lock, those whose process is yet to come.
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
    // 0 is who writes it.
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
