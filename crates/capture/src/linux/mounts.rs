//! The command's view of the file system: the same as outside, but its names are resolved by the
//! forwarder.

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use std::fmt::Display;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::Path;

const RESOLV_CONF: &str = "/etc/resolv.conf";
/// Sockets by which the C library asks a daemon outside the namespace for names, beside or before
/// DNS: nscd, systemd-resolved, Avahi. A file takes the place of each, so that a connection to it is
/// refused and the library goes on to DNS.
const NAME_SERVICES: [&str; 3] =
    ["/run/nscd/socket", "/run/systemd/resolve/io.systemd.Resolve", "/run/avahi-daemon/socket"];
/// Where the files lie for the moment of being mounted elsewhere. Any folder will do that always
/// exists and holds no target of a mount.
const WORKPLACE: &str = "/proc";

const NONE: Option<&str> = None;

/// Moves the process into a mount namespace of its own, in which names are resolved at `server`.
pub(super) fn redirect_names(server: IpAddr) -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS).map_err(failed_to("make a mount namespace"))?;
    // Mounts made outside still appear, and none made here appears outside.
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_SLAVE, NONE)
        .map_err(failed_to("separate the mounts"))?;
    let safe = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("tmpfs"), WORKPLACE, Some("tmpfs"), safe, Some("size=64k,mode=755"))
        .map_err(failed_to("mount a file system in memory"))?;
    let result = fill(server);
    // The files stay: each is held by its own mount.
    umount2(WORKPLACE, MntFlags::MNT_DETACH).map_err(failed_to("unmount"))?;
    result
}

fn fill(server: IpAddr) -> io::Result<()> {
    let workplace = Path::new(WORKPLACE);
    let (resolv_conf, empty) = (workplace.join("resolv.conf"), workplace.join("empty"));
    fs::write(&resolv_conf, format!("nameserver {server}\n"))?;
    fs::write(&empty, "")?;
    // A read-only file: programs that write to it would change nothing outside.
    for service in NAME_SERVICES {
        if Path::new(service).exists() {
            put(&empty, Path::new(service))?;
        }
    }
    put(&resolv_conf, Path::new(RESOLV_CONF))
}

/// Mounts a file over another one.
fn put(file: &Path, target: &Path) -> io::Result<()> {
    mount(Some(file), target, NONE, MsFlags::MS_BIND, NONE)
        .map_err(failed_to(format!("mount a file at {}", target.display())))
}

fn failed_to(what: impl Display) -> impl Fn(nix::Error) -> io::Error {
    move |error| {
        let error = io::Error::from(error);
        io::Error::new(error.kind(), format!("cannot {what}: {error}"))
    }
}
