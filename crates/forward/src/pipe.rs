//! Joins a connection to a pair of blocking streams, such as standard input and output.

use crate::copy::Counters;
use crate::duplex::{Duplex, write_all};
use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use tokio::sync::oneshot;
use windlass_tou::secure::MaybeSecureStream;

const BUFFER_LEN: usize = 64 * 1024;

/// Copies `input` to the peer, and what the peer sends to `output`. Returns when the peer has ended
/// its direction and all is written, as ssh expects of a proxy command; the rest of `input` is then of
/// no use. A thread that waits for `input` may still be there.
///
/// # Errors
/// The connection or `output` has failed. If `input` fails, the connection is reset.
pub async fn pipe(
    far: &MaybeSecureStream,
    input: impl Read + Send + 'static,
    mut output: impl Write + Send,
    counters: &Arc<Counters>,
) -> io::Result<()> {
    let (end, mut input_failed) = oneshot::channel();
    let runtime = tokio::runtime::Handle::current();
    let (sender, counted) = (far.clone(), Arc::clone(counters));
    thread::Builder::new().name("tou-input".into()).spawn(move || {
        match send(&runtime, input, &sender, &counted) {
            Ok(()) => {}
            Err(error) => {
                sender.abort();
                // The receiver is gone if the peer has ended before.
                let _ = end.send(error);
            }
        }
    })?;
    let received = receive(far, &mut output, counters).await;
    match (received, input_failed.try_recv()) {
        (Err(_), Ok(error)) => Err(error),
        (received, _) => received,
    }
}

fn send(
    runtime: &tokio::runtime::Handle,
    mut input: impl Read,
    far: &MaybeSecureStream,
    counters: &Counters,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_LEN];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return far.close(),
            Ok(taken) => {
                runtime.block_on(write_all(far, &buffer[..taken]))?;
                counters.sent.fetch_add(taken as u64, Ordering::Relaxed);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

async fn receive(
    far: &MaybeSecureStream,
    output: &mut impl Write,
    counters: &Counters,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_LEN];
    loop {
        let taken = poll_fn(|cx| far.poll_read(cx.waker(), &mut buffer)).await?;
        if taken == 0 {
            return output.flush();
        }
        output.write_all(&buffer[..taken])?;
        output.flush()?;
        counters.received.fetch_add(taken as u64, Ordering::Relaxed);
    }
}
