//! Network namespaces, in which threads create devices.

use crate::netlink::Netlink;
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::thread;

/// A network namespace that exists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Namespace {
    /// The namespace of the calling thread.
    #[default]
    Current,
    /// A namespace that `ip netns add` made, by its name.
    Named(String),
    /// The namespace of the process with this PID.
    Process(u32),
    /// A file that refers to a namespace, such as /proc/PID/ns/net.
    Path(PathBuf),
}

impl Namespace {
    /// Reads a name, `pid:NUMBER`, or a path that begins with a slash.
    ///
    /// # Errors
    ///
    /// Returns a message for the user if the text has none of these forms. Whether the namespace
    /// exists is not checked.
    pub fn parse(text: &str) -> Result<Namespace, String> {
        if text.starts_with('/') {
            return Ok(Namespace::Path(text.into()));
        }
        if let Some(pid) = text.strip_prefix("pid:") {
            return pid.parse().map(Namespace::Process).map_err(|_| format!("{pid:?}: no PID"));
        }
        if text.is_empty() || text.contains('/') {
            return Err(format!(
                "expected a namespace's name, pid:NUMBER or an absolute path, found {text:?}"
            ));
        }
        Ok(Namespace::Named(text.to_owned()))
    }

    fn path(&self) -> Option<PathBuf> {
        match self {
            Namespace::Current => None,
            Namespace::Named(name) => Some(PathBuf::from("/run/netns").join(name)),
            Namespace::Process(pid) => Some(format!("/proc/{pid}/ns/net").into()),
            Namespace::Path(path) => Some(path.clone()),
        }
    }

    /// Runs `body` in this namespace, on a thread of its own unless it is the current one.
    ///
    /// # Errors
    ///
    /// There is no such namespace, or the process may not enter it.
    pub fn within<T: Send>(&self, body: impl FnOnce() -> T + Send) -> io::Result<T> {
        let Some(path) = self.path() else { return Ok(body()) };
        let in_namespace = |error: io::Error| {
            io::Error::new(error.kind(), format!("namespace {}: {error}", path.display()))
        };
        let file = File::open(&path).map_err(in_namespace)?;
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                setns(file, CloneFlags::CLONE_NEWNET)
                    .map_err(|error| in_namespace(error.into()))?;
                Ok(body())
            });
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
        })
    }
}

/// Moves the calling thread into a new network namespace, with the loopback device up. The namespace
/// has no name: it ends with its last process and the last descriptor of its devices.
///
/// # Errors
///
/// The process lacks CAP_SYS_ADMIN, or the system's limit of namespaces is reached.
pub fn enter_new_network() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNET)
        .map_err(|error| io::Error::other(format!("cannot make a network namespace: {error}")))?;
    Netlink::open()?.set_up(if_nametoindex("lo")?)
}
