//! The privileges to make devices and namespaces, and how to get them without root.

use super::namespace::set_up_loopback;
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

/// Uses the privileges of the process if they suffice; otherwise moves it into a user namespace in
/// which the user is root. Call it before the process starts a second thread.
///
/// # Errors
///
/// The process can get neither; the error says what the administrator can do.
pub fn acquire() -> io::Result<Privilege> {
    if has_capabilities() {
        return Ok(Privilege::Here);
    }
    enter_user_namespace().map_err(|error| {
        io::Error::new(
            error.kind(),
            format!(
                "neither root (CAP_NET_ADMIN and CAP_SYS_ADMIN) nor a user namespace: {error} \
                 (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, \
                 kernel.apparmor_restrict_unprivileged_userns)"
            ),
        )
    })?;
    Ok(Privilege::Private)
}

/// Whether the process may make devices and namespaces where it is.
fn has_capabilities() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let set = effective.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    let needed = CAP_NET_ADMIN | CAP_SYS_ADMIN;
    set & needed == needed
}

fn enter_user_namespace() -> io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
    // Without this an unprivileged process may not map groups (user_namespaces(7)).
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))?;
    set_up_loopback()
}
