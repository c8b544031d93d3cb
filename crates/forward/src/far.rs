//! The connection to the other host, encrypted or not.

use crate::duplex::{BoxFuture, Duplex, read_exact, write_all};
use crate::protocol::{ANSWER_HEADER, Answer, REQUEST_HEADER, Request};
use std::future::poll_fn;
use std::io;
use std::net::Shutdown;
use std::task::{Context, Poll};
use std::time::Duration;
use windlass_identity::PublicKey;
use windlass_tou::secure::{Allow, Identity, SecureStream};
use windlass_tou::{Info, TouStream};

/// The longest that TLS may take.
const HANDSHAKE_MAX: Duration = Duration::from_secs(20);

/// A ToU connection to the other host. Clones refer to the same connection.
#[derive(Clone, Debug)]
pub enum FarStream {
    /// Not encrypted.
    Plain(TouStream),
    /// With TLS.
    Secure(SecureStream),
}

impl FarStream {
    /// Makes a new connection one of ours: with TLS if `identity` is there. The peer must have this
    /// key.
    ///
    /// # Errors
    /// As [`SecureStream::connect`].
    pub async fn client(
        stream: TouStream,
        identity: Option<&Identity>,
        peer: PublicKey,
    ) -> io::Result<FarStream> {
        let Some(identity) = identity else { return Ok(FarStream::Plain(stream)) };
        FarStream::secured(SecureStream::begin_connect(stream, identity, peer)?).await
    }

    /// As [`FarStream::client`] for an accepted connection. With TLS, `allow` judges the peer's key.
    ///
    /// # Errors
    /// As [`SecureStream::accept`].
    pub async fn server(
        stream: TouStream,
        identity: Option<&Identity>,
        allow: &Allow,
    ) -> io::Result<FarStream> {
        let Some(identity) = identity else { return Ok(FarStream::Plain(stream)) };
        FarStream::secured(SecureStream::begin_accept(stream, identity, allow)?).await
    }

    async fn secured(stream: SecureStream) -> io::Result<FarStream> {
        let secured = poll_fn(|cx| stream.poll_secured(cx.waker()));
        let in_time = tokio::time::timeout(HANDSHAKE_MAX, secured).await;
        in_time.map_err(|_| io::Error::from(windlass_tou::secure::Error::TimedOut))??;
        Ok(FarStream::Secure(stream))
    }

    /// The ToU connection, for its state.
    pub fn connection(&self) -> &TouStream {
        match self {
            FarStream::Plain(stream) => stream,
            FarStream::Secure(stream) => stream.connection(),
        }
    }

    /// State, windows, times and counters of the connection; `None` after its end.
    pub fn info(&self) -> Option<Info> {
        self.connection().info().ok()
    }

    /// Closes the outgoing direction and waits until the peer has all data.
    ///
    /// # Errors
    /// As [`TouStream::finish`].
    pub fn finish(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            FarStream::Plain(stream) => stream.finish(timeout),
            FarStream::Secure(stream) => stream.finish(timeout),
        }
    }

    /// Sends the request. Data may follow at once.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if the request has a text that cannot be sent, or the stream
    /// has failed.
    pub async fn send_request(&self, request: &Request) -> io::Result<()> {
        write_all(self, &request.encode()?).await
    }

    /// Reads the client's request.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] with a [`Malformed`](crate::protocol::Malformed), or the stream
    /// has failed or ended.
    pub(crate) async fn read_request(&self) -> io::Result<Request> {
        let mut header = [0; REQUEST_HEADER];
        read_exact(self, &mut header).await?;
        let mut text = vec![0; Request::text_len(header)?];
        read_exact(self, &mut text).await?;
        Ok(Request::decode(header, &text)?)
    }

    /// Sends the server's answer.
    ///
    /// # Errors
    /// The stream has failed.
    pub(crate) async fn send_answer(&self, answer: &Answer) -> io::Result<()> {
        write_all(self, &answer.encode()).await
    }

    /// Reads the server's answer.
    ///
    /// # Errors
    /// As [`FarStream::read_request`].
    pub(crate) async fn read_answer(&self) -> io::Result<Answer> {
        let mut header = [0; ANSWER_HEADER];
        read_exact(self, &mut header).await?;
        let mut text = vec![0; Answer::text_len(header)?];
        read_exact(self, &mut text).await?;
        Ok(Answer::decode(header, &text)?)
    }
}

impl Duplex for FarStream {
    fn poll_read(&self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            FarStream::Plain(stream) => stream.poll_read(cx.waker(), buffer),
            FarStream::Secure(stream) => stream.poll_read(cx.waker(), buffer),
        }
    }

    fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            FarStream::Plain(stream) => stream.poll_write(cx.waker(), bytes),
            FarStream::Secure(stream) => stream.poll_write(cx.waker(), bytes),
        }
    }

    fn close(&self) -> io::Result<()> {
        match self {
            FarStream::Plain(stream) => stream.shutdown(Shutdown::Write),
            FarStream::Secure(stream) => stream.shutdown(Shutdown::Write),
        }
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
