//! How a thread of the application waits for its connection: it parks, and the I/O thread or another
//! caller of the port wakes it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

/// A thread that waits, as a waker.
struct Parked {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, Ordering::Release) {
            self.thread.unpark();
        }
    }
}

thread_local! {
    /// One waker for all waits of a thread. A waker left behind by a timeout is then not a new one.
    static PARKED: RefCell<Option<(Arc<Parked>, Waker)>> = const { RefCell::new(None) };
}

fn parked() -> (Arc<Parked>, Waker) {
    PARKED.with_borrow_mut(|own| {
        own.get_or_insert_with(|| {
            let parked =
                Arc::new(Parked { thread: thread::current(), woken: AtomicBool::new(false) });
            (Arc::clone(&parked), Waker::from(parked))
        })
        .clone()
    })
}

/// Blocks this thread until `poll` is ready. Returns `None` at the deadline.
pub(crate) fn block_on<T>(
    deadline: Option<Instant>,
    mut poll: impl FnMut(&Waker) -> Poll<T>,
) -> Option<T> {
    let (parked, waker) = parked();
    loop {
        parked.woken.store(false, Ordering::Release);
        if let Poll::Ready(value) = poll(&waker) {
            return Some(value);
        }
        while !parked.woken.load(Ordering::Acquire) {
            match deadline.map(|deadline| deadline.checked_duration_since(Instant::now())) {
                None => thread::park(),
                Some(Some(left)) if !left.is_zero() => thread::park_timeout(left),
                Some(_) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::time::Duration;

    #[test]
    fn a_wait_ends_when_woken_or_at_its_deadline() {
        let left = Arc::new(Mutex::new(None::<Waker>));
        let waiting = Arc::clone(&left);
        let waiter = thread::spawn(move || {
            let mut turns = 0;
            block_on(None, |waker| {
                turns += 1;
                *waiting.lock().expect("sound") = Some(waker.clone());
                if turns == 3 { Poll::Ready(turns) } else { Poll::Pending }
            })
        });
        while !waiter.is_finished() {
            if let Some(waker) = left.lock().expect("sound").take() {
                waker.wake();
            }
            thread::yield_now();
        }
        assert_eq!(waiter.join().expect("no panic"), Some(3));
        let soon = Instant::now() + Duration::from_millis(1);
        assert_eq!(block_on(Some(soon), |_| Poll::<()>::Pending), None);
        assert!(Instant::now() >= soon);
    }
}
