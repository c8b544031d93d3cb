//! The kernel that runs the program, as a subject: in real time, or in an emulated machine in its virtual time.
//!
//! Each script has a network namespace with one TUN device, on whose other end it is. A thread of that namespace makes
//! the system calls, so that one may block while packets come and go.

mod calls;
mod clock;
mod files;
mod host;
mod info;
mod link;
mod priority;
mod shell;
mod socket_address;
mod sys;
mod sysctl;
mod worker;

use crate::subject::{Host, Setup, Subject, Unsupported};
use host::KernelHost;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The running kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    release: String,
    folder: PathBuf,
}

impl Kernel {
    /// The kernel, whose scripts run their commands in `folder`.
    ///
    /// # Errors
    ///
    /// The process may not make namespaces or TUN devices (it is not root).
    pub fn new(folder: &Path) -> io::Result<Kernel> {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
        link::try_out()?;
        Ok(Kernel { release: version(&release), folder: folder.to_owned() })
    }

    /// The same kernel, whose scripts run their commands in another folder.
    #[must_use]
    pub fn in_folder(&self, folder: &Path) -> Kernel {
        Kernel { folder: folder.to_owned(), ..self.clone() }
    }
}

impl Subject for Kernel {
    fn name(&self) -> String {
        format!("Linux {}", self.release)
    }

    fn start(&self, setup: &Setup) -> Result<Box<dyn Host>, Unsupported> {
        let host = KernelHost::start(setup, &self.folder);
        Ok(Box::new(host.map_err(|error| Unsupported(error.to_string()))?))
    }
}

/// `6.18` of `6.18.44-fc`.
fn version(release: &str) -> String {
    release.trim().split('.').take(2).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests;
