//! State that the clones of a secured stream share: the connection, the handshake, then both
//! directions.
//!
//! Locks are taken in the order `handshake`, `receiver`, `sender`. Wakers can run code that takes
//! them too, so every operation postpones wakes until it has released its locks.

use super::channel::{ROOM_MIN, Receiver, Sender, overhead_of};
use super::output::Pieces;
use super::record::RECORD_MAX;
use super::{Error, Handshake};
use crate::driver::PostponeWakes;
use crate::handle::{Handle, InPlace};
use crate::{Ready, TouStream};
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Poll, Waker, ready};
use windlass_identity::PublicKey;

/// The smallest send buffer in bytes. The messages of the handshake must fit.
const SEND_BUFFER_MIN: u64 = 4096;
/// The most payload that is sealed at once. The port is locked meanwhile, as for a write without
/// encryption. Full bursts of datagrams (UDP_SEGMENT) have 64 KB: less would leave a small one
/// behind after each.
const BATCH_MAX: usize = 256 << 10;

/// The state of a secured stream.
pub(super) struct Shared {
    stream: TouStream,
    own: PublicKey,
    /// `None` after the handshake.
    handshake: Mutex<Option<Handshake>>,
    session: OnceLock<Session>,
    /// Why the stream failed, for good.
    failure: OnceLock<Error>,
    reading_closed: AtomicBool,
    writing_closed: AtomicBool,
    nagle: Nagle,
}

/// State after the handshake.
pub(super) struct Session {
    peer: PublicKey,
    receiver: Mutex<Receiver>,
    sender: Mutex<Sender>,
}

impl Session {
    pub(super) fn peer(&self) -> PublicKey {
        self.peer
    }
}

/// Nagle's algorithm would hold a client's first data back until the last message of the handshake
/// is acknowledged, for a round trip. Therefore it begins with the second write.
struct Nagle {
    /// Writes of the application: none, one, or more.
    writes: AtomicU8,
    /// As the application wants it.
    nodelay: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// State and options.
impl Shared {
    pub(super) fn new(
        stream: TouStream,
        own: PublicKey,
        handshake: Handshake,
    ) -> io::Result<Shared> {
        let buffers = stream.handle().inspect(|stream| stream.connection().config().buffers)?;
        // The handshake is written at once, and would never fit.
        if buffers.send < SEND_BUFFER_MIN {
            let what = "a secure stream needs a send buffer of at least 4096 bytes";
            return Err(io::Error::new(ErrorKind::InvalidInput, what));
        }
        let nodelay = AtomicBool::new(stream.nodelay()?);
        // Nagle would hold the handshake back; the application's choice counts from the second
        // write on.
        stream.set_nodelay(true)?;
        Ok(Shared {
            stream,
            own,
            handshake: Mutex::new(Some(handshake)),
            session: OnceLock::new(),
            failure: OnceLock::new(),
            reading_closed: AtomicBool::new(false),
            writing_closed: AtomicBool::new(false),
            nagle: Nagle { writes: AtomicU8::new(0), nodelay },
        })
    }

    pub(super) fn connection(&self) -> &TouStream {
        &self.stream
    }

    fn handle(&self) -> &Handle {
        self.stream.handle()
    }

    pub(super) fn own_key(&self) -> PublicKey {
        self.own
    }

    pub(super) fn session(&self) -> Option<&Session> {
        self.session.get()
    }

    pub(super) fn failure(&self) -> Option<io::Error> {
        self.failure.get().map(|failure| failure.clone().into())
    }

    pub(super) fn nodelay(&self) -> bool {
        self.nagle.nodelay.load(Ordering::SeqCst)
    }

    pub(super) fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.nagle.nodelay.store(nodelay, Ordering::SeqCst);
        if self.nagle.writes.load(Ordering::SeqCst) > 1 {
            self.stream.set_nodelay(nodelay)?;
        }
        Ok(())
    }

    /// Whether the next write is one of the first two.
    fn counts_writes(&self) -> bool {
        self.nagle.writes.load(Ordering::SeqCst) < 2
    }

    fn count_write(&self) {
        match self.nagle.writes.load(Ordering::SeqCst) {
            0 => self.nagle.writes.store(1, Ordering::SeqCst),
            1 => {
                self.nagle.writes.store(2, Ordering::SeqCst);
                // An error means that the connection is over, which the write will report.
                let _ = self.stream.set_nodelay(self.nodelay());
            }
            _ => {}
        }
    }
}

