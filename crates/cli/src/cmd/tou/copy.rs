//! Copying between a connection and standard input and output.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;
use windlass_tcp::State;
use windlass_tou::TouStream;

/// Bytes copied at a time.
const CHUNK: usize = 1 << 17;
/// How long to wait for the last acknowledgment of a peer that has sent its FIN.
const LAST_ACK: Duration = Duration::from_secs(5);

/// Why a direction ended before its end.
#[derive(Debug)]
pub(super) enum CopyError {
    Connection(io::Error),
    Input(io::Error),
    Output(io::Error),
}

/// Standard input itself, past the buffer of `std::io`.
pub(super) fn standard_input() -> io::Result<File> {
    Ok(owned(&io::stdin())?.into())
}

/// Standard output itself: what `std::io` has is flushed at every line.
pub(super) fn standard_output() -> io::Result<File> {
    Ok(owned(&io::stdout())?.into())
}

#[cfg(unix)]
fn owned(stream: &impl std::os::fd::AsFd) -> io::Result<std::os::fd::OwnedFd> {
    stream.as_fd().try_clone_to_owned()
}

#[cfg(windows)]
fn owned(
    stream: &impl std::os::windows::io::AsHandle,
) -> io::Result<std::os::windows::io::OwnedHandle> {
    stream.as_handle().try_clone_to_owned()
}

/// Writes received data to `output` until the peer ends its direction. `on_written` gets the number of
/// bytes after each write.
pub(super) fn receive(
    mut stream: &TouStream,
    mut output: impl Write,
    mut on_written: impl FnMut(usize),
) -> Result<(), CopyError> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = retry(|| stream.read(&mut chunk)).map_err(CopyError::Connection)?;
        if count == 0 {
            break;
        }
        output.write_all(&chunk[..count]).map_err(CopyError::Output)?;
        on_written(count);
    }
    output.flush().map_err(CopyError::Output)
}

/// Sends the input to its end, and returns when the peer has acknowledged all of it.
pub(super) fn send(mut stream: &TouStream, mut input: impl Read) -> Result<u64, CopyError> {
    let mut chunk = vec![0; CHUNK];
    let mut sent = 0;
    loop {
        let count = retry(|| input.read(&mut chunk)).map_err(CopyError::Input)?;
        if count == 0 {
            break;
        }
        stream.write_all(&chunk[..count]).map_err(CopyError::Connection)?;
        sent += count as u64;
    }
    deliver(stream, sent).map_err(CopyError::Connection)?;
    Ok(sent)
}

fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Sends the FIN and waits until the peer has acknowledged all data. A peer that has sent its own FIN may
/// exit, and its acknowledgment of ours may be lost: then the acknowledged bytes decide.
fn deliver(stream: &TouStream, sent: u64) -> io::Result<()> {
    loop {
        let error = match stream.finish(Some(LAST_ACK)) {
            Err(error) if error.kind() == ErrorKind::TimedOut => error,
            result => return result,
        };
        let info = stream.info()?;
        match info.state {
            State::Closed => return Err(error),
            State::LastAck | State::Closing if info.bytes_acked >= sent => return Ok(()),
            _ => {}
        }
    }
}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits until everything is acknowledged, or the connection is lost.
pub(super) fn until_over(stream: &TouStream) -> io::Result<()> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        if let Poll::Ready(result) = stream.poll_delivered(&waker) {
            return result;
        }
        thread::park();
    }
}
