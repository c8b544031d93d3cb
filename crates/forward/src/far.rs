//! The stream to the other host: how it is secured, and what both ends say first over it.
//!
//! [`peers`](crate::Peers) opens such streams, [`Expose`](crate::Expose) accepts them.

use crate::duplex::{BoxFuture, Duplex, read_exact, write_all};
use crate::protocol::{ANSWER_HEADER, Answer, REQUEST_HEADER, Request};
use std::future::poll_fn;
use std::io;
use std::net::Shutdown;
use std::task::{Context, Poll};
use std::time::Duration;
use windlass_identity::PublicKey;
use windlass_tou::secure::{Error, MaybeSecureStream};

/// The longest that TLS may take.
const HANDSHAKE_MAX: Duration = Duration::from_secs(20);

/// Waits until the stream is secured, if it is to be. Returns it with the key that TLS has proved.
///
/// # Errors
/// As [`SecureStream::connect`](windlass_tou::secure::SecureStream::connect).
pub(crate) async fn secured(
    begun: io::Result<MaybeSecureStream>,
) -> io::Result<(MaybeSecureStream, Option<PublicKey>)> {
    let stream = begun?;
    let secured = poll_fn(|cx| stream.poll_secured(cx.waker()));
    let in_time = tokio::time::timeout(HANDSHAKE_MAX, secured).await;
    let key = in_time.map_err(|_| io::Error::from(Error::TimedOut))??;
    Ok((stream, key))
}

/// Sends the request. Data may follow at once.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] if the request has a text that cannot be sent, or the stream has
/// failed.
pub(crate) async fn send_request(far: &MaybeSecureStream, request: &Request) -> io::Result<()> {
    write_all(far, &request.encode()?).await
}

/// Reads the client's request.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] with a [`Malformed`](crate::protocol::Malformed), or the stream has
/// failed or ended.
pub(crate) async fn read_request(far: &MaybeSecureStream) -> io::Result<Request> {
    let mut header = [0; REQUEST_HEADER];
    read_exact(far, &mut header).await?;
    let mut text = vec![0; Request::text_len(header)?];
    read_exact(far, &mut text).await?;
    Ok(Request::decode(header, &text)?)
}

/// Sends the server's answer.
///
/// # Errors
/// The stream has failed.
pub(crate) async fn send_answer(far: &MaybeSecureStream, answer: &Answer) -> io::Result<()> {
    write_all(far, &answer.encode()).await
}

/// Reads the server's answer.
///
/// # Errors
/// As [`read_request`].
pub(crate) async fn read_answer(far: &MaybeSecureStream) -> io::Result<Answer> {
    let mut header = [0; ANSWER_HEADER];
    read_exact(far, &mut header).await?;
    let mut text = vec![0; Answer::text_len(header)?];
    read_exact(far, &mut text).await?;
    Ok(Answer::decode(header, &text)?)
}

impl Duplex for MaybeSecureStream {
    fn poll_read(&self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        self.poll_read(cx.waker(), buffer)
    }

    fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write(cx.waker(), bytes)
    }

    fn close(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }

    fn abort(&self) {
        self.connection().abort();
    }

    fn failed(&self) -> BoxFuture<'_, ()> {
        let connection = self.connection();
        Box::pin(poll_fn(|cx| {
            let ready = connection.poll_ready(cx.waker());
            if ready.failed { Poll::Ready(()) } else { Poll::Pending }
        }))
    }
}
