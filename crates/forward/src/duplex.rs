//! Byte streams with two directions that end separately.

use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;

/// A future on the heap.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A byte stream whose directions end separately, and which can be reset. At most one task reads, and
/// at most one writes.
pub trait Duplex: Send + Sync {
    /// Ready with the number of bytes read, 0 at the end of the stream.
    fn poll_read(&self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>>;

    /// Ready with the number of bytes written.
    fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Ends the outgoing direction after the bytes written so far, without waiting.
    ///
    /// # Errors
    /// The stream has failed.
    fn close(&self) -> io::Result<()>;

    /// Resets the stream, at the latest when it is dropped.
    fn abort(&self);

    /// Completes when the stream has failed. Use it while no task reads, so that a reset is noticed.
    fn failed(&self) -> BoxFuture<'_, ()>;
}

/// Reads exactly as many bytes as the buffer has.
///
/// # Errors
/// [`ErrorKind::UnexpectedEof`] if the stream ends before, or the error of the stream.
pub async fn read_exact(stream: &(impl Duplex + ?Sized), buffer: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        match poll_fn(|cx| stream.poll_read(cx, &mut buffer[filled..])).await? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            taken => filled += taken,
        }
    }
    Ok(())
}

/// Writes all bytes.
///
/// # Errors
/// The error of the stream.
pub async fn write_all(stream: &(impl Duplex + ?Sized), bytes: &[u8]) -> io::Result<()> {
    let mut written = 0;
    while written < bytes.len() {
        match poll_fn(|cx| stream.poll_write(cx, &bytes[written..])).await? {
            0 => return Err(ErrorKind::WriteZero.into()),
            taken => written += taken,
        }
    }
    Ok(())
}

/// Reads and discards until the end of the stream, an error, or the time limit.
pub async fn drain(stream: &(impl Duplex + ?Sized), limit: Duration) {
    let until_end = async {
        let mut buffer = vec![0; 16 * 1024];
        while poll_fn(|cx| stream.poll_read(cx, &mut buffer)).await.is_ok_and(|taken| taken > 0) {}
    };
    let _ = tokio::time::timeout(limit, until_end).await;
}

/// Calls `attempt` whenever the socket is ready, until it does not block.
fn poll_io(
    mut poll_ready: impl FnMut() -> Poll<io::Result<()>>,
    mut attempt: impl FnMut() -> io::Result<usize>,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(poll_ready())?;
        match attempt() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            result => return Poll::Ready(result),
        }
    }
}

impl Duplex for TcpStream {
    fn poll_read(&self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        poll_io(|| self.poll_read_ready(cx), || self.try_read(buffer))
    }

    fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        poll_io(|| self.poll_write_ready(cx), || self.try_write(bytes))
    }

    fn close(&self) -> io::Result<()> {
        socket2::SockRef::from(self).shutdown(Shutdown::Write)
    }

    fn abort(&self) {
        // With no time to linger, closing the socket sends RST (POSIX leaves it open, TCP on Linux,
        // BSD and Windows do it). A failed call leaves an orderly close.
        let _ = socket2::SockRef::from(self).set_linger(Some(Duration::ZERO));
    }

    fn failed(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let _ = self.ready(Interest::ERROR).await;
        })
    }
}

#[cfg(unix)]
impl Duplex for UnixStream {
    fn poll_read(&self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        poll_io(|| self.poll_read_ready(cx), || self.try_read(buffer))
    }

    fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        poll_io(|| self.poll_write_ready(cx), || self.try_write(bytes))
    }

    fn close(&self) -> io::Result<()> {
        socket2::SockRef::from(self).shutdown(Shutdown::Write)
    }

    /// Does nothing: a local socket has no reset. The peer sees the end.
    fn abort(&self) {}

    fn failed(&self) -> BoxFuture<'_, ()> {
        // Without a reset there is nothing to notice before the next write.
        Box::pin(std::future::pending())
    }
}
