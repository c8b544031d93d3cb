//! The privileges to make devices and namespaces, and how to get them without root.

use crate::namespace::enter_new_network;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use std::fs;
use std::io;

/// Bits of a capability set (capabilities(7)).
const CAP_NET_ADMIN: u64 = 1 << 12;
const CAP_SYS_ADMIN: u64 = 1 << 21;

/// The namespace in which this process may make devices and namespaces.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// In the namespace that it was started in.
    Here,
    /// Only in a new user namespace with a new network namespace: the network in which the process
    /// was started is out of reach.
    Private,
}

/// A user and group, by their numbers in the namespace where they were read.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The number of the user.
    pub uid: u32,
    /// The number of the group.
    pub gid: u32,
}

impl User {
    /// The root of a user namespace.
    const ROOT: User = User { uid: 0, gid: 0 };

    /// The effective user and group of this process.
    pub fn current() -> User {
        User { uid: geteuid().as_raw(), gid: getegid().as_raw() }
    }
}

/// Uses the privileges of the process if they suffice; otherwise moves it into a user namespace in
/// which the user is root, with a network namespace. Call it before the process starts a second
/// thread.
///
/// # Errors
///
/// The process can get neither; the error says what the administrator can do.
pub fn acquire() -> io::Result<Privilege> {
    if has_capabilities() {
        return Ok(Privilege::Here);
    }
    enter_user_namespace()?;
    enter_new_network()?;
    Ok(Privilege::Private)
}

/// Whether the process may make devices and namespaces where it is.
pub fn has_capabilities() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let set = effective.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    let needed = CAP_NET_ADMIN | CAP_SYS_ADMIN;
    set & needed == needed
}

/// Moves the process, which has one thread, into a new user namespace in which its user is root.
/// Returns the user of before.
///
/// # Errors
///
/// The system does not allow it; the error says what the administrator can do.
pub fn enter_user_namespace() -> io::Result<User> {
    let user = User::current();
    enter_as(User::ROOT, user).map_err(|error| {
        io::Error::new(
            error.kind(),
            format!(
                "neither root (CAP_NET_ADMIN and CAP_SYS_ADMIN) nor a user namespace: {error} \
                 (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, \
                 kernel.apparmor_restrict_unprivileged_userns)"
            ),
        )
    })?;
    Ok(user)
}

/// Moves the process into a user namespace inside that of [`enter_user_namespace`], in which it has
/// its numbers of before again.
pub(crate) fn become_again(user: User) -> io::Result<()> {
    enter_as(user, User::ROOT)
}

/// Enters a user namespace in which `outside`, the present user, is called `inside`.
fn enter_as(inside: User, outside: User) -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWUSER)?;
    // Without this an unprivileged process may not map groups (user_namespaces(7)).
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{} {} 1", inside.uid, outside.uid))?;
    fs::write("/proc/self/gid_map", format!("{} {} 1", inside.gid, outside.gid))
}
