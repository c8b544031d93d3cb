//! Waking waiters, at once or later.
//!
//! A waker may run code of the same connection in this thread: libtou's updates a descriptor. A
//! caller that holds a lock of the connection postpones wakes until it has released the lock.

use std::cell::RefCell;
use std::task::Waker;

thread_local! {
    /// The wakers that this thread is to call; `None` if it calls wakers at once.
    static POSTPONED: RefCell<Option<Vec<Waker>>> = const { RefCell::new(None) };
}

/// Calls the wakers, unless this thread postpones them.
pub(super) fn wake(wakers: &mut Vec<Waker>) {
    let is_postponed = !wakers.is_empty()
        && POSTPONED.with_borrow_mut(|postponed| match postponed {
            Some(postponed) => {
                postponed.append(wakers);
                true
            }
            None => false,
        });
    if !is_postponed {
        wakers.drain(..).for_each(Waker::wake);
    }
}

/// Postpones the wakes of this thread until it is dropped. An inner one has no effect.
#[cfg(feature = "secure")]
pub(crate) struct PostponeWakes {
    is_outermost: bool,
}

#[cfg(feature = "secure")]
impl PostponeWakes {
    pub(crate) fn begin() -> PostponeWakes {
        let is_outermost = POSTPONED.with_borrow_mut(|postponed| {
            let is_outermost = postponed.is_none();
            postponed.get_or_insert_default();
            is_outermost
        });
        PostponeWakes { is_outermost }
    }
}

#[cfg(feature = "secure")]
impl Drop for PostponeWakes {
    fn drop(&mut self) {
        if !self.is_outermost {
            return;
        }
        // Wakers can cause further wakes. Those wait for their turn here instead of nesting.
        loop {
            let wakers = POSTPONED.with_borrow_mut(|postponed| match postponed {
                Some(wakers) if !wakers.is_empty() => std::mem::take(wakers),
                _ => {
                    *postponed = None;
                    Vec::new()
                }
            });
            if wakers.is_empty() {
                return;
            }
            wakers.into_iter().for_each(Waker::wake);
        }
    }
}

#[cfg(all(test, feature = "secure"))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            // Code of the same connection, which postpones too.
            let _postponed = PostponeWakes::begin();
            let before = self.0.fetch_add(1, Ordering::Relaxed);
            if before % 1000 < 999 {
                wake(&mut vec![Waker::from(self)]);
            }
        }
    }

    #[test]
    fn wakes_run_when_the_outermost_postponement_ends() {
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let woken = || count.0.load(Ordering::Relaxed);
        let outer = PostponeWakes::begin();
        let inner = PostponeWakes::begin();
        wake(&mut vec![waker.clone()]);
        drop(inner);
        assert_eq!(woken(), 0);
        drop(outer);
        assert_eq!(woken(), 1000, "each causes the next");
        wake(&mut vec![waker]);
        assert_eq!(woken(), 2000);
    }
}