/// The handshake, and failures.
impl Shared {
    /// Continues the handshake. Ready when it is over.
    pub(super) fn poll_secured(&self, waker: Option<&Waker>) -> Poll<io::Result<&Session>> {
        if let Some(session) = self.session.get() {
            return Poll::Ready(Ok(session));
        }
        let _postponed = PostponeWakes::begin();
        let mut guard = lock(&self.handshake);
        if let Some(failure) = self.failure() {
            return Poll::Ready(Err(failure));
        }
        if let Some(handshake) = guard.as_mut() {
            let result = ready!(self.shake_hands(handshake, waker));
            let handshake = guard.take();
            if let Err(error) = result {
                let alert = handshake.map(|mut handshake| handshake.take_output());
                return Poll::Ready(Err(self.fail(error, &alert.unwrap_or_default())));
            }
            if let Some(Err(error)) = handshake.map(|handshake| self.establish(handshake)) {
                return Poll::Ready(Err(self.fail(error, &[])));
            }
        }
        Poll::Ready(self.session.get().ok_or_else(|| ErrorKind::NotConnected.into()))
    }

    fn shake_hands(
        &self,
        handshake: &mut Handshake,
        waker: Option<&Waker>,
    ) -> Poll<Result<(), Error>> {
        let failed = |error: io::Error| Error::Connection(error.kind());
        ready!(self.handle().poll_connected(waker)).map_err(failed)?;
        loop {
            let output = handshake.take_output();
            if !output.is_empty() {
                // All messages of one end fit into the smallest send buffer.
                self.handle().write_reserved(&output).map_err(failed)?;
            }
            if handshake.is_complete() {
                return Poll::Ready(Ok(()));
            }
            let mut input = [0; 1024];
            match ready!(self.handle().poll_read(waker, &mut input)).map_err(failed)? {
                0 => return Poll::Ready(Err(Error::Connection(ErrorKind::UnexpectedEof))),
                len => handshake.handle_input(&input[..len])?,
            }
        }
    }

    fn establish(&self, handshake: Handshake) -> Result<(), Error> {
        let (sender, receiver, peer) = handshake.finish()?;
        let (sender, receiver) = (Mutex::new(sender), Mutex::new(receiver));
        self.session.get_or_init(|| Session { peer, receiver, sender });
        Ok(())
    }

    /// Ends the handshake from outside, for example after a time limit.
    pub(super) fn give_up(&self, error: Error) -> io::Error {
        let _postponed = PostponeWakes::begin();
        self.fail(error, &[])
    }

    /// Records that the stream has failed, sends `alert` and closes the connection. Incoming data is
    /// discarded, because unread data would cause a reset and the peer might not get the alert.
    fn fail(&self, error: Error, alert: &[u8]) -> io::Error {
        // Only the first failure closes the connection: each close wakes all waiters, and they may
        // come back at once.
        let is_first = self.failure.set(error.clone()).is_ok();
        if !is_first {
            return self.failure.get().cloned().unwrap_or(error).into();
        }
        // On a connection that is over, the alert and the shutdown have no effect.
        if !alert.is_empty() {
            let _ = self.handle().write_reserved(alert);
        }
        let _ = self.stream.shutdown(Shutdown::Both);
        error.into()
    }

    /// [`Shared::fail`] for a stream that was secured.
    fn fail_session(&self, session: &Session, error: Error) -> io::Error {
        let mut alert = Vec::new();
        lock(&session.sender).fail(&error, &mut alert);
        self.fail(error, &alert)
    }
}

/// The sending direction.
impl Shared {
    pub(super) fn poll_write(
        &self,
        waker: Option<&Waker>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let _postponed = PostponeWakes::begin();
        let session = ready!(self.poll_secured(waker))?;
        let mut sender = lock(&session.sender);
        if let Some(failure) = self.failure() {
            return Poll::Ready(Err(failure));
        }
        if sender.is_closed() {
            return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
        }
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        if self.counts_writes() {
            let room = ready!(self.handle().poll_room(waker, ROOM_MIN as u64));
            room.map_err(|error| self.lost(error))?;
            self.count_write();
        }
        let bytes = &bytes[..bytes.len().min(BATCH_MAX)];
        let mut has_checked = false;
        loop {
            let (taken, sealed) =
                match ready!(self.poll_seal(waker, &mut sender, bytes, has_checked)) {
                    Ok(Some(result)) => result,
                    Ok(None) => {
                        // The peer may have refused, and a program that only writes would not notice.
                        drop(sender);
                        self.check_input()?;
                        (sender, has_checked) = (lock(&session.sender), true);
                        continue;
                    }
                    Err(error) => return Poll::Ready(Err(self.lost(error))),
                };
            drop(sender);
            return Poll::Ready(match sealed {
                Ok(()) => Ok(taken),
                Err(error) => Err(self.fail_session(session, error)),
            });
        }
    }

