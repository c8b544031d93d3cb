//! The thread of a script's namespace that makes its calls.

use super::calls::Caller;
use super::clock::Clock;
use super::files::Files;
use super::link::Link;
use super::priority::Priority;
use crate::call::{Call, Return};
use crate::subject::Setup;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::unistd::gettid;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use windlass_base::Time;
use windlass_namespace::{Namespace, enter_new_network};

/// How long to leave the processor to the thread before asking whether its call blocks.
const GLANCE_NS: i64 = 50_000;

/// The thread, from outside.
#[derive(Debug)]
pub(super) struct Worker {
    calls: Sender<Call>,
    ends: Receiver<(Time, Return)>,
    shared: Arc<Shared>,
    task: PathBuf,
}

#[derive(Debug)]
struct Shared {
    /// Readable when a call has ended.
    bell: EventFd,
    /// The thread has taken the call that was begun last.
    has_begun: AtomicBool,
}

impl Worker {
    /// Starts a thread in a new namespace; returns it with the namespace's link.
    ///
    /// # Errors
    ///
    /// The process may not make the namespace or the link.
    pub(super) fn start(setup: &Setup, files: &Files, clock: Clock) -> io::Result<(Worker, Link)> {
        let (calls, asked) = channel();
        let (end, ends) = channel();
        let (opened, made) = channel();
        let bell = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        let shared = Arc::new(Shared { bell, has_begun: AtomicBool::new(false) });
        let (theirs, setup, files) = (Arc::clone(&shared), setup.clone(), files.clone());
        thread::Builder::new().name("drill calls".into()).spawn(move || {
            let _priority = Priority::raise();
            // The other end of the channel waits for it, and is gone only if the process ends.
            let _ = opened.send(open(&setup));
            work(Caller::new(&setup, files), &asked, &theirs, |answer| {
                end.send((clock.now(), answer)).is_ok()
            });
        })?;
        let (task, link) = made.recv().map_err(io::Error::other)??;
        // The default of 50 microseconds would delay each event of the script.
        set_timerslack(1)?;
        Ok((Worker { calls, ends, shared, task }, link))
    }

    /// The namespace, while the value lives.
    pub(super) fn namespace(&self) -> Namespace {
        Namespace::Path(self.task.join("ns/net"))
    }

    /// Begins a call, and waits until it has ended or blocks. Returns the end.
    pub(super) fn begin(&self, call: Call) -> Option<(Time, Return)> {
        self.shared.has_begun.store(false, Ordering::SeqCst);
        // It takes calls for as long as this value lives.
        self.calls.send(call).ok()?;
        loop {
            self.wait_for_end(TimeSpec::nanoseconds(GLANCE_NS));
            let blocks = self.shared.has_begun.load(Ordering::SeqCst) && self.sleeps();
            let end = self.end();
            if end.is_some() || blocks {
                return end;
            }
        }
    }

    /// The end of the call, if it has ended.
    pub(super) fn end(&self) -> Option<(Time, Return)> {
        // Before the end is looked for, so that a bell that rings later is not lost.
        let _ = self.shared.bell.read();
        self.ends.try_recv().ok()
    }

    /// Readable when the call has ended.
    pub(super) fn bell(&self) -> &EventFd {
        &self.shared.bell
    }

    /// Waits for the end of the call, but not longer than `timeout`.
    pub(super) fn wait_for_end(&self, timeout: TimeSpec) {
        let mut fds = [PollFd::new(self.shared.bell.as_fd(), PollFlags::POLLIN)];
        // A signal ends it early, which does no harm.
        let _ = ppoll(&mut fds, Some(timeout), None);
    }

    /// Whether the thread sleeps until something happens (proc_pid_stat(5)).
    fn sleeps(&self) -> bool {
        let stat = fs::read_to_string(self.task.join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('S'))
    }
}

/// Enters a namespace and makes its link; returns the thread's folder in /proc.
fn open(setup: &Setup) -> io::Result<(PathBuf, Link)> {
    enter_new_network()?;
    let link = Link::create_here(setup)?;
    Ok((PathBuf::from(format!("/proc/self/task/{}", gettid())), link))
}

/// Makes the calls until the host is dropped.
fn work(mut caller: Caller, asked: &Receiver<Call>, shared: &Shared, end: impl Fn(Return) -> bool) {
    for call in asked {
        shared.has_begun.store(true, Ordering::SeqCst);
        if !end(caller.call(&call)) {
            return;
        }
        // Full only after 2^64 calls.
        let _ = shared.bell.write(1);
    }
}
