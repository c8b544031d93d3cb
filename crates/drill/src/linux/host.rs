//! A host of the kernel's, in a namespace.

use super::calls::Caller;
use super::clock::Clock;
use super::files::Files;
use super::link::Link;
use super::priority::Priority;
use super::worker::Worker;
use super::{info, shell, sysctl};
use crate::call::{Call, Fd, Return};
use crate::subject::{Host, Setup, Unsupported};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::{TimeSpec, TimeValLike};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use windlass_base::Time;

/// How long to wait for a call that was interrupted.
const PATIENCE_MS: i64 = 1000;

/// The kernel in a namespace, and the script's end of its link.
pub(super) struct KernelHost {
    clock: Clock,
    files: Files,
    link: Link,
    worker: Worker,
    folder: PathBuf,
    /// Kept for its drop.
    _priority: Priority,
    /// A tick of the kernel's timers.
    tick: Time,
    /// The script has begun: a call or a packet was there.
    has_begun: bool,
    /// A call has begun and its end is not known yet.
    is_calling: bool,
    /// The end of a call that the runner has not asked for.
    end: Option<(Time, Return)>,
}

impl KernelHost {
    /// Starts the host; commands run in `folder`.
    ///
    /// # Errors
    ///
    /// The process may not make a namespace or a TUN device.
    pub(super) fn start(setup: &Setup, folder: &Path) -> io::Result<KernelHost> {
        let (clock, files) = (Clock::start(), Files::default());
        let (worker, link) = Worker::start(setup, &files, clock)?;
        let folder = folder.to_owned();
        let mut host = KernelHost {
            clock,
            files,
            link,
            worker,
            folder,
            _priority: Priority::raise(),
            tick: clock.at_tick()?,
            has_begun: false,
            is_calling: false,
            end: None,
        };
        host.align();
        Ok(host)
    }

    /// Before the script's first event: waits for a good time to begin.
    fn align(&mut self) {
        if !self.has_begun {
            let begin = self.clock.next_between_ticks(self.tick);
            while self.wait(begin) < begin {}
        }
    }

    /// Sleeps until a packet or an end comes, or for `span`. Returns whether one came.
    fn sleep(&self, span: TimeSpec) -> bool {
        let mut fds = [
            PollFd::new(self.link.device().as_fd(), PollFlags::POLLIN),
            PollFd::new(self.worker.bell().as_fd(), PollFlags::POLLIN),
        ];
        // A signal ends it early, which does no harm.
        ppoll(&mut fds, Some(span), None).is_ok_and(|ready| ready > 0)
    }
}

impl fmt::Debug for KernelHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelHost").field("worker", &self.worker).finish_non_exhaustive()
    }
}

impl Host for KernelHost {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn wait(&mut self, until: Time) -> Time {
        loop {
            let rest = self.clock.sleep_before(until);
            let span = rest.unwrap_or(TimeSpec::nanoseconds(0));
            if self.sleep(span) || self.clock.now() >= until {
                return self.clock.now();
            }
        }
    }

    /// The kernel has processed the packet when this returns, and its answers wait in the device.
    fn receive(&mut self, packet: &[u8]) {
        self.has_begun = true;
        self.link.write(packet, None);
    }

    fn receive_coalesced(&mut self, packet: &[u8], mss: u16) {
        self.has_begun = true;
        self.link.write(packet, Some(mss));
    }

    fn transmit(&mut self) -> Option<(Time, Vec<u8>)> {
        let packet = self.link.read()?;
        Some((self.clock.now(), packet))
    }

    fn begin(&mut self, call: &Call) -> Result<(), Unsupported> {
        Caller::knows(call)?;
        (self.has_begun, self.is_calling) = (true, true);
        self.end = self.worker.begin(call.clone());
        Ok(())
    }

    fn returned(&mut self) -> Option<(Time, Return)> {
        let end = self.end.take().or_else(|| self.worker.end())?;
        self.is_calling = false;
        Some(end)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Unsupported> {
        let set = sysctl::set(name, value, &self.worker.namespace());
        self.align();
        set
    }

    fn shell(&mut self, command: &str) -> Result<i32, Unsupported> {
        let done = shell::run(command, &self.worker.namespace(), &self.folder);
        self.align();
        done
    }

    fn info(&mut self, fd: Fd) -> Result<BTreeMap<String, i64>, Unsupported> {
        let missing = |_| Unsupported(format!("descriptor {} is not open", fd.0));
        info::read(self.files.get(fd).map_err(missing)?.as_raw_fd())
    }
}

impl Drop for KernelHost {
    fn drop(&mut self) {
        // A connection that the script closed ends at its next timeout.
        let _ = sysctl::set("net.ipv4.tcp_orphan_retries", "1", &self.worker.namespace());
        if self.is_calling && self.end.is_none() {
            self.files.interrupt();
            self.worker.wait_for_end(TimeSpec::milliseconds(PATIENCE_MS));
        }
        self.files.close();
    }
}
