//! Joins two streams: bytes, ends and resets of each reach the other.

use crate::duplex::{BoxFuture, Duplex};
use std::fmt;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

/// Of each direction. Larger than a TLS record and a batch of GSO segments.
const BUFFER_LEN: usize = 64 * 1024;
/// Reads and writes of one direction before the other has its turn, and other tasks theirs.
const TURN: usize = 8;

/// Bytes that a joined pair of streams has copied so far.
#[derive(Debug, Default)]
pub struct Counters {
    /// Bytes from the near stream to the far one.
    pub sent: AtomicU64,
    /// Bytes from the far stream to the near one.
    pub received: AtomicU64,
}

/// Which of the two streams failed, and how.
#[derive(Debug)]
pub(crate) enum CopyError {
    /// The near stream failed.
    Near(io::Error),
    /// The far stream failed.
    Far(io::Error),
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CopyError::Near(error) | CopyError::Far(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CopyError {}

/// Copies in both directions until both have ended. The end of one direction ends the same direction
/// of the other stream. If one stream fails, the other is reset.
///
/// # Errors
/// A stream has failed.
pub(crate) async fn copy(
    near: &(impl Duplex + ?Sized),
    far: &(impl Duplex + ?Sized),
    counters: &Counters,
) -> Result<(), CopyError> {
    let mut out = Direction::new(near, far, &counters.sent);
    let mut back = Direction::new(far, near, &counters.received);
    let copied = poll_fn(|cx| {
        let first = out.poll(cx).map_err(|error| error.named(CopyError::Near, CopyError::Far))?;
        let second = back.poll(cx).map_err(|error| error.named(CopyError::Far, CopyError::Near))?;
        if first && second { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await;
    if copied.is_err() {
        near.abort();
        far.abort();
    }
    copied
}

/// The stream that failed, seen from one direction.
enum Failed {
    From(io::Error),
    To(io::Error),
}

impl Failed {
    fn named(self, from: fn(io::Error) -> CopyError, to: fn(io::Error) -> CopyError) -> CopyError {
        match self {
            Failed::From(error) => from(error),
            Failed::To(error) => to(error),
        }
    }
}

struct Direction<'a, F: ?Sized, T: ?Sized> {
    from: &'a F,
    to: &'a T,
    count: &'a AtomicU64,
    buffer: Box<[u8]>,
    /// The bytes of the buffer that wait to be written.
    waiting: std::ops::Range<usize>,
    ended: bool,
    /// Notices a reset of `from` while nothing is read from it.
    failed: BoxFuture<'a, ()>,
}

impl<'a, F: Duplex + ?Sized, T: Duplex + ?Sized> Direction<'a, F, T> {
    fn new(from: &'a F, to: &'a T, count: &'a AtomicU64) -> Self {
        let buffer = vec![0; BUFFER_LEN].into_boxed_slice();
        Direction { from, to, count, buffer, waiting: 0..0, ended: false, failed: from.failed() }
    }

    /// Moves what can be moved. Returns whether the direction has ended.
    fn poll(&mut self, cx: &mut Context<'_>) -> Result<bool, Failed> {
        for _ in 0..TURN {
            if self.ended {
                self.check_failed(cx)?;
                return Ok(true);
            }
            let moved = if self.waiting.is_empty() { self.fill(cx)? } else { self.empty(cx)? };
            if moved.is_pending() {
                return Ok(false);
            }
        }
        cx.waker().wake_by_ref();
        Ok(false)
    }

    fn fill(&mut self, cx: &mut Context<'_>) -> Result<Poll<()>, Failed> {
        match self.from.poll_read(cx, &mut self.buffer).map_err(Failed::From)? {
            Poll::Pending => return Ok(Poll::Pending),
            Poll::Ready(0) => {
                self.to.close().map_err(Failed::To)?;
                self.ended = true;
            }
            Poll::Ready(taken) => self.waiting = 0..taken,
        }
        Ok(Poll::Ready(()))
    }

    fn empty(&mut self, cx: &mut Context<'_>) -> Result<Poll<()>, Failed> {
        let bytes = &self.buffer[self.waiting.clone()];
        match self.to.poll_write(cx, bytes).map_err(Failed::To)? {
            Poll::Pending => {
                self.check_failed(cx)?;
                Ok(Poll::Pending)
            }
            Poll::Ready(0) => Err(Failed::To(ErrorKind::WriteZero.into())),
            Poll::Ready(taken) => {
                self.waiting.start += taken;
                self.count.fetch_add(taken as u64, Ordering::Relaxed);
                Ok(Poll::Ready(()))
            }
        }
    }

    fn check_failed(&mut self, cx: &mut Context<'_>) -> Result<(), Failed> {
        match self.failed.as_mut().poll(cx) {
            Poll::Ready(()) => Err(Failed::From(ErrorKind::ConnectionReset.into())),
            Poll::Pending => Ok(()),
        }
    }
}
