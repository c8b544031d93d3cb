//! Wakes the thread of a `stream` to a rendezvous, which waits with poll.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Wakes the thread.
pub(super) struct Waker {
    system: system::Waker,
    pending: Arc<AtomicBool>,
}

/// The thread's side of it.
pub(super) struct Woken {
    system: system::Woken,
    pending: Arc<AtomicBool>,
}

/// Both sides.
pub(super) fn pair() -> io::Result<(Waker, Woken)> {
    let (waker, woken) = system::pair()?;
    let pending = Arc::new(AtomicBool::new(false));
    let waker = Waker { system: waker, pending: Arc::clone(&pending) };
    Ok((waker, Woken { system: woken, pending }))
}

impl Waker {
    /// Wakes the thread, unless it has a wake-up pending: then it will see what the caller did before.
    pub(super) fn wake(&self) {
        if !self.pending.swap(true, Ordering::AcqRel) {
            self.system.wake();
        }
    }
}

impl Woken {
    /// Readable if the thread is to wake up.
    pub(super) fn pollable(&self) -> &system::Pollable {
        self.system.pollable()
    }

    /// Takes the wake-up. The thread must look for what it was woken for after this call.
    pub(super) fn clear(&self) {
        self.system.clear();
        // The value that is read here is of the last caller, whose changes are visible from now on.
        self.pending.swap(false, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::sync::mpsc::channel;
    use std::thread;

    fn is_woken(woken: &Woken) -> bool {
        let mut fds = [PollFd::new(woken.pollable(), PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).expect("it polls") > 0
    }

    #[test]
    fn one_wake_up_stands_for_all_until_it_is_taken() {
        let (waker, woken) = pair().expect("a pair");
        assert!(!is_woken(&woken));
        for _ in 0..3 {
            waker.wake();
        }
        assert!(is_woken(&woken));
        woken.clear();
        assert!(!is_woken(&woken));
        waker.wake();
        assert!(is_woken(&woken));
    }

    #[test]
    fn nothing_is_overlooked() {
        const COUNT: u32 = 100_000;
        let (waker, woken) = pair().expect("a pair");
        let (sender, receiver) = channel();
        let sending = thread::spawn(move || {
            for number in 0..COUNT {
                sender.send(number).expect("a receiver");
                waker.wake();
            }
            // It stays open until all were seen.
            waker
        });
        let mut next = 0;
        while next < COUNT {
            let mut fds = [PollFd::new(woken.pollable(), PollFlags::IN)];
            let patience = Timespec { tv_sec: 10, tv_nsec: 0 };
            assert!(poll(&mut fds, Some(&patience)).expect("it polls") > 0, "asleep at {next}");
            woken.clear();
            for number in receiver.try_iter() {
                assert_eq!(number, next);
                next += 1;
            }
        }
        drop(sending.join());
    }
}