    /// Seals `bytes` in the send buffer of the connection, as many as fit. Ready with their number,
    /// and the result of sealing; with `None` if nothing was sealed, because there is input that has
    /// not been checked.
    fn poll_seal(
        &self,
        waker: Option<&Waker>,
        sender: &mut Sender,
        bytes: &[u8],
        has_checked: bool,
    ) -> Poll<io::Result<Option<Sealed>>> {
        let mut result = (0, Ok(()));
        let room = InPlace {
            at_least: ROOM_MIN as u64,
            most: bytes.len() + overhead_of(bytes.len()),
            unless_input: !has_checked,
        };
        let written = self.handle().poll_write_in_place(waker, room, |pieces| {
            let mut out = Pieces::new(pieces);
            result = sender.seal_to(bytes, out.len(), &mut out);
            out.filled()
        });
        written.map_ok(|written| written.then_some(result))
    }

    pub(super) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let _postponed = PostponeWakes::begin();
        let session = self.session.get().ok_or(ErrorKind::NotConnected)?;
        if how != Shutdown::Write {
            self.reading_closed.store(true, Ordering::SeqCst);
        }
        if how != Shutdown::Read {
            self.writing_closed.store(true, Ordering::SeqCst);
            let mut records = Vec::new();
            let mut sender = lock(&session.sender);
            sender.close(&mut records);
            if !records.is_empty() {
                // Without a connection there is no peer to notify; shutdown reports that.
                let _ = self.handle().write_reserved(&records);
            }
        }
        self.stream.shutdown(how)
    }

    /// Keeps the error of the connection, which it reports only once.
    fn lost(&self, error: io::Error) -> io::Error {
        let _ = self.failure.set(Error::Connection(error.kind()));
        error
    }
}

/// The bytes that were sealed, and why no more were.
type Sealed = (usize, Result<(), Error>);

/// Why bytes cannot be read.
enum Stop {
    /// The stream is broken.
    Failed(Error),
    /// The connection below has failed.
    Lost(io::Error),
}

/// The receiving direction.
impl Shared {
    pub(super) fn poll_read(
        &self,
        waker: Option<&Waker>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let _postponed = PostponeWakes::begin();
        let session = ready!(self.poll_secured(waker))?;
        let mut receiver = lock(&session.receiver);
        if self.reading_closed.load(Ordering::SeqCst) {
            return Poll::Ready(Ok(0));
        }
        let mut opened = 0;
        let prepared = match buffer.len() < RECORD_MAX {
            true => ready!(self.poll_prepared(&mut receiver, waker)),
            false => ready!(self.poll_opened(&mut receiver, waker, buffer))
                .map(|taken| opened = taken.unwrap_or(0)),
        };
        let result = match prepared {
            Ok(()) if opened > 0 => Ok(opened),
            Ok(()) => receiver.read(buffer).map(|taken| taken.unwrap_or(0)),
            Err(Stop::Lost(error)) => return Poll::Ready(Err(error)),
            Err(Stop::Failed(error)) => Err(error),
        };
        drop(receiver);
        Poll::Ready(result.map_err(|error| self.fail_session(session, error)))
    }

    /// As [`Shared::poll_prepared`], for a `buffer` that any record fits into: records that have
    /// arrived as a whole are opened there. Ready with the number of bytes in `buffer`, or with
    /// `None` if the receiver has the bytes, or the end.
    fn poll_opened(
        &self,
        receiver: &mut Receiver,
        waker: Option<&Waker>,
        buffer: &mut [u8],
    ) -> Poll<Result<Option<usize>, Stop>> {
        loop {
            if receiver.prepare().map_err(Stop::Failed)? {
                return Poll::Ready(Ok(None));
            }
            if let Some(failure) = self.failure.get() {
                return Poll::Ready(Err(Stop::Failed(failure.clone())));
            }
            if receiver.is_empty() {
                let most = buffer.len();
                let copied = self
                    .handle()
                    .read_some(buffer, |readable| Receiver::whole_records(readable, most));
                if copied > 0 {
                    match receiver.open_in_place(&mut buffer[..copied]).map_err(Stop::Failed)? {
                        0 => continue,
                        len => return Poll::Ready(Ok(Some(len))),
                    }
                }
            }
            // A part of a record is completed in the receiver, so that the next one is whole again.
            ready!(self.poll_fill(receiver, waker, Receiver::space_in_record))?;
        }
    }

    /// Ready when `space` of the receiver has more input.
    fn poll_fill(
        &self,
        receiver: &mut Receiver,
        waker: Option<&Waker>,
        space: impl FnOnce(&mut Receiver) -> &mut [u8],
    ) -> Poll<Result<(), Stop>> {
        Poll::Ready(match self.handle().poll_read(waker, space(receiver)) {
            Poll::Ready(Ok(0)) => Err(Stop::Failed(Error::Truncated)),
            Poll::Ready(Ok(len)) => {
                receiver.filled(len);
                Ok(())
            }
            Poll::Ready(Err(error)) => Err(Stop::Lost(self.lost(error))),
            Poll::Pending => {
                receiver.release_buffer();
                return Poll::Pending;
            }
        })
    }

    /// Ready when the receiver has bytes or has ended.
    fn poll_prepared(
        &self,
        receiver: &mut Receiver,
        waker: Option<&Waker>,
    ) -> Poll<Result<(), Stop>> {
        loop {
            if receiver.prepare().map_err(Stop::Failed)? {
                return Poll::Ready(Ok(()));
            }
            if let Some(failure) = self.failure.get() {
                return Poll::Ready(Err(Stop::Failed(failure.clone())));
            }
            ready!(self.poll_fill(receiver, waker, Receiver::space))?;
        }
    }

    /// Opens what has arrived, unless bytes wait to be read already.
    ///
    /// # Errors
    /// The stream's failure, for example because an alert has arrived.
    pub(super) fn check_input(&self) -> io::Result<()> {
        let _postponed = PostponeWakes::begin();
        // A thread that reads finds an alert itself.
        if let Some(session) = self.session.get()
            && let Ok(mut receiver) = session.receiver.try_lock()
            && !self.reading_closed.load(Ordering::SeqCst)
        {
            match self.poll_prepared(&mut receiver, None) {
                // The other direction may still be in use.
                Poll::Ready(Err(Stop::Failed(Error::Truncated))) => {}
                Poll::Ready(Err(Stop::Failed(error))) => {
                    return Err(self.fail_session(session, error));
                }
                _ => {}
            }
        }
        self.failure().map_or(Ok(()), Err)
    }

    pub(super) fn poll_ready(&self, waker: &Waker) -> Ready {
        let _postponed = PostponeWakes::begin();
        let session = match self.poll_secured(Some(waker)) {
            Poll::Pending => return Ready::default(),
            Poll::Ready(Err(_)) => return Ready { failed: true, ..Ready::GONE },
            Poll::Ready(Ok(session)) => session,
        };
        let mut ready = self.handle().poll_ready(waker, ROOM_MIN as u64);
        let mut receiver = lock(&session.receiver);
        ready.readable = self.reading_closed.load(Ordering::SeqCst)
            || match self.poll_prepared(&mut receiver, Some(waker)) {
                Poll::Pending => false,
                Poll::Ready(Err(Stop::Failed(error))) => {
                    self.fail_session(session, error);
                    true
                }
                Poll::Ready(_) => true,
            };
        ready.writable |= self.writing_closed.load(Ordering::SeqCst);
        if self.failure.get().is_some() {
            (ready.readable, ready.writable, ready.failed) = (true, true, true);
        }
        ready
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.failure.get().is_some() {
            return;
        }
        let Some(session) = self.session.get() else { return };
        if lock(&session.receiver).has_plain() && !self.reading_closed.load(Ordering::SeqCst) {
            self.stream.abort();
        } else if !lock(&session.sender).is_closed() {
            // Otherwise the peer would take the end for one that somebody else has made.
            let _ = self.shutdown(Shutdown::Write);
        }
    }
}
